"""The checkpoints of a run on disk: written next to their place, then renamed; checked when they
are read.
"""

import io
import re
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.plugins.io import TorchCheckpointIO
from torch import Tensor

from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.training.checkpoint_files import BEST as BEST
from hexlit.training.checkpoint_files import CHECKPOINTS as CHECKPOINTS
from hexlit.training.checkpoint_files import LAST as LAST
from hexlit.training.checkpoint_files import checkpoint_file as checkpoint_file

AVERAGED, TRAINED = "average.module.", "net."
"""Prefixes of the averaged and of the trained weights in a module's state."""


class WholeCheckpoints(TorchCheckpointIO):
    """Writes and reads the checkpoints of Lightning.

    Lightning's own way writes to `$TMPDIR` and moves the file. On another file system that copies
    it over the old checkpoint. Here the old one stays until the new one is on disk.
    """

    def save_checkpoint(
        self, checkpoint: Mapping[str, Any], path: Any, storage_options: Any | None = None
    ) -> None:
        """Write `checkpoint` to `path`, whole or not at all; raises `OSError` if that fails."""
        save_whole(dict(checkpoint), Path(path))

    def load_checkpoint(
        self, path: Any, map_location: Any | None = None, weights_only: bool | None = None
    ) -> Any:
        return read_checkpoint(Path(path))


def save_whole(content: Any, path: Path) -> None:
    """Write `torch.save`'s form of `content` to `path`, whole or not at all; raises `OSError` if
    that fails.

    Raises:
        UsageError: it holds what `read_checkpoint` would not read, such as the state of somebody's
            callback.
    """
    # Into memory first: a full disk is then an ordinary OSError, not one inside torch's own writer.
    written = io.BytesIO()
    torch.save(content, written)
    if not _is_plain(content):  # torch reads some other objects, too, at 15 times the cost
        written.seek(0)
        try:
            torch.load(written, map_location="cpu", weights_only=True)
        except Exception as error:
            raise UsageError(f"{path}: not written; {_why_unread(error)}") from error
    with replacing(path) as temporary:
        temporary.write_bytes(written.getbuffer())


PLAIN = (str, int, float, bool, type(None), Tensor, dict, OrderedDict, list, tuple)


def _is_plain(value: Any) -> bool:
    """Whether `value` consists of PLAIN alone, and of none of their subclasses."""
    parts = list(getattr(value, "__dict__", {}).values())  # a module's state has `_metadata` there
    if isinstance(value, dict):
        parts += [*value, *value.values()]
    elif isinstance(value, list | tuple):
        parts += value
    return type(value) in PLAIN and all(map(_is_plain, parts))


def read_checkpoint(path: Path, key: str | None = None) -> dict[str, Any]:
    """The content of a checkpoint, on the CPU.

    Every part of the file is compared with its checksum, which torch does not do; about 1 GB/s.
    `key` is the setting that names the file; None where no setting does.

    Raises:
        UsageError: there is no such file, bytes of it are missing or changed, or it is no
            checkpoint.
    """
    where = path if key is None else f"{key}={path}"
    if not path.is_file():
        raise UsageError(f"{where}: there is no such file")
    try:
        with zipfile.ZipFile(path) as archive:
            if any(part.compress_type != zipfile.ZIP_STORED for part in archive.infolist()):
                raise zipfile.BadZipFile("its parts are packed, and may be larger than the file")
            if damaged := archive.testzip():
                raise zipfile.BadZipFile(f"wrong checksum of {damaged}")
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a broken file can make both readers raise anything
        raise UsageError(f"{where}: {_why_unread(error)}") from error
    return content


def _why_unread(error: Exception) -> str:
    """Why `error` came out of reading a checkpoint; torch's own text on `weights_only` has several
    lines.
    """
    message = str(error)
    if not message.startswith("Weights only load failed"):
        first_line = message.partition("\n")[0]
        return f"not a whole checkpoint ({first_line or type(error).__name__})"
    name = re.search(r"GLOBAL ([\w.]+)", message)
    content = "other objects" if name is None else f"an object of {name[1]}"
    return f"a checkpoint holds tensors and plain values alone, and this one has {content}"


def check_same(
    folder: Path, was: Mapping[str, Any], now: Mapping[str, Any], section: str = ""
) -> None:
    """Raise `UsageError` if a setting of `section` differs from its value `was` in the run in
    `folder`.
    """
    for name, value in now.items():
        key = f"{section}{name}"
        if isinstance(value, dict):
            check_same(folder, was[name], value, f"{key}.")
        elif (before := was.get(name)) != value:
            raise UsageError(
                f"{key}={value}: the run in {folder} was started with {key}={before}; keep it to resume"
            )


def weights_in_use(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The network's own state within that of its module: the averaged weights where there are any."""
    prefix = AVERAGED if any(name.startswith(AVERAGED) for name in state) else TRAINED
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in state.items()
        if name.startswith(prefix)
    }
