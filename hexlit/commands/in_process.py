"""A command called from Python: the same composition and the same code, without changes to the
process.
"""

import copy
import logging
import os
import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

from hydra.types import RunMode
from omegaconf import flag_override

from hexlit.commands import run_folder
from hexlit.commands.application import (
    Arguments,
    Prepare,
    explain,
    is_mistake,
    mistake_of_task,
    typed,
)
from hexlit.commands.composing import Composed, composed, hydra_initialized
from hexlit.commands.typed_words import as_typed
from hexlit.errors import UsageError

Schema = TypeVar("Schema")


@contextmanager
def called(
    config_name: str, schema: type[Schema], arguments: Arguments, *, prepare: Prepare = list
) -> Iterator[tuple[Schema, Composed]]:
    """Compose `conf/<config_name>.yaml` with the overrides `arguments`, for the work of the command
    in the block.

    Gives what its task takes: the settings of the `schema`, and the composed command line.
    `prepare` may rewrite the arguments first. As on the command line, the work has a folder with
    its log. Unlike there, no mistake is printed, and the process stays unchanged: the environment,
    warning filters and random generators.

    Raises:
        UsageError: a mistake of the caller, in one line that names the right value.
        KeyboardInterrupt: Ctrl-C, or the interrupt of a notebook.
    """
    refused = False
    try:
        with untouched_process():
            composed = composed_with_hydra(config_name, arguments, prepare=prepare)
            folder = composed.folder
            run_folder.claim(folder)
            with log_file_of_run(folder / f"{composed.hydra.job.name}.log"):
                yield typed(composed.config, schema), composed
    except SystemExit as stop:
        if isinstance(stop.__context__, KeyboardInterrupt):  # Lightning turns Ctrl-C into an exit
            raise KeyboardInterrupt from stop
        raise
    except Exception as error:
        mistake = mistake_of_task(error)
        if mistake is None:
            raise
        refused = True
        raise UsageError(explain(mistake, config_name, arguments)) from None
    finally:
        run_folder.leave(refused=refused)


def composed_with_hydra(
    config_name: str, arguments: Arguments, *, prepare: Prepare = list
) -> Composed:
    """The command line with these `arguments`; nothing is run.

    Raises:
        UsageError: as `called`.
    """
    with quiet_imports(), hydra_initialized():
        overrides = [as_typed(word) for word in prepare(list(arguments))]
        try:
            whole = composed(config_name, overrides)
            config = copy.copy(whole)
            with (
                flag_override(whole, ["struct", "readonly"], False),
                flag_override(config, ["struct"], False),
            ):
                whole.hydra.mode = RunMode.RUN
                whole.hydra.runtime.output_dir = str(Path(whole.hydra.run.dir).absolute())
                del config["hydra"]  # as a task gets it
        except Exception as error:
            if is_mistake(error):
                raise UsageError(explain(error, config_name, overrides)) from None
            raise
    return Composed(config, whole.hydra)


@contextmanager
def untouched_process() -> Iterator[None]:
    """Restore, at the end of the block, settings of the whole process that training changes.

    These are the environment, warning filters, the global random generators, the threads of
    kernels, and what `DeviceProfile.apply` sets. In the block, spawned processes do not run the
    caller's script for its definitions; hexlit's need none of them.
    """
    import numpy as np
    import torch

    from hexlit.accelerate.profile import restored_settings
    from hexlit.hex.jit import restored_threads

    draws = random.getstate(), np.random.get_state()  # noqa: NPY002  # the global one it is
    main = vars(sys.modules["__main__"])
    kept: dict[str, Any] = {name: main[name] for name in ("__spec__", "__file__") if name in main}
    main["__spec__"] = None
    main.pop("__file__", None)
    try:
        with (
            patch.dict(os.environ),
            quiet_imports(),
            restored_settings(),
            restored_threads(),
            torch.random.fork_rng(devices=()),
        ):
            yield
    finally:
        main.update(kept)
        random.setstate(draws[0])
        np.random.set_state(draws[1])  # noqa: NPY002


@contextmanager
def quiet_imports() -> Iterator[None]:
    """Keep warning filters, and keep tqdm, which Lightning and Optuna import, from asking for
    ipywidgets.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="IProgress not found")
        yield


@contextmanager
def log_file_of_run(path: Path) -> Iterator[None]:
    """Write hexlit's log also to the file of the command."""
    file = logging.FileHandler(path, encoding="utf-8")
    logger = logging.getLogger("hexlit")
    file.setFormatter(logging.Formatter("[%(asctime)s][%(name)s][%(levelname)s] %(message)s"))
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(file)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(file)
        file.close()


def settings_of(
    config_name: str, arguments: Arguments, schema: type[Schema], *, prepare: Prepare = list
) -> Schema:
    """The settings from `conf/<config_name>.yaml` and the overrides `arguments`; nothing is run.

    Raises:
        UsageError: as `called`.
    """
    return typed(composed_with_hydra(config_name, arguments, prepare=prepare).config, schema)
