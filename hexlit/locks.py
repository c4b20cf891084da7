"""One folder, one process: a lock file that any end of its holder frees."""

import os
from pathlib import Path
from types import TracebackType

from hexlit.errors import UsageError
from hexlit.files import hold

LOCK = ".lock"


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
