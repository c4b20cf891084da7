"""A study as other programs read it."""

import threading
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import optuna
import pytest

from hexlit.errors import UsageError
from hexlit.tuning import study
from hexlit.tuning.storage import Retry
from hexlit.tuning.study import create_study


@pytest.mark.row("C22")
def test_programs_that_show_studies_know_the_objectives_by_name(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        create_study(plan_in(tmp_path, storage=None), optuna.samplers.RandomSampler(), Retry())
    storage = optuna.storages.journal.JournalFileBackend(str(tmp_path / "study.journal"))
    found = optuna.load_study(study_name="s", storage=optuna.storages.JournalStorage(storage))
    assert found.metric_names == ["strength.score"]


def plan_in(folder: Path, *, join: bool = False, **settings: Any) -> Any:
    terms = {"sweep.objective": "['score']", "the space of lr": "FloatDistribution(1)"}
    given = {"study_name": "s", "storage": str(folder / "shared.journal"), "folder": folder, "directions": ["maximize"]}
    given |= {"objectives": ["strength.score"], "pruner": optuna.pruners.NopPruner(), "resume": False, "terms": terms}
    return SimpleNamespace(judged=SimpleNamespace(join=join), **(given | settings))


def made(folder: Path, **settings: Any) -> optuna.Study:
    """A study in a journal that several folders share."""
    return create_study(plan_in(folder, **settings), optuna.samplers.RandomSampler(), Retry())


@pytest.mark.row("C10")
def test_a_study_is_joined_only_where_asked_and_on_its_terms(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"sweep.join=true: there is no study s in .*"):
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


@pytest.mark.row("F23")
def test_who_joins_a_study_that_was_just_made_waits_for_its_terms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who begins a study names its terms a moment after it is there; a kill may come between."""
    with monkeypatch.context() as killed:
        killed.setattr(optuna.Study, "set_user_attr", lambda *_: None)
        begun = made(tmp_path)
    monkeypatch.setattr(study, "_BEGINNING", 0.1)
    with pytest.raises(UsageError, match=r"^sweep.join=true: sweep.objective is .*, but None in the study s"):
        made(tmp_path, join=True)
    monkeypatch.setattr(study, "_BEGINNING", 60.0)
    said = threading.Timer(0.5, lambda: made(tmp_path, resume=True))
    said.start()
    assert made(tmp_path, join=True).user_attrs["terms"]["sweep.objective"] == "['score']"
    said.join()
    assert begun.user_attrs["terms"]
