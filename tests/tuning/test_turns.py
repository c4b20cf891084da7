"""Processes that share a study in a file begin their trials one after another; servers are tried with the services."""

from pathlib import Path

import optuna
import pytest

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
