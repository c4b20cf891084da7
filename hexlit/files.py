"""Whole files or none: a reader never finds a half-written file."""

import atexit
import contextlib
import errno
import fcntl
import glob
import io
import json
import logging
import math
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

from hexlit.errors import UsageError

log = logging.getLogger(__name__)

# Temporary names of `replacing`, before the rename.
_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path next to `path` to write to, and rename it to `path` when the block
    succeeds.

    The content reaches the disk before the rename, so a process killed at any instant leaves the
    old file or the new one. When the block raises, the old file stays and the temporary one is
    removed. Missing folders are made. What a killed process has left for the same `path` goes, too.

    Raises:
        OSError: the block's, which then names `path`; or `path` exists and is not a file: a folder,
            a pipe or a device, which no rename may replace.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "Is no regular file", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_unfinished(path.absolute())
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("wb") as held:
            _lock(held)  # other processes leave it alone
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
    except OSError as error:
        unnamed = error.filename in (None, str(temporary), temporary)  # as that of a full disk
        if unnamed and error.errno is not None:
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        temporary.unlink(missing_ok=True)


@cache
def _remove_unfinished(path: Path) -> None:
    """Remove the temporary files of ended processes for `path`; once in a process, since a folder
    may be large.
    """
    for other in path.parent.glob(f".{glob.escape(path.name)}.????????.tmp"):
        if other.is_file() and _UNFINISHED.fullmatch(other.name):
            with (
                contextlib.suppress(OSError),
                other.open("rb") as file,
            ):  # another process may remove it first
                if _lock(file):
                    other.unlink()


def _lock(file: IO[bytes]) -> bool:
    """Lock the open `file` until it is closed; False where a process holds it, or the file system
    has no locks.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def write_text_atomic(path: Path, text: str) -> None:
    """Write `text` to `path` as UTF-8, whole or not at all, with the line ends that `text` has."""
    with replacing(path) as temporary:
        temporary.write_bytes(text.encode("utf-8"))


def link_atomic(source: Path, target: Path) -> None:
    """Give the file `source` the further name `target`, which another file may have had.

    Neither may be changed in place from now on. Where the file system has no links, it is a copy.
    """
    with replacing(target) as temporary:
        temporary.unlink()
        try:
            temporary.hardlink_to(source)
        except OSError:
            shutil.copyfile(source, temporary)


def remove_temporary(folder: Path, *, below: bool = True) -> None:
    """Remove the unfinished files of ended processes in (and `below`) `folder`.

    Call it when no process works there any more. It removes only regular files with the names of
    hexlit's unfinished files; links are not followed. Raises `OSError` if one cannot be
    removed.
    """
    for place, folders, names in os.walk(
        folder
    ):  # unlike `rglob`, it passes over folders that vanish meanwhile
        if not below:
            folders.clear()
        for path in (Path(place, name) for name in names if _UNFINISHED.fullmatch(name)):
            if path.is_file() and not path.is_symlink():
                path.unlink()


def named_cache_folder() -> Path | None:
    """The folder for `cache_folder` by the environment, or else by convention; perhaps it cannot be
    written.

    None for a user without a home folder, as in many containers. As the XDG specification asks, an
    empty or relative `XDG_CACHE_HOME` counts as unset.
    """
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():
        return named / "hexlit"
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - `Path.home` raises where there is none
    return home / ".cache" / "hexlit" if home.is_absolute() else None


def cache_folder() -> Path:
    """The folder of data that can be computed again: solved positions, indices of games, compiled
    kernels.

    If it cannot be written, a temporary one takes its place, for this process and those it starts.
    One warning names it, and the folder is removed at the end.
    """
    folder = named_cache_folder()
    reason = "there is no home folder; XDG_CACHE_HOME can name one for the cache"
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError as error:
            reason = f"{folder}: this cache cannot be written ({error.strerror})"
    temporary = Path(tempfile.mkdtemp(prefix="hexlit-cache-"))
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    log.warning("%s; nothing is kept for later runs", reason)
    os.environ["XDG_CACHE_HOME"] = str(temporary)
    folder = temporary / "hexlit"
    folder.mkdir()
    return folder


MOST_BYTES = 2**28
"""Most bytes of a file that is read whole, such as a game, settings or a table of epochs."""


def read_regular(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """The content of a file that a user has named, or that lies in a folder that may come from
    somebody else.

    Raises:
        UsageError: it is a device, a pipe or a folder, or has more than `most_bytes` bytes.
        OSError: it cannot be read.
    """
    if not stat.S_ISREG(
        path.stat().st_mode
    ):  # before it is opened: a pipe would wait for its writer
        raise UsageError(f"{path}: must be a regular file")
    with path.open("rb") as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise UsageError(f"{path}: must have at most {most_bytes:,} bytes")
    return content


def read_plain_yaml(path: Path) -> Any:
    """The plain content of a YAML file, with interpolations as text.

    Raises:
        UsageError: it has aliases, by which a short file can stand for a huge one; or as
            `read_regular` does.
        Exception: it is no YAML.
    """
    import yaml
    from omegaconf import OmegaConf

    text = read_regular(path).decode("utf-8")
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
        raise UsageError(f"{path}: must have no aliases")
    return OmegaConf.to_container(OmegaConf.load(io.StringIO(text)), resolve=False)


def write_json_atomic(path: Path, content: Any) -> None:
    """Write `content` as JSON with sorted keys, whole or not at all; see `plain`."""
    write_text_atomic(
        path, json.dumps(plain(content), indent=2, sort_keys=True, allow_nan=False) + "\n"
    )


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in the file; empty if there is none, or it cannot be read."""
    try:
        content = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):  # ValueError: neither UTF-8 nor JSON
        return {}
    return content if isinstance(content, dict) else {}


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
        raise TypeError(
            f"a document holds a {type(value).__name__}, which JSON cannot hold: {value!r}"
        )
    return value
