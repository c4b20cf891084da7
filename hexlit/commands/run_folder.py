"""The folder of a run: the id in its name, and how a command continues in it."""

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from omegaconf import OmegaConf

from hexlit.commands.saved_settings import read_overrides
from hexlit.errors import UsageError
from hexlit.tuning.space import quoted

OmegaConf.register_new_resolver("hexlit.run_id", lambda: secrets.token_hex(3), use_cache=True, replace=True)


def resumed_folder(argv: list[str]) -> Path | None:
    """The last folder named by `resume=`; None without one.

    Raises:
        UsageError: it is empty, or no path can have this name.
    """
    folders = [argument.removeprefix("resume=").strip("'\"") for argument in argv if argument.startswith("resume=")]
    if not folders or folders[-1] == "null":
        return None
    if not folders[-1]:
        raise UsageError("resume=: the value is empty; resume=FOLDER continues a run, resume=null begins a new one")
    try:
        folder = Path(folders[-1]).resolve()
        folder.stat()
    except FileNotFoundError:
        return folder
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a name too long, a null character
        message = (error.strerror if isinstance(error, OSError) else None) or str(error).partition(":")[0]
        raise UsageError(f"resume={folders[-1][:100]}: no folder can be found there ({message})") from error
    return folder


def refuse_changes(argv: list[str], may_change: Sequence[str], otherwise: str) -> None:
    """Refuse overrides of a resumed run, unless they begin with one of `may_change`.

    Raises:
        UsageError: there is one; the message says what holds `otherwise`.
    """
    changed = [argument for argument in argv if not argument.startswith(("resume=", "-", *may_change))]
    if changed:
        raise UsageError(f"{changed[0]}: {otherwise}")


def resumed_arguments(argv: list[str]) -> list[str]:
    """`argv`; with `resume=FOLDER`, the overrides of that run, then those of `argv`, in that folder."""
    folder = resumed_folder(argv)
    if folder is None:
        return argv
    earlier = [override for override in read_overrides(folder) if not override.startswith("resume=")]
    later = [argument for argument in argv if not argument.startswith("resume=")]
    return [*earlier, *later, f"resume={quoted(str(folder))}", f"hydra.run.dir={quoted(str(folder))}"]


_OF_A_RUN = ("checkpoints", "phases.csv")
"""Names in the folder of a run that has begun."""


def requeued(folder: Path) -> str | None:
    """The value of `resume` that continues the run in `folder`; None unless Slurm has started this job again.

    Slurm does so after a job's time limit, or the loss of its machine.
    """
    restarts = os.environ.get("SLURM_RESTART_COUNT", "0")
    again = restarts.isdecimal() and int(restarts) > 0
    return str(folder) if again and any((folder / name).exists() for name in _OF_A_RUN) else None
