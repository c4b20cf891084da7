"""Locks on files: each has one holder, any end of the holder frees it, and a long wait for it is said."""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from hexlit.errors import UsageError

try:
    import fcntl
except ImportError:  # Windows: files are not held there
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger(__name__)

LOCK = ".lock"

SAID_AFTER = 2.0
"""Seconds of waiting before a line says so."""


def hold(file: IO[Any]) -> bool:
    """Lock the open `file` until it is closed; False if another process holds it already.

    Any end of the process frees it.
    """
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def wait_to_hold(file: IO[Any]) -> None:
    """As `hold`, but wait for other holders. After two seconds one warning names the file.

    Raises:
        OSError: the file system has no locks.
    """
    if hold(file):
        return
    message = "%s: another process holds this file; waiting until it is free"
    saying = threading.Timer(SAID_AFTER, log.warning, [message, file.name])
    saying.daemon = True
    saying.start()
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
    finally:
        saying.cancel()


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, made with its folders, after waiting for all other processes that hold it.

    Raises:
        OSError: the file cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as lock:
        wait_to_hold(lock)
        yield


class FolderLock:
    """The right to write in a folder, held until `release`, the end of a `with` block, or the end of the process.

    The file `.lock` stays in the folder: removing it could let two processes in.
    """

    def __init__(self, folder: Path, doing: str = "at work") -> None:
        """Take the lock of `folder`, which exists.

        Raises:
            UsageError: another process has it; the message says what it is `doing` there.
            OSError: no file can be made there.
        """
        self._path = folder / LOCK
        self._file = self._path.open("ab")
        if not hold(self._file):
            self._file.close()
            raise UsageError(f"{folder}: another process is {doing} here; wait for its end, or end it")

    def stands(self) -> bool:
        """Whether the locked folder still exists; it may have been removed."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        except OSError:
            return False

    def release(self) -> None:
        """Free the lock."""
        self._file.close()

    def __enter__(self) -> "FolderLock":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()
