"""Reading a checkpoint of any task: which file it is, whether it is whole, and the weights in use."""

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hexlit.errors import UsageError

AVERAGED, TRAINED = "average.module.", "net."
"""Prefixes of the averaged and of the trained weights in a module's state."""

CHECKPOINTS, LAST, BEST = "checkpoints", "last.ckpt", "best.ckpt"
"""Folder of checkpoints in that of a run; the state after the latest epoch; the state after the best epoch."""


def checkpoint_file(path: Path, key: str = "checkpoint") -> Path:
    """The checkpoint that `path` names: itself, or in the folder of a run its best one, else its last.

    `key` is the setting that holds `path`.

    Raises:
        UsageError: a folder without either.
    """
    if not path.is_dir():
        return path
    for name in (BEST, LAST):
        file = path / CHECKPOINTS / name
        if file.is_file():
            return file
    raise UsageError(f"{key}={path}: this folder has no checkpoints/best.ckpt or checkpoints/last.ckpt")


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The content of a checkpoint on the CPU, from an undamaged file.

    Raises:
        UsageError: bytes of the file are missing or changed, or it is no checkpoint.
    """
    check_whole(path)
    try:
        content: dict[str, Any] = dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # a broken file can make torch raise anything
        raise UsageError(f"{path}: not a checkpoint ({type(error).__name__})") from error
    return content


def check_whole(path: Path, key: str | None = None) -> None:
    """Compare every part of the archive with its checksum, which torch does not do when reading. About 1 GB/s.

    `key` is the setting that names the file; None where no setting does.

    Raises:
        UsageError: the file is no archive, or a part of it is damaged.
    """
    where = path if key is None else f"{key}={path}"
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
        raise UsageError(f"{where}: not a whole checkpoint ({_first_line(error)})") from error
    if damaged is not None:
        raise UsageError(f"{where}: damaged (wrong checksum of {damaged}); restore the file")


def weights_in_use(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The network's own state within that of its module: the averaged weights where there are any."""
    prefix = AVERAGED if any(name.startswith(AVERAGED) for name in state) else TRAINED
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
