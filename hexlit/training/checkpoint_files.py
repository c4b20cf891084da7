"""The checkpoints of a run on disk: written beside their place, checked, then renamed; read only when whole."""

import io
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.plugins.io import TorchCheckpointIO

from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.training.checkpoint import BEST, CHECKPOINTS, LAST, check_whole, read_checkpoint

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
        except UsageError as error:
            damage.append(str(error))
            continue
        if not {"epoch", "hyper_parameters"} <= checkpoint.keys():
            damage.append(f"{path}: not a checkpoint to continue from")
            continue
        if damage:
            log.warning("%s; continuing from %s, after epoch %d", damage[0], path.name, checkpoint["epoch"])
        return path, checkpoint
    raise UsageError(f"{damage[0]}; there is no whole {BEST} beside it to continue from; start a new run")
