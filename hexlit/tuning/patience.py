"""A database that may be away for a while: every call waits for it, says so once, and gives up in the end."""

import functools
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.trial import TrialState

from hexlit.errors import UsageError
from hexlit.tuning.address import secrets_of, without
from hexlit.tuning.sqlstate import tell_sqlstate

log = logging.getLogger(__name__)

Result = TypeVar("Result")

_PAUSE = 0.5
"""Seconds between two attempts."""
_SAID_AFTER = 1.5
"""Seconds of absence before a line says so; a deadlock is over sooner."""
_CALLS = (
    "set_study_user_attr",
    "set_study_system_attr",
    "get_study_id_from_name",
    "get_study_name_from_id",
    "get_study_directions",
    "get_study_user_attrs",
    "get_study_system_attrs",
    "get_all_studies",
    "_create_new_trial",
    "set_trial_param",
    "_set_trial_param",
    "get_trial_param",
    "set_trial_intermediate_value",
    "set_trial_user_attr",
    "set_trial_system_attr",
    "get_trial_id_from_study_id_trial_number",
    "get_trial",
    "_get_trials",
    "get_best_trial",
)
"""Calls that may be repeated. A trial created twice has no watcher the second time, and counts as interrupted."""


_REFUSALS = re.compile(
    r"password authentication failed|no password supplied|no pg_hba\.conf entry|(database|role) \".*\" does not exist"
)
"""PostgreSQL's refusals in English, for errors without an SQLSTATE; see `hexlit.tuning.sqlstate`."""
_MYSQL_REFUSALS = {1044, 1045, 1049}
"""No right to the database, a wrong name or password, no such database."""


class StorageGoneError(UsageError):
    """The database has been away too long."""


@dataclass
class Patience:
    """How long a process waits for its database; all its threads give up together."""

    seconds: float = 0.0
    ended: threading.Event = field(default_factory=threading.Event)
    """Set when one thread has given up, or from outside; no call waits after that."""
    back: float = 0.0
    """When the database last came back, in seconds since 1970."""
    _since: float | None = field(default=None, init=False)
    _said: bool = field(default=False, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def call(self, work: Callable[[], Result], shown: str, secrets: Sequence[str] = ()) -> Result:
        """The result of `work`, repeated while the database does not answer.

        Messages name the database as `shown`; the driver's texts appear without `secrets`.

        Raises:
            StorageGoneError: it was away for all of `seconds`, or refused its user.
        """
        while True:
            try:
                result = work()
            except Exception as error:
                cause = lost_connection(error)
                if cause is None:
                    raise
                cause = without(secrets, cause)
                if is_refusal(error):
                    self.ended.set()
                    raise StorageGoneError(f"{shown}: the database cannot be used: {cause}") from error
                self._wait(cause, shown)
            else:
                self._answered(shown)
                return result

    def _wait(self, cause: str, shown: str) -> None:
        now = time.monotonic()
        with self._lock:
            self._since = now if self._since is None else self._since
            away = now - self._since
            if self.ended.is_set() or away >= self.seconds:
                self.ended.set()
                waited = f" for {away:.0f} s" if away >= 1 else ""
                raise StorageGoneError(f"{shown}: the database does not answer{waited}: {cause}")
            if away >= _SAID_AFTER and not self._said:
                self._said = True
                log.warning("%s: the database does not answer (%s); waiting up to %g s", shown, cause, self.seconds)
        self.ended.wait(_PAUSE)

    def _answered(self, shown: str) -> None:
        if self._since is None:
            return
        with self._lock:
            if self._since is not None and self._said:
                log.warning("%s: the database answers again, after %.0f s", shown, time.monotonic() - self._since)
            self._since, self._said, self.back = None, False, time.time()


def lost_connection(error: BaseException) -> str | None:
    """Why the database did not answer, in one line; None for an error with another cause."""
    from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

    for result in _chain(error):
        if isinstance(result, DBAPIError) and (
            result.connection_invalidated or isinstance(result, OperationalError | InterfaceError)
        ):
            return said_by(result)
    return None


def is_refusal(error: BaseException) -> bool:
    """Whether the server refused the name, the password or the database: waiting changes nothing."""
    for result in (getattr(one, "orig", None) for one in _chain(error)):
        number = result.args[0] if result is not None and result.args else None
        if isinstance(number, int):  # its SQLSTATE says less: any statement that is wrong has the same
            return number in _MYSQL_REFUSALS
        state = getattr(result, "sqlstate", None) or getattr(result, "pgcode", None)
        if state is not None:
            return str(state).startswith("28") or state == "3D000"
        if result is not None:
            return bool(_REFUSALS.search(str(result)))
    return False


def said_by(error: BaseException) -> str:
    """The driver's message, in one line."""
    cause = getattr(error, "orig", None) or error
    return " ".join(str(cause).split("(Background on")[0].split())


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    from sqlalchemy.exc import PendingRollbackError

    while error is not None:
        yield error
        # A session that loses its connection between two statements says only that it has to be rolled back.
        error = error.__cause__ or (error.__context__ if isinstance(error, PendingRollbackError) else None)


class PatientStorage(RDBStorage):
    """Optuna's storage in a server's database. Each call waits for the server as `patience` says."""

    def __init__(self, url: str, engine_kwargs: dict[str, Any], *, shown: str, patience: Patience) -> None:
        """Open the database at `url`, which is `shown` without its password."""
        self.shown = shown
        self.patience = patience
        self._secrets = secrets_of(url)
        super().__init__(url, engine_kwargs=engine_kwargs)
        tell_sqlstate(self.engine)

    def patiently(self, work: Callable[[], Result]) -> Result:
        """The result of `work` with this database; see `Patience.call`."""
        return self.patience.call(work, self.shown, self._secrets)

    def set_trial_state_values(self, trial_id: int, state: TrialState, values: Sequence[float] | None = None) -> bool:
        attempts = 0

        def work() -> bool:
            nonlocal attempts
            attempts += 1
            try:
                return RDBStorage.set_trial_state_values(self, trial_id, state, values)
            except UpdateFinishedTrialError:
                if attempts > 1 and RDBStorage.get_trial(self, trial_id).state == state:
                    return True  # the first attempt reached the database, and its answer was lost
                raise

        return self.patiently(work)


def _patient(name: str) -> Callable[..., Any]:
    inner = getattr(RDBStorage, name)

    @functools.wraps(inner)
    def method(self: PatientStorage, *arguments: Any, **settings: Any) -> Any:
        return self.patiently(functools.partial(inner, self, *arguments, **settings))

    return method


for _name in _CALLS:
    setattr(PatientStorage, _name, _patient(_name))
