"""Turns: processes that work on one study begin their trials one after another.

This keeps the number of trials exact, draws no point of a grid twice, and repeats an interrupted trial only once. A
turn ends with its holder, even after a kill: it is a server's lock for a connection, or the system's lock for a file.
A file system without locks is the exception, see `_of_file`.
"""

import contextlib
import functools
import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optuna.storages import RDBStorage
from optuna.storages.journal import JournalFileOpenLock

from hexlit.tuning.patience import PatientStorage
from hexlit.tuning.storage import NO_LOCKS, HealingJournal, flock

if TYPE_CHECKING:
    from optuna import Study
    from sqlalchemy import Connection

log = logging.getLogger(__name__)

_LOOK_EVERY = 0.1
_LONG = 60.0
"""Seconds of waiting before a line says so."""
_LONGEST = 600
"""Seconds of silence before a server takes the turn from a process, whose machine is probably gone."""
_LEFT_BEHIND = 120
"""Seconds before a file that keeps a turn counts as left behind; a turn lasts a second or two."""
_NAMESPACE = 1_751_607_148
"""Separates these locks from others in the same PostgreSQL database."""


@contextmanager
def turn(study: "Study") -> Iterator[Callable[[], bool]]:
    """Wait until no other process is in such a block for `study`.

    Gives a function that says whether the turn still holds: a server that was away has forgotten it.

    Raises:
        StorageGoneError: the server has been away for too long.
        OSError: no file can be made beside the study's file.
    """
    storage = getattr(study._storage, "_backend", study._storage)
    if isinstance(storage, PatientStorage):
        with _of_server(storage, study._study_id) as mine:
            yield mine
        return
    path = _file_of(storage)
    with contextlib.nullcontext() if path is None else _of_file(path):
        yield lambda: True


def _file_of(storage: Any) -> Path | None:
    """The file of a study; None for one in memory."""
    if isinstance(storage, HealingJournal):
        return storage.path
    if isinstance(storage, RDBStorage):
        from sqlalchemy import text

        with storage.engine.connect() as connection:
            path = connection.execute(text("PRAGMA database_list")).all()[0][2]
        return Path(path) if path else None
    return None


@contextmanager
def _of_file(path: Path) -> Iterator[None]:
    """Alone with the study in `path`, by a lock on a file beside it, or by the file itself where there are no locks."""
    lock = path.with_name(f".{path.name}.lock")
    with contextlib.ExitStack() as held:
        try:
            flock(held.enter_context(lock.open("ab")))
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            _warn_once(path, str(error.strerror))
            beside = JournalFileOpenLock(str(path.with_name(f".{path.name}.turn")), grace_period=_LEFT_BEHIND)
            beside.acquire()
            held.callback(beside.release)
        yield


@functools.cache
def _warn_once(path: Path, why: str) -> None:
    log.warning("%s: turns are kept by a file, which a kill leaves there for %d seconds: %s", path, _LEFT_BEHIND, why)


@contextmanager
def _of_server(storage: PatientStorage, study_id: int) -> Iterator[Callable[[], bool]]:
    lock = _Lock(storage, study_id)
    began, message = time.monotonic(), False
    try:
        while not storage.patiently(lock.take):
            if time.monotonic() - began > _LONG and not message:
                message = True
                log.warning("%s: waiting for another process that is about to begin a trial", storage.shown)
            time.sleep(_LOOK_EVERY)
        yield lock.mine
    finally:
        lock.release()


class _Lock:
    """A lock that a server keeps for one connection; without the connection it is free."""

    def __init__(self, storage: PatientStorage, study_id: int) -> None:
        self._engine = storage.engine
        self._connection: Connection | None = None
        if self._engine.dialect.name == "postgresql":
            # In a transaction: poolers of connections share sessions.
            self._first = f"SET LOCAL idle_in_transaction_session_timeout = '{_LONGEST}s'"
            self._take = f"SELECT pg_try_advisory_xact_lock({_NAMESPACE}, {study_id})"
            self._check, self._free = "SELECT true", "ROLLBACK"
        else:
            # All databases of a server share one space of lock names.
            database = hashlib.sha256(str(self._engine.url.database).encode()).hexdigest()[:16]
            name = f"'hexlit-{database}-{study_id}'"
            self._first = f"SET SESSION wait_timeout = {_LONGEST}"
            self._take = f"SELECT GET_LOCK({name}, 0)"
            self._check = f"SELECT IS_USED_LOCK({name}) = CONNECTION_ID()"
            self._free = f"DO RELEASE_LOCK({name})"

    def take(self) -> bool:
        """Try to take the lock: whether that succeeded."""
        try:
            if self._connection is None:
                self._connection = self._engine.connect()
                self._run(self._first)
            return bool(self._run(self._take).scalar())
        except Exception:
            self._drop()
            raise

    def mine(self) -> bool:
        """Whether the server still keeps the lock for this process."""
        try:
            return bool(self._run(self._check).scalar())
        except Exception as error:
            log.debug("the turn is lost: %s", error)
            self._drop()
            return False

    def release(self) -> None:
        """Release the lock for others."""
        if self._connection is None:
            return
        try:
            self._run(self._free)
            self._connection.close()
        except Exception as error:
            log.debug("the turn ends with its connection: %s", error)
            self._drop()

    def _run(self, statement: str) -> Any:
        from sqlalchemy import text

        assert self._connection is not None
        return self._connection.execute(text(statement))

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):
                connection.invalidate()
                connection.close()
