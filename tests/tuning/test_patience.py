"""A database that goes away: how long calls wait for it, and what they say. The services try real servers."""

import inspect
import logging
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest
from optuna.storages import RDBStorage, _CachedStorage
from optuna.trial import TrialState
from sqlalchemy.exc import OperationalError, PendingRollbackError

from hexlit.tuning import patience
from hexlit.tuning.address import secrets_of
from hexlit.tuning.patience import Patience, PatientStorage, StorageGoneError, lost_connection

pytestmark = pytest.mark.row("F23")
GONE = OperationalError("SELECT 1", {}, Exception("connection refused,\nindeed"))


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_PAUSE", 0.01)
    monkeypatch.setattr(patience, "_SAID_AFTER", 0.02)


def failing(times: int) -> Iterator[int]:
    for _ in range(times):
        yield 0
    yield 1


def test_a_call_waits_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    answers = failing(6)

    def work() -> int:
        if not next(answers):
            raise optuna.exceptions.StorageInternalError("wrapped") from GONE
        return 7

    waits = Patience(60.0)
    assert waits.call(work, "mysql://host/db") == 7
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert told == [
        "mysql://host/db: the database does not answer (connection refused, indeed); waiting up to 60 s",
        "mysql://host/db: the database answers again, after 0 s",
    ]
    assert waits.back > 0


def test_no_message_shows_a_password(caplog: pytest.LogCaptureFixture) -> None:
    """Drivers may say how they tried to connect."""
    secrets = secrets_of("mysql://me:ge%40heim@host/db")

    def work() -> None:
        raise OperationalError("SELECT 1", {}, Exception(2003, "no way to me:ge%40heim@host with ge@heim"))

    with pytest.raises(StorageGoneError) as given_up:
        Patience(0.1).call(work, "mysql://me:***@host/db", secrets)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert not [text for text in (str(given_up.value), *said) if "heim" in text or "***@host with ***" not in text]


def refused() -> None:
    raise GONE


def test_all_give_up_together() -> None:
    waits = Patience(0.05)
    with pytest.raises(StorageGoneError, match=r"^mysql://host/db: the database does not answer: connection refused"):
        waits.call(refused, "mysql://host/db")
    assert waits.ended.is_set()
    other = Patience(600.0, ended=waits.ended)
    with pytest.raises(StorageGoneError):
        other.call(refused, "mysql://host/db")


def test_who_ends_the_waiting_from_outside_is_heard() -> None:
    waits = Patience(600.0)
    threading.Timer(0.1, waits.ended.set).start()
    with pytest.raises(StorageGoneError):
        waits.call(refused, "mysql://host/db")


def test_another_error_is_not_waited_for() -> None:
    def wrong() -> None:
        raise KeyError("no such trial")

    with pytest.raises(KeyError):
        Patience(600.0).call(wrong, "mysql://host/db")
    assert lost_connection(KeyError()) is None


def test_a_connection_that_is_lost_within_a_transaction_is_lost() -> None:
    """SQLAlchemy then speaks of the transaction, and of the loss only as what it was about."""
    pending = PendingRollbackError("Can't reconnect until invalid transaction is rolled back.")
    pending.__context__ = GONE
    wrapped = optuna.exceptions.StorageInternalError("wrapped")
    wrapped.__cause__ = pending
    assert lost_connection(wrapped) == "connection refused, indeed"


class MysqlError(Exception):
    """Newer drivers tell the SQLSTATE, too."""

    sqlstate = "42000"


class PostgresError(Exception):
    def __init__(self, message: str, state: str | None) -> None:
        super().__init__(message)
        self.sqlstate = state


@pytest.mark.parametrize(
    ("error", "waits"),
    [
        (PostgresError("wrong", "28P01"), False),
        (PostgresError("the server ends", "57P01"), True),
        (PostgresError('connection failed: FATAL:  password authentication failed for user "me"', None), False),
        (PostgresError("connection failed: Connection refused", None), True),
        (PostgresError("connection failed: FATAL:  the database system is starting up", None), True),
        (Exception(1045, "Access denied for user 'me'@'localhost' (using password: YES)"), False),
        (MysqlError(1044, "Access denied for user 'me'@'%' to database 'studies'"), False),
        (MysqlError(1205, "Lock wait timeout exceeded"), True),
    ],
    ids=str,
)
def test_a_refusal_is_not_waited_for(error: Exception, waits: bool) -> None:
    answers = failing(1)

    def work() -> int:
        if not next(answers):
            raise optuna.exceptions.StorageInternalError("wrapped") from OperationalError("SELECT 1", {}, error)
        return 7

    patient = Patience(600.0)
    if waits:
        assert patient.call(work, "mysql://host/db") == 7
    else:
        with pytest.raises(StorageGoneError, match=r"^mysql://host/db: the database cannot be used: "):
            patient.call(work, "mysql://host/db")
        assert patient.ended.is_set()


def test_every_call_of_optunas_cache_is_patient() -> None:
    called = set(re.findall(r"self\._backend\.(\w+)", inspect.getsource(_CachedStorage)))
    # The study is made when the server has just answered; nothing asks for heartbeats, or deletes.
    other = {"create_new_study", "delete_study", "_get_best_trial_id", "record_heartbeat"}
    heartbeats = {name for name in called if "heartbeat" in name or "stale" in name}
    impatient = {name for name in called if getattr(PatientStorage, name) is getattr(RDBStorage, name)}
    assert impatient <= other | heartbeats


def test_an_end_that_reached_the_database_though_its_answer_was_lost_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = PatientStorage(f"sqlite:///{tmp_path}/study.db", {}, shown="study", patience=Patience(60.0))
    study = optuna.create_study(storage=storage)
    trial = study.ask()
    inner, lost = RDBStorage.set_trial_state_values, [True]

    def answer_lost(self: RDBStorage, *arguments: object) -> bool:
        answer = inner(self, *arguments)  # type: ignore[arg-type]
        if lost.pop() if lost else False:
            raise GONE
        return answer

    monkeypatch.setattr(RDBStorage, "set_trial_state_values", answer_lost)
    study.tell(trial, 0.5)
    assert [(found.state, found.value) for found in study.get_trials()] == [(TrialState.COMPLETE, 0.5)]
    with pytest.raises(optuna.exceptions.UpdateFinishedTrialError):
        storage.set_trial_state_values(trial._trial_id, TrialState.COMPLETE, [0.5])
