"""The shared part of every command: a small Hydra application whose user errors are one line and exit code 2.

A command is three things: a dataclass that is the schema of its configuration, a YAML in `conf/` that names the schema
in its defaults, and a task:

    register_schema("solve", SolveConfig)               # conf/solve.yaml: defaults: [solve_schema, ..., _self_]

    def task(config: DictConfig) -> None:
        settings = typed(config, SolveConfig)           # __post_init__ refuses values out of range

    def main(argv: list[str]) -> int:
        return run(task, "solve", argv)
"""

import dataclasses
import functools
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.errors import CompactHydraException, InstantiationException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from hexlit.commands import run_folder
from hexlit.commands.composing import CONFIG_PACKAGE, VERSION_BASE, flags_and_overrides
from hexlit.commands.run_folder import Refused
from hexlit.commands.user_errors import explain, machine_error, one_line
from hexlit.errors import UsageError

Schema = TypeVar("Schema")

FINE, BUG, MISTAKE, INTERRUPTED = 0, 1, 2, 130


def register_schema(name: str, schema: type[Any]) -> None:
    """Make the dataclass `schema` known to Hydra as `<name>_schema`, the first entry in the defaults of a YAML."""
    ConfigStore.instance().store(name=f"{name}_schema", node=schema, provider="hexlit")


def typed(config: DictConfig, schema: type[Schema]) -> Schema:
    """The composed configuration as an instance of `schema`, nested groups as instances of theirs.

    Raises:
        UsageError: a value is missing or of the wrong type, or a `__post_init__` refused it.
        TypeError: the YAML does not name the schema in its defaults list (a bug).
    """
    try:
        _refuse_other_keys(config)
        result = OmegaConf.to_object(config)
    except OmegaConfBaseException as error:
        raise UsageError(explain(error, "", [])) from error
    if not isinstance(result, schema):
        raise TypeError(f"the configuration is a {type(result).__name__}: its YAML lacks the schema {schema.__name__}")
    return result


def _refuse_other_keys(config: DictConfig, prefix: str = "") -> None:
    """Refuse keys that Hydra's +key=value has added or ~key has removed: the settings are those of the schema."""
    schema = OmegaConf.get_type(config)
    keys = {str(key) for key in config}
    names = {field.name for field in dataclasses.fields(schema)} if dataclasses.is_dataclass(schema) else keys
    for key in sorted(keys - names):
        raise UsageError(f"unknown key {f'{prefix}{key}'!r}: the keys are {', '.join(sorted(names))}")
    for key in sorted(names - keys):
        raise UsageError(f"~{prefix}{key}: no setting can be removed; give it another value, {prefix}{key}=VALUE")
    for key in keys:
        if dataclasses.is_dataclass(OmegaConf.get_type(config, key)):
            _refuse_other_keys(config[key], f"{prefix}{key}.")


def run(
    task: Callable[[DictConfig], None],
    config_name: str,
    argv: list[str],
    *,
    prepare: Callable[[list[str]], list[str]] = list,
    command: str | None = None,
) -> int:
    """Compose `conf/<config_name>.yaml` with the overrides `argv`, run `task` on it, and return the exit code.

    `prepare` may rewrite the arguments first, and raise `UsageError`. Messages name `command`, or `config_name` where
    it is None.

    All of Hydra's own command line works: `--multirun`, `--cfg job`, `--help`, `--info`, completion.

    Returns:
        0; 2 after a mistake of the user, told in one line on stderr; 1 after a bug, with its traceback; 130 after
        Ctrl-C. With HYDRA_FULL_ERROR=1 a mistake keeps its traceback too.
    """
    logging.raiseExceptions = False  # a log on a full disk is no reason for a traceback
    code = BUG
    try:
        code = _run(task, config_name, argv, prepare, command)
    finally:
        run_folder.leave(refused=code == MISTAKE)
    return code


def _run(
    task: Callable[[DictConfig], None],
    config_name: str,
    argv: list[str],
    prepare: Callable[[list[str]], list[str]],
    command: str | None,
) -> int:
    wants_traceback = os.environ.get("HYDRA_FULL_ERROR") == "1"
    bugs: list[Exception] = []
    arguments = argv
    try:
        arguments = _arguments(prepare(argv))
        with _command_line(arguments):
            application = hydra.main(f"pkg://{CONFIG_PACKAGE}", config_name, VERSION_BASE)(_watched(task, bugs))
            application()
    except Refused as refused:
        return _report(refused.mistake, config_name, arguments, wants_traceback, command)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `hexlit train --help | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except SystemExit as stop:
        if isinstance(stop.__context__, KeyboardInterrupt):  # Lightning turns Ctrl-C into an exit
            return INTERRUPTED
        return stop.code if isinstance(stop.code, int) else FINE if stop.code is None else BUG
    except Exception as error:
        if error not in bugs and is_mistake(error):
            return _report(error, config_name, arguments, wants_traceback, command)
        traceback.print_exc()
        return BUG
    return FINE


def _arguments(argv: list[str]) -> list[str]:
    """`argv` with flags first, since argparse takes overrides in one piece; raises `UsageError`."""
    flags, overrides = flags_and_overrides(argv)
    if flags.experimental_rerun is not None:
        raise UsageError("--experimental-rerun reads a pickle, which hexlit never does; repeat the overrides")
    return [argument for argument in argv if argument not in overrides] + overrides


@contextmanager
def _command_line(arguments: list[str]) -> Iterator[None]:
    """Give Hydra its arguments, and make it raise errors instead of printing them and leaving."""
    argv, full_error = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    sys.argv = [argv[0], *arguments]
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        yield
    finally:
        sys.argv = argv
        if full_error is None:
            del os.environ["HYDRA_FULL_ERROR"]
        else:
            os.environ["HYDRA_FULL_ERROR"] = full_error


def _watched(task: Callable[[DictConfig], None], bugs: list[Exception]) -> Callable[[DictConfig], None]:
    """`task`, separating mistakes of the user from bugs, which are added to `bugs`."""

    @functools.wraps(task)
    def watched(config: DictConfig) -> None:
        try:
            task(config)
        except Exception as error:
            mistake = mistake_of_task(error)
            if mistake is None:
                bugs.append(error)
                raise
            if HydraConfig.get().mode == RunMode.RUN:
                raise Refused(mistake) from error
            raise mistake from error  # one job of a sweep: Hydra records its failure and continues

    return watched


def mistake_of_task(error: Exception) -> Exception | None:
    """The user's mistake in `error` from a task, wrapped or not; None for a bug."""
    if isinstance(error, UsageError | MissingMandatoryValue):
        return error
    if isinstance(error, InstantiationException):  # hydra.utils.instantiate wraps the constructor's error
        cause = error.__cause__
        return cause if isinstance(cause, UsageError) else None
    return machine_error(error)


def is_mistake(error: Exception) -> bool:
    """Whether an error outside the task, while composing, is the user's."""
    if isinstance(error, UsageError | CompactHydraException | OmegaConfBaseException | OSError):
        return True
    # Hydra raises a plain ValueError on flags and on group=3, and other errors where it expects a name.
    frames = traceback.extract_tb(error.__traceback__)
    return any(f"{os.sep}{package}{os.sep}" in frames[-1].filename for package in ("hydra", "omegaconf"))


def _report(error: Exception, config_name: str, argv: list[str], wants_traceback: bool, command: str | None) -> int:
    if wants_traceback:
        traceback.print_exception(error)
    print(f"hexlit {command or config_name}: {one_line(explain(error, config_name, argv))}", file=sys.stderr)
    return MISTAKE
