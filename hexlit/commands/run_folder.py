"""The folder of a run: the id in its name, its settings in `.hydra/`, and how a command continues
in it.

Hydra would write `.hydra/` at every start, before any check, and a kill there leaves its files
empty; so `hydra.output_subdir=null` switches that off, and each file is replaced in one step here.
"""

import contextlib
import logging
import os
import secrets
import shlex
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from hexlit.commands.composing import Composed
from hexlit.commands.saved_overrides import runs_code, trusted
from hexlit.errors import UsageError
from hexlit.files import remove_temporary, write_text_atomic
from hexlit.interruption import prints_resume_hint
from hexlit.locks import LOCK, FolderLock
from hexlit.tuning.space import quoted
from hexlit.tuning.sweep_folder import read_yaml

SETTINGS, OVERRIDES = ".hydra", "overrides.yaml"
"""Folder of the settings in that of a run, and the file of its overrides there."""

OmegaConf.register_new_resolver(
    "hexlit.run_id", lambda: secrets.token_hex(3), use_cache=True, replace=True
)


def resumed_folder(argv: list[str]) -> Path | None:
    """The last folder named by `resume=`; None without one.

    Raises:
        UsageError: it is empty, or no path can have this name.
    """
    folders = [
        argument.removeprefix("resume=").strip("'\"")
        for argument in argv
        if argument.startswith("resume=")
    ]
    if not folders or folders[-1] == "null":
        return None
    if not folders[-1]:
        raise UsageError(
            "resume=: the value is empty; resume=FOLDER continues a run, resume=null begins a new one"
        )
    return Path(folders[-1]).absolute()


def resumable(command: str, folder: Path, overrides: Sequence[str]) -> AbstractContextManager[None]:
    """Within the block, an interruption prints how `command`, started with `overrides`, continues
    in `folder`.
    """
    path = os.path.relpath(folder)
    typed_again = [override for override in overrides if runs_code(override)]
    again = shlex.join([f"resume={path}", *typed_again])
    return prints_resume_hint(command, f"all so far is kept in {path}", f"{command} {again}")


def settings_writer(composed: Composed) -> Callable[[], None]:
    """A function that writes the settings of the command `composed` into its folder at its first
    call.
    """
    theirs = {"hydra": OmegaConf.to_container(composed.hydra, enum_to_str=True)}
    contents = {"config.yaml": composed.config, "hydra.yaml": theirs, OVERRIDES: composed.overrides}
    texts = {name: OmegaConf.to_yaml(content) for name, content in contents.items()}

    @cache
    def write() -> None:
        for name, text in texts.items():
            write_text_atomic(composed.folder / SETTINGS / name, text)

    return write


def read_overrides(folder: Path) -> list[str]:
    """The overrides of the run in `folder`.

    Raises:
        UsageError: there are none, or the file is damaged.
    """
    path = folder / SETTINGS / OVERRIDES
    if not path.is_file():
        raise UsageError(
            f"resume={folder}: no folder of a run (a run keeps its settings in {SETTINGS})"
        )
    result = read_yaml(path)
    if not isinstance(result, list) or not all(isinstance(entry, str) for entry in result):
        raise UsageError(f"{path}: not a list of overrides; restore the file, or start a new run")
    return result


def resumed_arguments(argv: list[str], may_change: Sequence[str] = ()) -> list[str]:
    """`argv`; with `resume=FOLDER`, the overrides of that run, then those of `argv`, in that
    folder.

    With `may_change` other overrides than those that begin so are refused.

    Raises:
        UsageError: there is one, or the folder holds no run.
    """
    folder = resumed_folder(argv)
    if folder is None:
        return argv
    saved = [override for override in read_overrides(folder) if not override.startswith("resume=")]
    typed = [argument for argument in argv if not argument.startswith("resume=")]
    for argument in typed:
        if may_change and not argument.startswith(("-", *may_change)) and argument not in saved:
            rule = f"what may change begins with {', '.join(may_change)}"
            raise UsageError(f"{argument}: {folder} continues with its own settings; {rule}")
    earlier = trusted(saved, typed, folder / SETTINGS / OVERRIDES, "resume")
    return [
        *earlier,
        *typed,
        f"resume={quoted(str(folder))}",
        f"hydra.run.dir={quoted(str(folder))}",
    ]


