"""A study as other programs read it."""

import warnings
from pathlib import Path

import optuna
import pytest

from hexlit.tuning.study import create_study


@pytest.mark.row("C22")
def test_programs_that_show_studies_know_the_objectives_by_name(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        create_study(
            "s",
            None,
            tmp_path,
            ["maximize"],
            optuna.samplers.RandomSampler(),
            optuna.pruners.NopPruner(),
            resume=False,
            objectives=["strength.score"],
        )
    storage = optuna.storages.journal.JournalFileBackend(str(tmp_path / "study.journal"))
    found = optuna.load_study(study_name="s", storage=optuna.storages.JournalStorage(storage))
    assert found.metric_names == ["strength.score"]
