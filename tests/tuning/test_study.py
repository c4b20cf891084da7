"""A study as other programs read it."""

import warnings
from pathlib import Path
from typing import Any

import optuna
import pytest

from hexlit.errors import UsageError
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


def made(folder: Path, **settings: Any) -> optuna.Study:
    """A study in a journal that several folders share."""
    terms = {"sweep.objective": "['score']", "the space of lr": "FloatDistribution(1)"}
    given: dict[str, Any] = {"resume": False, "terms": terms}
    samplers = optuna.samplers.RandomSampler(), optuna.pruners.NopPruner()
    return create_study("s", str(folder / "shared.journal"), folder, ["maximize"], *samplers, **(given | settings))


@pytest.mark.row("C10")
def test_a_study_is_joined_only_where_asked_and_on_its_terms(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"sweep.join=true: there is no study s in .*; the process that begins it omits"
    ):
        made(tmp_path, join=True)
    begun = made(tmp_path)
    with pytest.raises(UsageError, match=r"this study exists already in .*; add sweep.join=true to work on it too"):
        made(tmp_path)
    assert made(tmp_path, join=True).study_name == begun.study_name
    space = {"sweep.objective": "['score']", "the space of lr": "FloatDistribution(2)"}
    told = r"sweep.join=true: the space of lr is FloatDistribution\(2\), but FloatDistribution\(1\) in the study s"
    with pytest.raises(UsageError, match=told):
        made(tmp_path, join=True, terms=space)
    with pytest.raises(UsageError, match="sweep.join=true: sweep.objective is None, but"):
        made(tmp_path, join=True, terms={})
