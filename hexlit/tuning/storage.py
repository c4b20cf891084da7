"""The storage of a study: a journal file that survives kills, or a database that may be away for a
while.

The journal is Optuna's. Its lock belongs to the open file, so it is free as soon as its holder
dies. Before each record a last line torn by a kill or a full disk is cut off: Optuna would glue the
record to it, and lose it.
"""

import functools
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote_plus

from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import BaseStorage, JournalStorage, RDBStorage, get_storage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

from hexlit.errors import UsageError
from hexlit.locks import wait_to_hold
from hexlit.tuning.sweep_folder import JOURNAL_FILE

log = logging.getLogger(__name__)

PASSWORD_VARIABLE = "HEXLIT_STORAGE_PASSWORD"
"""Environment variable with the password of a database."""
# SQLAlchemy takes all from the first colon to an @, question marks too.
_PASSWORD = re.compile(r"://[^:/]*:[^@]*@|[?&](?:password|passwd|pwd|sslpassword)=", re.IGNORECASE)

_RECORD_START = b'{"op_code":'
_SQLITE_ARGUMENTS = {"timeout": 60}
"""Seconds that a process waits for others to finish with an SQLite file."""
_SILENCE = 60
"""Seconds of silence that make a server count as gone."""
_POSTGRESQL_ARGUMENTS = {
    "connect_timeout": 5,
    "keepalives_idle": _SILENCE // 2,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
_POSTGRESQL_ARGUMENTS["tcp_user_timeout"] = _SILENCE * 1000
_OPENED_AT_ONCE = re.compile("already exists|duplicate|unique constraint", re.IGNORECASE)
_TRIES = 20
_PAUSE = 0.5
"""Seconds between two attempts at a call."""
_WARN_AFTER = 1.5
"""Seconds of absence before a warning; a deadlock is over sooner."""

Result = TypeVar("Result")


def kind_of(address: str) -> tuple[str, str]:
    """The kind of `address`, such as `sqlite` or `journal`, and the text behind `://`; the kind of
    a path is empty.
    """
    scheme, there, rest = address.partition("://")
    return (scheme.lower().split("+")[0], rest) if there else ("", address)


def file_of(address: str) -> Path | None:
    """The file of a study that has one: a journal, or SQLite's; None for a server."""
    kind, rest = kind_of(address)
    if kind == "sqlite":
        return Path(rest.partition("?")[0].removeprefix("/"))
    return Path(rest) if kind in ("", "journal") else None


def refuse_password(address: str) -> None:
    """Refuse a URL with a password: files and command lines would show it.

    Raises:
        UsageError: there is one; the message does not show it.
    """
    if _PASSWORD.search(address):
        raise UsageError(
            f"hydra.sweeper.storage: leave the password out of the URL; set {PASSWORD_VARIABLE}"
        )


def message_of(error: BaseException) -> str:
    """The driver's message in one line, without the password of the environment."""
    driver_error = getattr(error, "orig", None) or error
    text, _, _ = str(driver_error).partition("(Background on")
    text = " ".join(text.split())
    password = os.environ.get(PASSWORD_VARIABLE)
    if password:
        text = text.replace(password, "***").replace(quote_plus(password), "***")
    return text


class StorageGoneError(UsageError):
    """The database has been away too long."""


@dataclass
class Retry:
    """How long the calls of a process wait for its database; all its threads give up together."""

    seconds: float = 0.0
    ended: threading.Event = field(default_factory=threading.Event)
    """Set when one thread has given up, or from outside; no call waits after that."""
    _since: float | None = None
    _warned: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def call(self, work: Callable[[], Result], url: str) -> Result:
        """The result of `work`, repeated while the database at `url` does not answer.

        Raises:
            StorageGoneError: it was away for all of `seconds`.
        """
        repeated = False
        while True:
            try:
                result = work()
            except UpdateFinishedTrialError:
                if not repeated:
                    raise
                result = True  # type: ignore[assignment]  # the first attempt reached the database, its answer was lost
            except Exception as error:
                cause = next(filter(is_lost, chain_of(error)), None)
                if cause is None:
                    raise
                repeated = True
                self._wait(message_of(cause), url, error)
                continue
            with self._lock:
                if self._since is not None and self._warned:
                    log.warning(
                        "%s: the database answers again, after %.0f s",
                        url,
                        time.monotonic() - self._since,
                    )
                self._since = None
                self._warned = False
            return result

    def _wait(self, cause: str, url: str, error: Exception) -> None:
        with self._lock:
            self._since = self._since or time.monotonic()
            away = time.monotonic() - self._since
            if self.ended.is_set() or away >= self.seconds:
                self.ended.set()
                waited = f" for {away:.0f} s" if away >= 1 else ""
                raise StorageGoneError(
                    f"{url}: the database does not answer{waited}: {cause}"
                ) from error
            if away >= _WARN_AFTER and not self._warned:
                self._warned = True
                log.warning(
                    "%s: the database does not answer (%s); waiting up to %g s",
                    url,
                    cause,
                    self.seconds,
                )
        self.ended.wait(_PAUSE)


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def is_lost(error: BaseException) -> bool:
    """Whether `error` means that the database did not answer."""
    from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

    lost = isinstance(error, OperationalError | InterfaceError)
    return lost or (isinstance(error, DBAPIError) and error.connection_invalidated)


class RetryingStorage:
    """A storage of Optuna whose calls wait for its database by the rule `retry`."""

    def __init__(self, storage: BaseStorage, url: str, retry: Retry) -> None:
        self._storage = storage
        self._url = url
        self.retry = retry

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._storage, name)
        if not callable(value):
            return value

        @functools.wraps(value)
        def call(*arguments: Any, **settings: Any) -> Any:
            return self.retry.call(functools.partial(value, *arguments, **settings), self._url)

        return call


