"""Locks on files and objects.

A file's lock has one holder, any end of the holder frees it, and a long wait for it is logged.
Objects with scratch memory serve one thread at a time: the others wait, or are refused.
"""

import fcntl
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, wraps
from pathlib import Path
from typing import IO, Any, Concatenate, ParamSpec, TypeVar

from hexlit.errors import UsageError

log = logging.getLogger(__name__)

LOCK = ".lock"

WARN_AFTER = 2.0
"""Seconds of waiting before a warning."""


def hold(file: IO[Any]) -> bool:
    """Lock the open `file` until it is closed; False if another process holds it already.

    Any end of the process frees it.

    Raises:
        OSError: the file system has no locks.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_to_hold(file: IO[Any]) -> None:
    """As `hold`, but wait for other holders.

    The first wait of this process for a file that takes two seconds logs one warning with its name.
    """
    if hold(file):
        return
    warning = threading.Timer(WARN_AFTER, _warn_of_waiting, [file.name])
    warning.daemon = True
    warning.start()
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
    finally:
        warning.cancel()


@cache
def _warn_of_waiting(name: str) -> None:
    log.warning("%s: another process holds this file; waiting until it is free", name)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, made with its folders, after waiting for all other processes that
    hold it.

    Raises:
        OSError: the file cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as lock:
        wait_to_hold(lock)
        yield


class FolderLock(ExitStack):
    """The right to write in a folder, held until `close`, the end of a `with` block, or the end of
    the process.

    The file `.lock` stays in the folder: removing it could let two processes in.
    """

    def __init__(self, folder: Path, doing: str = "at work") -> None:
        """Take the lock of `folder`, which exists.

        Raises:
            UsageError: another process has it; the message names what it is `doing` there.
            OSError: no file can be made there, or the file system has no locks.
        """
        super().__init__()
        self._file = self.enter_context((folder / LOCK).open("ab"))
        if not hold(self._file):
            self.close()
            raise UsageError(
                f"{folder}: another process, or an open store of this one, is {doing} here; end or close it"
            )

    def stands(self) -> bool:
        """Whether the locked folder still exists; it may have been removed."""
        path = Path(self._file.name)
        return path.exists() and os.path.samestat(os.fstat(self._file.fileno()), path.stat())


class Guarded:
    """Base of objects with scratch memory, which one thread may use at a time; see `in_turn` and
    `by_one_thread`.
    """

    def __init__(self) -> None:
        """Nobody uses the object yet."""
        self.guard = threading.RLock()


P = ParamSpec("P")
R = TypeVar("R")
G = TypeVar("G", bound=Guarded)


def in_turn(method: Callable[Concatenate[G, P], R]) -> Callable[Concatenate[G, P], R]:
    """A method that waits until no other thread is inside one of the object's methods."""

    @wraps(method)
    def waiting(self: G, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self.guard:
            return method(self, *args, **kwargs)

    return waiting


def by_one_thread(method: Callable[Concatenate[G, P], R]) -> Callable[Concatenate[G, P], R]:
    """A method that refuses to start while another thread is inside one of the object's methods.

    Raises:
        UsageError: it does so.
    """

    @wraps(method)
    def refusing(self: G, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if not self.guard.acquire(blocking=False):
            raise UsageError(
                f"{type(self).__name__}.{method.__name__}: another thread uses it; make one per thread"
            )
        try:
            return method(self, *args, **kwargs)
        finally:
            self.guard.release()

    return refusing