def requeued(folder: Path) -> str | None:
    """The value of `resume` that continues the run in `folder`; None unless Slurm has started this
    job again.

    Slurm does so after a job's time limit, or the loss of its machine.
    """
    begun = (folder / "checkpoints").exists() or (folder / "phases.csv").exists()
    return str(folder) if begun and int(os.environ.get("SLURM_RESTART_COUNT", "0")) > 0 else None


OWN_SWEEPER = "optuna"
"""The sweeper of `hexlit.tuning`, which finds and holds the folder of its sweep itself."""

_TABLES = {"metrics.csv", "phases.csv", "resources.csv", "steps.csv"}
_WITHOUT_WORTH = {LOCK, "multirun.yaml", *_TABLES}
"""Files that a run has before its first checkpoint and its first game."""


class Refused(BaseException):
    """Carries an error out of a task or a callback, past Hydra's "Error executing job with
    overrides".
    """

    def __init__(self, error: Exception, *, mistake: bool = True) -> None:
        """`mistake`: it is the user's, no bug."""
        self.error = error
        self.mistake = mistake


_held: list[tuple[Path, FolderLock, list[Path]]] = []
"""Claimed folders, each with its lock, and the folders that were made for it, innermost first."""


class Claim(Callback):
    """Holds the folder of a run, or of a plain sweep, before Hydra makes a file there. Hydra makes
    it from `conf/`.
    """

    def on_run_start(self, config: DictConfig, **kwargs: Any) -> None:
        """A single run is about to begin, or to continue."""
        _claim_or_refuse(Path(str(config.hydra.run.dir)))

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """A sweep is about to begin."""
        if config.hydra.runtime.choices.get("hydra/sweeper") != OWN_SWEEPER:
            _claim_or_refuse(Path(str(config.hydra.sweep.dir)), below=False)


def claim(folder: Path, *, below: bool = True) -> None:
    """Hold `folder`, make it if it is missing, and remove the unfinished files of a killed process.

    Folders below it are tidied too; `below` is False if other processes may work in them.

    Raises:
        UsageError: another process is at work there, or it cannot be made.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _held.append((folder, FolderLock(folder), missing))
        remove_temporary(folder, below=below)
    except OSError as error:
        raise UsageError(f"{folder}: no run can be kept here ({error.strerror})") from error


def folder() -> Path | None:
    """The first claimed folder; None without one."""
    return _held[0][0] if _held else None


def check() -> None:
    """Check that the held folders still exist; raises `UsageError` if one was removed, or replaced
    by another.
    """
    for folder, lock, _ in _held:
        if not lock.stands():
            raise UsageError(
                f"{folder}: the folder was removed while this command was at work in it"
            )


def leave(*, refused: bool) -> None:
    """Release all folders of this process; with `refused` remove folders that were made for
    nothing.
    """
    while _held:
        folder, lock, made = _held.pop()
        if refused and made and lock.stands() and _bare(folder):
            _close_logs(folder)
            shutil.rmtree(folder)
            with contextlib.suppress(OSError):  # another run is there by now
                for path in made[1:]:
                    path.rmdir()
        lock.close()


def _close_logs(folder: Path) -> None:
    """End the logging to files in `folder`, which would raise in this process once they are gone."""
    root = logging.getLogger()
    to_files = [one for one in root.handlers if isinstance(one, logging.FileHandler)]
    for handler in to_files:
        if Path(handler.baseFilename).is_relative_to(folder.resolve()):
            root.removeHandler(handler)
            handler.close()


def _claim_or_refuse(folder: Path, *, below: bool = True) -> None:
    try:
        claim(folder, below=below)
    except UsageError as error:  # Hydra lets no other exception of a callback pass
        raise Refused(error) from error


def _bare(folder: Path) -> bool:
    """Whether `folder` has no work of a run: settings, a log and a lock do not count."""
    files = [path for path in folder.rglob("*") if not path.is_dir()]
    return all(
        path.name in _WITHOUT_WORTH or path.suffix == ".log" or path.parent.name == ".hydra"
        for path in files
    )