def open_storage(address: str | None, folder: Path, retry: Retry | None = None) -> Any:
    """The storage at `address`, made where it is missing.

    - None: the journal `study.journal` in `folder`
    - a path or `journal:///path`: a journal there; `journal://path` is relative, like a plain path
    - `sqlite:///relative/path`, `sqlite:////absolute/path`, `postgresql://...` or another URL of
      SQLAlchemy: a database

    `retry` limits how long calls to a database wait, the first one included; without it they do not
    wait.

    Raises:
        UsageError: it cannot be opened or read. The message never shows a password.
    """
    if address is None:
        return _open_journal(folder / JOURNAL_FILE)
    kind, rest = kind_of(address)
    return (
        _open_journal(Path(rest))
        if kind in ("", "journal")
        else _open_database(address, kind, retry or Retry())
    )


def _open_database(address: str, kind: str, retry: Retry) -> RetryingStorage:
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import SQLAlchemyError

    refuse_password(address)
    try:
        url = make_url(address)
        if kind == "sqlite" and url.database in (None, "", ":memory:"):
            raise UsageError(
                f"{address}: trials are processes and cannot share a study in memory; give sqlite:///path"
            )
        password = os.environ.get(PASSWORD_VARIABLE)
        if password and kind != "sqlite":
            url = url.set(password=password)
        url = url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url
        arguments = {"sqlite": _SQLITE_ARGUMENTS, "postgresql": _POSTGRESQL_ARGUMENTS}.get(kind, {})
        connect = {name: value for name, value in arguments.items() if name not in url.query}
        whole = url.render_as_string(hide_password=False)
        work = functools.partial(_made, whole, {"connect_args": connect, "pool_pre_ping": True})
        opened = retry.call(work, address) if retry.seconds else work()
        return RetryingStorage(get_storage(opened), address, retry)
    except UsageError:
        raise
    except ImportError as error:
        raise UsageError(
            f"{address}: the driver of this database is not installed ({error.name or error})"
        ) from None
    except (SQLAlchemyError, RuntimeError, ValueError, OSError) as error:
        raise UsageError(f"{address}: the database cannot be used: {message_of(error)}") from None


def _made(url: str, settings: dict[str, Any]) -> RDBStorage:
    """The storage. Processes that open a new database together collide over its tables, and try
    again.
    """
    from sqlalchemy.exc import DBAPIError

    for left in reversed(range(_TRIES)):
        try:
            return RDBStorage(url, engine_kwargs=dict(settings))
        except DBAPIError as error:
            if not left or not _OPENED_AT_ONCE.search(str(error)):
                raise
            time.sleep(0.05 * (1 + os.getpid() % 7))
    raise AssertionError


def _open_journal(path: Path) -> JournalStorage:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        backend = JournalFileBackend(str(path), HealingLock(path))
        with path.open("rb") as file:
            if not _RECORD_START.startswith(file.read(len(_RECORD_START))):
                raise UsageError(
                    f"{path}: this is no journal of a study; give the path of one, or of a new file"
                )
        return JournalStorage(backend)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: the study's journal cannot be read: {error}") from None


class HealingLock(JournalFileOpenLock):
    """The lock of a journal: it cuts off a torn last line before a record is appended."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._path = path

    def acquire(self) -> bool:
        self._file = file = self._path.open("r+b", buffering=0)
        wait_to_hold(file)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 1))
        if file.read(1) not in (b"", b"\n"):
            file.seek(0)
            kept = file.read().rfind(b"\n") + 1
            file.truncate(kept)
            os.fsync(file.fileno())
            log.warning(
                "%s: its last record was torn; %d bytes were cut off", self._path, size - kept
            )
        return True

    def release(self) -> None:
        self._file.close()
