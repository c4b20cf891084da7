"""A database that goes away: how long calls wait for it,
and what they say. The services try real servers.
"""

import logging
from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest
from optuna.storages import RDBStorage
from optuna.trial import TrialState
from sqlalchemy.exc import OperationalError

from hexlit.tuning import storage
from hexlit.tuning.storage import Retry, StorageGoneError, open_storage

GONE = OperationalError("SELECT 1", {}, Exception("connection refused,\nindeed"))


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "_PAUSE", 0.01)
    monkeypatch.setattr(storage, "_WARN_AFTER", 0.02)


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

    waits = Retry(60.0)
    assert waits.call(work, "mysql://host/db") == 7
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert told == [
        "mysql://host/db: the database does not answer (connection refused, indeed); waiting up to 60 s",
        "mysql://host/db: the database answers again, after 0 s",
    ]


def test_no_message_shows_the_password(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drivers may say how they tried to connect."""
    monkeypatch.setenv("HEXLIT_STORAGE_PASSWORD", "ge@heim")

    def work() -> None:
        raise OperationalError("SELECT 1", {}, Exception("me:ge%40heim@host with ge@heim"))

    with pytest.raises(StorageGoneError) as given_up:
        Retry(0.1).call(work, "mysql://me@host/db")
    for text in (str(given_up.value), *(record.getMessage() for record in caplog.records)):
        assert "me:***@host with ***" in text


def refused() -> None:
    raise GONE


def test_all_give_up_together() -> None:
    waits = Retry(0.05)
    with pytest.raises(
        StorageGoneError,
        match=r"^mysql://host/db: the database does not answer: connection refused",
    ):
        waits.call(refused, "mysql://host/db")
    assert waits.ended.is_set()
    other = Retry(600.0, ended=waits.ended)
    with pytest.raises(StorageGoneError):
        other.call(refused, "mysql://host/db")
    with pytest.raises(ZeroDivisionError):
        Retry(600.0).call(lambda: 1 // 0, "mysql://host/db")


def test_an_end_that_reached_the_database_though_its_answer_was_lost_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_storage(f"sqlite:///{tmp_path}/study.db", tmp_path, Retry(60.0))
    study = optuna.create_study(storage=opened)
    trial = study.ask()
    inner, lost = RDBStorage.set_trial_state_values, [True]

    def answer_lost(self: RDBStorage, *arguments: object, **settings: object) -> bool:
        answer = inner(self, *arguments, **settings)  # type: ignore[arg-type]
        if lost.pop() if lost else False:
            raise GONE
        return answer

    monkeypatch.setattr(RDBStorage, "set_trial_state_values", answer_lost)
    study.tell(trial, 0.5)
    assert [(found.state, found.value) for found in study.get_trials()] == [
        (TrialState.COMPLETE, 0.5)
    ]
    with pytest.raises(optuna.exceptions.UpdateFinishedTrialError):
        opened.set_trial_state_values(trial._trial_id, TrialState.COMPLETE, [0.5])
