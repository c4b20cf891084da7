"""The checkpoints of a run on disk: written beside their place, checked, then renamed; read only when whole."""

import io
import logging
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.plugins.io import TorchCheckpointIO
from torch import Tensor

from hexlit.errors import UsageError
from hexlit.files import replacing

log = logging.getLogger(__name__)


class WholeCheckpoints(TorchCheckpointIO):
    """Writes and reads the checkpoints of Lightning.

    Lightning's own way writes to `$TMPDIR` and moves the file. On another file system that copies it over the old
    checkpoint. Here the old one stays until the new one is on disk and checked.
    """

    def __init__(self, saved: Callable[[Path], None] = lambda path: None) -> None:
        """`saved(path)` is called after each checkpoint that has been written and checked."""
        super().__init__()
        self._saved = saved

    def save_checkpoint(self, checkpoint: Mapping[str, Any], path: Any, storage_options: Any | None = None) -> None:
        """Write `checkpoint` to `path`, whole or not at all.

        Raises:
            OSError: it cannot be written, for example on a full disk.
            UsageError: the disk returns other bytes than were written.
        """
        save_whole(dict(checkpoint), Path(path))
        self._saved(Path(path))

    def load_checkpoint(self, path: Any, map_location: Any | None = None, weights_only: bool | None = None) -> Any:
        """The content of `path`, on the CPU; raises `UsageError` where it is damaged."""
        return read_checkpoint(Path(path))


def save_whole(content: Any, path: Path) -> None:
    """Write `torch.save`'s form of `content` to `path`; the file appears once it is on disk and checked.

    Raises:
        OSError: it cannot be written, for example on a full disk.
        UsageError: the disk returns other bytes than were written.
    """
    # Into memory first: a full disk is then an ordinary OSError, not one inside torch's own writer.
    written = io.BytesIO()
    torch.save(content, written)
    with replacing(path) as temporary:
        temporary.write_bytes(written.getbuffer())
        check_whole(temporary)


def newest_sound(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """File and content of the newest whole checkpoint of the run in `folder`; None where it has no last one.

    A damaged last checkpoint causes a warning, and the best one takes its place.

    Raises:
        UsageError: there are checkpoints, but none is whole.
    """
    last, best = folder / CHECKPOINTS / LAST, folder / CHECKPOINTS / BEST
    if not last.exists():
        return None
    damage: list[str] = []
    for path in (last, best):
        try:
            checkpoint = read_checkpoint(path)
            if not {"epoch", "hyper_parameters"} <= checkpoint.keys():
                raise UsageError(f"{path}: not a checkpoint to continue from")
        except UsageError as error:
            damage.append(str(error))
            continue
        if damage:
            log.warning("%s; continuing from %s, after epoch %d", damage[0], path.name, checkpoint["epoch"])
        return path, checkpoint
    raise UsageError(f"{damage[0]}; there is no whole {BEST} beside it to continue from; start a new run")


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
    for file in (path / CHECKPOINTS / BEST, path / CHECKPOINTS / LAST):
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
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise UsageError(f"{where}: not a whole checkpoint ({reason})") from error
    if damaged is not None:
        raise UsageError(f"{where}: damaged (wrong checksum of {damaged}); restore the file")


def weights_in_use(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The network's own state within that of its module: the averaged weights where there are any."""
    prefix = AVERAGED if any(name.startswith(AVERAGED) for name in state) else TRAINED
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}
