"""Whole files or none: a reader never finds a half-written file."""

import atexit
import contextlib
import errno
import json
import logging
import math
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

# Temporary names of `replacing`, and of stores of older versions, before the rename.
_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{8}\.tmp|part-[0-9]{6,}\.tmp")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path` to write to, and rename it to `path` when the block succeeds.

    The content reaches the disk before the rename, so a process killed at any instant leaves the old file or the new
    one. When the block raises, the old file stays and the temporary one is removed. Missing folders are made.

    Raises:
        OSError: `path` exists and is not a file: a folder, a pipe or a device, which no rename may replace.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "Is no regular file", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text_atomic(path: Path, text: str) -> None:
    """Write `text` to `path` as UTF-8, whole or not at all, with the line ends that `text` has."""
    with replacing(path) as temporary:
        temporary.write_bytes(text.encode("utf-8"))


def remove_temporary(folder: Path, *, below: bool = True) -> None:
    """Remove the unfinished files of ended processes in (and `below`) `folder`.

    Call it when no process works there any more. It removes only regular files with the names of hexlit's own
    unfinished files; links are not followed. Raises `OSError` if one cannot be removed.
    """
    for place, folders, names in os.walk(folder):  # unlike `rglob`, it passes over folders that vanish meanwhile
        if not below:
            folders.clear()
        for path in (Path(place, name) for name in names if _UNFINISHED.fullmatch(name)):
            if path.is_file() and not path.is_symlink():
                path.unlink()


def named_cache_folder() -> Path:
    """The folder for `cache_folder` by the environment, or else by convention; perhaps it cannot be written."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hexlit"


def cache_folder() -> Path:
    """The folder of data that can be computed again: solved positions, indices of games, compiled kernels.

    If it cannot be written, a temporary one takes its place, for this process and those it starts. One warning says so,
    and the folder is removed at the end.
    """
    folder = named_cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        place = tempfile.mkdtemp(prefix="hexlit-cache-")
        atexit.register(shutil.rmtree, place, ignore_errors=True)
        log.warning("%s: this cache cannot be written (%s); nothing is kept for later runs", folder, error.strerror)
        os.environ["XDG_CACHE_HOME"] = place
        return named_cache_folder()


def write_json_atomic(path: Path, content: Any) -> None:
    """Write `content` as JSON with sorted keys, whole or not at all; see `plain`."""
    write_text_atomic(path, json.dumps(plain(content), indent=2, sort_keys=True, allow_nan=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in the file; empty if there is none, or it cannot be read."""
    with contextlib.suppress(OSError, ValueError):  # ValueError: neither UTF-8 nor JSON
        if isinstance(found := json.loads(path.read_text(encoding="utf-8")), dict):
            return found
    return {}


def plain(value: Any) -> Any:
    """`value` for JSON: NaN and infinities become null, paths strings, arrays lists.

    Raises TypeError for types that JSON does not have.
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(entry) for entry in value]
    if not isinstance(value, str | bool | int | None):
        raise TypeError(f"a document holds a {type(value).__name__}, which JSON cannot say: {value!r}")
    return value
