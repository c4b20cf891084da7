"""The storage of a study: a journal file that survives kills, or a database.

The journal is Optuna's: one record per line, in JSON, read by Optuna's own tools. Two things differ from Optuna's
file backend. The lock belongs to the open file: it is free as soon as its holder dies, and no lock file remains.
A last line torn by a kill or a full disk is cut off before the next record is written. Otherwise the next record
would be glued to it, and the file could no longer be read.
"""

import errno
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import BaseJournalBackend, JournalFileOpenLock

from hexlit.errors import UsageError
from hexlit.locks import wait_to_hold
from hexlit.tuning.address import SERVERS, hidden_password, kind_of
from hexlit.tuning.patience import Patience
from hexlit.tuning.sweep_folder import JOURNAL_FILE

try:
    import fcntl
except ImportError:  # Windows: Optuna's own lock is used there
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger(__name__)

_BLOCK = 65536
_RECORD_START = b'{"op_code":'
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)
"""Error numbers of file systems, and systems, that cannot lock open files."""


def open_storage(address: str | None, folder: Path, patience: Patience | None = None) -> BaseStorage:
    """The storage at `address`, made where it is missing.

    - None: the journal `study.journal` in `folder`
    - a path or `journal:///path`: a journal there; `journal://path` is relative, like a plain path
    - `sqlite:///relative/path`, `sqlite:////absolute/path`, `postgresql://...`, `mysql://...`: a database

    `patience` says how long calls to a server wait; without it they do not wait.

    Raises:
        UsageError: it cannot be opened or read. The message never shows a password.
    """
    if address is None:
        return _open_journal(folder / JOURNAL_FILE)
    kind, rest = kind_of(address)
    if kind in ("", "journal"):
        return _open_journal(Path(rest))
    if kind in ("sqlite", *SERVERS):
        from hexlit.tuning.database import open_database

        return open_database(address, kind, patience)
    raise UsageError(
        f"{hidden_password(address)}: {kind} is no storage; give a path, journal:///path, sqlite:///path, "
        "postgresql://... or mysql://..."
    )


class HealingJournal(BaseJournalBackend):
    """A study's journal file, for any number of processes that read and write it at once."""

    def __init__(self, path: Path) -> None:
        """Open the journal at `path`, made where it is missing, and cut off a torn end.

        A read-only file is left as it is. Raises `UsageError` when it cannot be opened.
        """
        self.path = path
        self._own_lock: JournalFileOpenLock | None = None
        self._position = (0, 0)  # number of records read, and where the next begins
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with self.held(create=True) as file:
                _heal(file, path)
        except OSError as error:
            read_only = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
            if not (read_only and path.is_file() and os.access(path, os.R_OK)):
                raise UsageError(f"{path}: the study's journal cannot be opened: {error.strerror or error}") from None

    @contextmanager
    def held(self, create: bool = False) -> Iterator[IO[bytes]]:
        """The open file, locked against all other writers; its position is undefined."""
        flags = os.O_RDWR | (os.O_CREAT if create else 0) | getattr(os, "O_BINARY", 0)
        with open(self.path, "r+b", buffering=0, opener=lambda name, _: os.open(name, flags, 0o666)) as file:
            if self._own_lock is None:
                try:
                    flock(file)
                except OSError as error:
                    if error.errno not in NO_LOCKS:
                        raise
                    log.warning(
                        "%s: locked by a file beside it, which a kill leaves there for 30 seconds: %s",
                        self.path,
                        error.strerror,
                    )
                    self._own_lock = JournalFileOpenLock(str(self.path))
            if self._own_lock is not None:
                self._own_lock.acquire()
            try:
                yield file
            finally:
                if self._own_lock is not None:
                    self._own_lock.release()
                else:
                    # Not left to the closing: a child forked meanwhile has a copy of the descriptor.
                    fcntl.flock(file, fcntl.LOCK_UN)

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Write records at the end, on disk when this returns; raises `OSError` when they cannot be written."""
        lines = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in logs).encode("utf-8")
        with self.held() as file:
            _heal(file, self.path)
            file.seek(0, os.SEEK_END)
            try:
                waiting = memoryview(lines)
                while waiting:
                    waiting = waiting[file.write(waiting) :]
                os.fsync(file.fileno())
            except OSError:
                # Whole lines stay: other processes may have read them already.
                _cut(file, len(_torn_end(file)))
                raise

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:
        """The records from number `log_number_from` on; an unfinished line is left out.

        Raises `UsageError` with the number of the line when a line is no record.
        """
        number, offset = self._position if self._position[0] <= log_number_from else (0, 0)
        with self.path.open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
            # One read, cut at its last line end: later bytes may be torn, cut off and replaced at any time.
            chunk = file.read(max(0, size - offset))
        for line in chunk.split(b"\n")[:-1]:
            if number >= log_number_from:
                record = _record(line)
                if record is None:
                    record = self._read_held(number, offset)
                self._position = (number + 1, offset + len(line) + 1)
                yield record
            number += 1
            offset += len(line) + 1

    def _read_held(self, number: int, offset: int) -> dict[str, Any]:
        """The record at `offset`, read while no process writes: a repair may have mixed up an earlier read."""
        with self.path.open("rb") as reader:
            try:
                with self.held():
                    reader.seek(offset)
                    line = reader.readline()
            except OSError:
                reader.seek(offset)
                line = reader.readline()
        record = _record(line)
        if record is None:
            raise UsageError(
                f"{self.path}, line {number + 1}: this is no record of a study; restore the file, or remove the line"
            )
        return record


def flock(file: IO[bytes]) -> None:
    """Wait until this process alone holds the open file; raises `OSError` where files cannot be locked."""
    if fcntl is not None:
        wait_to_hold(file)
        return
    raise OSError(errno.ENOSYS, "this system has no flock")


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and "op_code" in record else None


def _heal(file: IO[bytes], path: Path) -> None:
    """Cut off an unfinished last line, with a warning; raises `UsageError` when it was never a record."""
    torn = _torn_end(file)
    if not torn:
        return
    # A power failure may leave zeros. Any other content belongs to another file, named by mistake.
    if not (_RECORD_START.startswith(torn[: len(_RECORD_START)]) or torn.strip(b"\0") == b""):
        raise UsageError(f"{path}: its last line is no record of a study; give the path of a journal, or of a new file")
    _cut(file, len(torn))
    log.warning("%s: its last record was torn by a kill or a full disk; %d bytes were cut off", path, len(torn))


def _torn_end(file: IO[bytes]) -> bytes:
    """The bytes after the last line end."""
    end = file.seek(0, os.SEEK_END)
    torn = b""
    while end > 0 and b"\n" not in torn:
        start = max(0, end - (_BLOCK if torn else 1))
        file.seek(start)
        torn = file.read(end - start) + torn
        end = start
    return torn[torn.rfind(b"\n") + 1 :]


def _cut(file: IO[bytes], count: int) -> None:
    file.truncate(file.seek(0, os.SEEK_END) - count)
    os.fsync(file.fileno())


def _open_journal(path: Path) -> BaseStorage:
    if path.is_dir():
        raise UsageError(f"{path}: this is a folder; give the path of the journal file in it")
    return JournalStorage(HealingJournal(path))
