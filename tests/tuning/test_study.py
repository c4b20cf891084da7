"""A study as other programs read it."""

import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import optuna
import pytest

from hexlit.errors import UsageError
from hexlit.tuning import shared_trials
from hexlit.tuning.config import SweepConfig
from hexlit.tuning.results import read_results
from hexlit.tuning.storage import Retry, open_storage
from hexlit.tuning.study import create_study
from hexlit.tuning.trial import RunningTrial, TrialTicket
from tests.tuning.racers import race
from tests.tuning.sweeps import make_sweep


def test_programs_that_show_studies_know_the_objectives_by_name(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        create_study(plan_in(tmp_path, storage=None), optuna.samplers.RandomSampler(), Retry())
    storage = optuna.storages.journal.JournalFileBackend(str(tmp_path / "study.journal"))
    found = optuna.load_study(study_name="s", storage=optuna.storages.JournalStorage(storage))
    assert found.metric_names == ["strength.score"]


def plan_in(folder: Path, *, join: bool = False, **settings: Any) -> Any:
    terms = {"sweep.objective": "['score']", "the space of lr": "FloatDistribution(1)"}
    storage = settings.pop("storage", str(folder / "shared.journal"))
    judged = SweepConfig(join=join, resume=settings.pop("resume", False))
    given = {
        "study_name": "s",
        "folder": folder,
        "pruner": optuna.pruners.NopPruner(),
        "terms": terms,
    }
    given |= {"objectives": ["strength.score"], "judged": judged}
    given["settings"] = SimpleNamespace(storage=storage, direction=["maximize"])
    return SimpleNamespace(**(given | settings))


def made(folder: Path, **settings: Any) -> optuna.Study:
    """A study in a journal that several folders share."""
    return create_study(plan_in(folder, **settings), optuna.samplers.RandomSampler(), Retry())


def test_a_study_is_joined_only_where_asked_and_on_its_terms(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"sweep.join=true: there is no study s in .*"):
        made(tmp_path, join=True)
    begun = made(tmp_path)
    with pytest.raises(
        UsageError, match=r"this study exists already in .*; add sweep.join=true to work on it too"
    ):
        made(tmp_path)
    assert made(tmp_path, join=True).study_name == begun.study_name
    space = {"sweep.objective": "['score']", "the space of lr": "FloatDistribution(2)"}
    told = r"sweep.join=true: the space of lr is FloatDistribution\(2\), but FloatDistribution\(1\) in the study s"
    with pytest.raises(UsageError, match=told):
        made(tmp_path, join=True, terms=space)
    told = told.replace("join", "resume")
    with pytest.raises(UsageError, match=told):
        made(tmp_path, resume=True, terms=space)
    with pytest.raises(
        UsageError, match=r"sweep.resume=true: the space of lr is None, but FloatDistribution\(1\)"
    ):
        made(tmp_path, resume=True, terms={"sweep.objective": "['score']"})
    with pytest.raises(UsageError, match="sweep.join=true: sweep.objective is None, but"):
        made(tmp_path, join=True, terms={})


def test_a_resumed_sweep_makes_the_study_that_it_had_no_time_to_make(tmp_path: Path) -> None:
    """But none in place of a study that is gone: its trials have left folders."""
    assert made(tmp_path, resume=True).metric_names == ["strength.score"]
    (tmp_path / "shared.journal").unlink()
    (tmp_path / "trial-000").mkdir()
    with pytest.raises(UsageError, match=r"sweep.resume=true: there is no study s in .*"):
        made(tmp_path, resume=True)


@pytest.mark.parametrize(
    ("address", "sampler"), [("{}/shared.journal", "random"), ("sqlite:///{}/study.db", "grid")]
)
def test_processes_that_begin_trials_at_once_begin_no_trial_too_many(
    address: str, sampler: str, tmp_path: Path
) -> None:
    assert race(address.format(tmp_path), tmp_path, sampler, processes=3, trials=9) == list(
        range(9)
    )


@pytest.mark.parametrize("address", ["{}/shared.journal", "sqlite:///{}/study.db"])
def test_an_abandoned_trial_is_repeated_once_and_what_is_surplus_counts_nowhere(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both processes see the same state before they ask."""
    space = {"x": optuna.distributions.FloatDistribution(0, 1)}
    storage = open_storage(address.format(tmp_path), tmp_path, Retry(60.0))
    optuna.create_study(study_name="s", storage=storage)
    one, other = (
        optuna.load_study(
            study_name="s", storage=open_storage(address.format(tmp_path), tmp_path, Retry(60.0))
        )
        for _ in range(2)
    )
    first = shared_trials.begin_trial(one, space, 1)
    assert first is not None
    first.set_user_attr("overrides", [])
    assert shared_trials.interrupt_abandoned(other) == [], "its process lives"
    assert not shared_trials.may_begin(one.get_trials(), 1)
    monkeypatch.setattr(shared_trials, "is_watched", lambda trial: False)
    assert [len(shared_trials.interrupt_abandoned(each)) for each in (one, other)] == [1, 0]
    seen = other.get_trials()
    again = shared_trials.begin_trial(one, space, 1)
    with monkeypatch.context() as late:
        late.setattr(shared_trials, "_to_repeat", lambda trials: [seen[0]])
        assert shared_trials.begin_trial(other, space, 1) is None, "it has just begun elsewhere"
    assert again is not None
    assert (again.params, again.user_attrs["retry_of"]) == (first.params, 0)
    one.tell(again, 0.5)
    assert [shared_trials.counts(trial) for trial in one.get_trials()] == [False, True, False]
    assert not shared_trials.may_begin(other.get_trials(), 1)
    folder = make_sweep(tmp_path / "sweep", [], storage=address.format(tmp_path), study_name="s")
    assert [trial.number for trial in read_results(folder).trials] == [0, 1]


@pytest.mark.parametrize("repeats", [False, True])
def test_a_process_that_dies_before_it_knows_that_its_trial_is_surplus_leaves_none_too_many(
    repeats: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both processes begin the one trial that is missing,
    or its repeat, and one of them is killed in between.
    """

    space = {"x": optuna.distributions.FloatDistribution(0, 1)}
    one = optuna.create_study(study_name="s", storage=open_storage(None, tmp_path))
    other = optuna.load_study(study_name="s", storage=open_storage(None, tmp_path))
    if repeats:
        first = shared_trials.begin_trial(one, space, 1)
        assert first is not None
        shared_trials.interrupt(one, first)
    seen, looks = other.get_trials(), []

    def begin_late(deepcopy: bool) -> list[Any]:
        looks.append(deepcopy)
        return seen if len(looks) == 1 else one.get_trials()

    def dies(*arguments: object) -> None:
        raise KeyboardInterrupt

    done = shared_trials.begin_trial(one, space, 1)
    assert done is not None
    done.set_user_attr("overrides", [])
    one.tell(done, 0.5)
    with monkeypatch.context() as late:
        late.setattr(other, "get_trials", begin_late)
        late.setattr(other._storage, "set_trial_user_attr", dies)
        with pytest.raises(KeyboardInterrupt):
            shared_trials.begin_trial(other, space, 1)
    assert len(one.get_trials()) == 2 + repeats
    monkeypatch.setattr(shared_trials, "is_watched", lambda trial: False)
    assert shared_trials.interrupt_abandoned(one) == []
    assert not shared_trials.may_begin(one.get_trials(), 1)
    assert [trial.value for trial in one.get_trials() if shared_trials.counts(trial)] == [0.5]


def test_a_process_that_is_begun_again_has_the_seeds_that_ended(tmp_path: Path) -> None:
    study = optuna.create_study(study_name="s", storage=open_storage(None, tmp_path))
    told: dict[str, Any] = {
        "storage": None,
        "folder": str(tmp_path),
        "study": "s",
        "pruner": None,
    }
    trial = study.ask()
    ticket = TrialTicket(
        **told,
        trial_id=trial._trial_id,
        number=0,
        objectives=["a"],
        monitor="a",
        seeds=2,
        group="g",
        sweep_id="i",
    )
    first = RunningTrial(ticket)
    assert first.seeds_ended == 0
    first.end_seed({"a": 1.0}, 3)
    first.note(failure="SystemExit: -1")
    again = RunningTrial(ticket)
    assert again.seeds_ended == 1
    again.end_seed({"a": 2.0}, 3)
    again.tell()
    (found,) = study.get_trials()
    assert (found.value, found.user_attrs["epochs"], found.user_attrs["failure"]) == (1.5, 6, None)
