"""The folder of a run: the id in its name, who is at work in it, and how a command goes on in it."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omegaconf import OmegaConf

from hexlit.errors import UsageError
from hexlit.files import hold, replacing
from hexlit.tuning.space import quoted

OmegaConf.register_new_resolver("hexlit.run_id", lambda: secrets.token_hex(3), use_cache=True, replace=True)


def resumed_folder(argv: list[str]) -> Path | None:
    """The folder that `resume=` names last; None without one."""
    folders = [argument.removeprefix("resume=") for argument in argv if argument.startswith("resume=")]
    return None if not folders or folders[-1] in ("", "null") else Path(folders[-1].strip("'\"")).resolve()


def resumed_arguments(argv: list[str]) -> list[str]:
    """`argv`, or, where it says `resume=FOLDER`, the overrides of that run, then those of `argv`, in that folder."""
    folder = resumed_folder(argv)
    if folder is None:
        return argv
    saved = folder / ".hydra" / "overrides.yaml"
    if not saved.is_file():
        raise UsageError(f"resume={folder}: no folder of a run (a run keeps its settings in .hydra)")
    overrides = [str(override) for override in OmegaConf.load(saved)]
    earlier = [override for override in overrides if not override.startswith("resume=")]
    later = [argument for argument in argv if not argument.startswith("resume=")]
    return [*earlier, *later, f"resume={quoted(str(folder))}", f"hydra.run.dir={quoted(str(folder))}"]


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep the folder of a run from all other processes that ask likewise; the end of a process lets go.

    Raises:
        UsageError: another process is at work there.
    """
    with (folder / ".lock").open("w", encoding="utf-8") as file:
        if not hold(file):
            raise UsageError(f"{folder}: another process is at work here; wait for its end, or end it")
        yield


class SavedSettings:
    """The settings in the folder of a run, as they were before a command went on there."""

    def __init__(self, folder: Path | None) -> None:
        """Read them; there are none without a folder."""
        paths = [] if folder is None else folder.glob(".hydra/*.yaml")
        self._files = {path: path.read_bytes() for path in paths}

    def restore(self) -> None:
        """Write them back: Hydra writes refused overrides down, too, and the next `resume=` would read them."""
        for path, content in self._files.items():
            with replacing(path) as temporary:
                temporary.write_bytes(content)
