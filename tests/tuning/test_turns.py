"""Processes that share a study in a file begin their trials one after another; servers are tried with the services."""

import errno
import os
import threading
import time
from pathlib import Path
from typing import Any

import optuna
import pytest

from hexlit import locks
from hexlit.tuning import turns
from hexlit.tuning.storage import open_storage
from hexlit.tuning.turns import turn
from tests.tuning.racers import race


@pytest.mark.row("F23")
@pytest.mark.parametrize(("address", "sampler"), [("{}/shared.journal", "random"), ("sqlite:///{}/study.db", "grid")])
def test_processes_that_begin_trials_at_once_begin_no_trial_too_many(
    address: str, sampler: str, tmp_path: Path
) -> None:
    assert race(address.format(tmp_path), tmp_path, sampler, processes=3, trials=9) == list(range(9))


def test_a_study_in_memory_has_nobody_to_wait_for() -> None:
    with turn(optuna.create_study()) as mine:
        assert mine()


def test_the_lock_of_a_turn_lies_beside_the_file_of_the_study(tmp_path: Path) -> None:
    study = optuna.create_study(storage=open_storage(None, tmp_path))
    with turn(study):
        assert sorted(path.name for path in tmp_path.iterdir()) == [".study.journal.lock", "study.journal"]


@pytest.mark.skipif(os.name != "posix", reason="files are held by flock")
def test_a_wait_for_another_process_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(locks, "SAID_AFTER", 0.01)
    study = optuna.create_study(storage=open_storage(None, tmp_path))

    def wait() -> None:
        with turn(study):
            pass

    caplog.clear()
    other = threading.Thread(target=wait)
    with turn(study):
        other.start()
        for _ in range(2000):
            if caplog.records:
                break
            time.sleep(0.01)
    other.join(20)
    (said,) = (record.getMessage() for record in caplog.records)
    assert said.startswith(f"{tmp_path}/.study.journal.lock: ")


@pytest.mark.row("F23")
def test_where_files_cannot_be_locked_a_turn_is_kept_by_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As on some network file systems: one warning, and still one turn at a time."""

    def refuse(file: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    study = optuna.create_study(storage=open_storage(None, tmp_path))
    monkeypatch.setattr(turns, "flock", refuse)
    had: list[str] = []

    def wait() -> None:
        with turn(study):
            had.append("second")

    with turn(study):
        other = threading.Thread(target=wait)
        other.start()
        other.join(0.3)
        had.append("first")
    other.join(20)
    assert had == ["first", "second"]
    assert [record.getMessage() for record in caplog.records if record.name == turns.__name__] == [
        f"{tmp_path}/study.journal: turns are kept by a file, which a kill leaves there for 120 seconds: "
        "No locks available"
    ]
    assert not [path for path in tmp_path.iterdir() if "turn" in path.name]
