"""The folder of a command's output: held from before its first file on, and left tidy.

Hydra makes the folder of a run and its log before it calls the command. `Claim` holds the folder earlier, as a
callback of Hydra; `hexlit.commands.application.run` releases it at the command's end.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from hexlit.errors import UsageError
from hexlit.files import remove_temporary
from hexlit.locks import LOCK, FolderLock

OWN_SWEEPER = "optuna"
"""The sweeper of `hexlit.tuning`, which finds and holds the folder of its sweep itself."""

_WITHOUT_WORTH = {LOCK, "multirun.yaml", "phases.csv"}
"""Files that a run has before it has done any work."""


class Refused(BaseException):
    """Carries a mistake out of a task or a callback, past Hydra's "Error executing job with overrides"."""

    def __init__(self, mistake: Exception) -> None:
        self.mistake = mistake


@dataclass(frozen=True)
class _Held:
    folder: Path
    lock: FolderLock
    made: tuple[Path, ...]
    """Folders that were made for it, innermost first."""


_held: list[_Held] = []


class Claim(Callback):
    """Holds the folder of a run, or of a plain sweep, before Hydra makes a file there. Hydra makes it from `conf/`."""

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
        lock = FolderLock(folder)
        _held.append(_Held(folder, lock, tuple(missing)))
        remove_temporary(folder, below=below)
    except OSError as error:
        raise UsageError(f"{folder}: no run can be kept here ({error.strerror})") from error


def folder() -> Path | None:
    """The first claimed folder; None without one."""
    return _held[0].folder if _held else None


def check() -> None:
    """Check that the held folders still exist.

    Raises:
        UsageError: one was removed, or replaced by another.
    """
    for held in _held:
        if not held.lock.stands():
            raise UsageError(f"{held.folder}: the folder was removed while this command was at work in it")


def leave(*, refused: bool) -> None:
    """Release all folders of this process; with `refused` remove folders that were made for nothing."""
    while _held:
        held = _held.pop()
        if refused and held.made and held.lock.stands() and _bare(held.folder):
            _remove(held)
        held.lock.release()


def _claim_or_refuse(folder: Path, *, below: bool = True) -> None:
    try:
        claim(folder, below=below)
    except UsageError as error:  # Hydra lets no other exception of a callback pass
        raise Refused(error) from error


def _bare(folder: Path) -> bool:
    """Whether `folder` has no work of a run: settings, a log and a lock do not count."""
    files = [path for path in folder.rglob("*") if not path.is_dir()]
    return all(path.name in _WITHOUT_WORTH or path.suffix == ".log" or path.parent.name == ".hydra" for path in files)


def _remove(held: _Held) -> None:
    for path in sorted(held.folder.rglob("*"), reverse=True):  # the content of a folder comes before it
        path.rmdir() if path.is_dir() else path.unlink()
    for path in held.made:
        if any(path.iterdir()):
            break
        path.rmdir()
