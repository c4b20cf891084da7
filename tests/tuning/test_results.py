"""A sweep's folder, read in every condition that it can be in."""

import json
import math
import time
from pathlib import Path
from typing import Any

import pytest

from hexlit.errors import UsageError
from hexlit.tuning.results import read_results
from tests.tuning.sweeps import (
    BEGAN,
    Made,
    complete,
    failed,
    losses,
    make_sweep,
    mark_alive,
    mark_dead,
    pruned,
    running,
)


def test_only_successes_are_ranked_by_a_score(tmp_path: Path) -> None:
    trials = [
        complete(0.4),
        failed(),
        complete(0.9),
        pruned(intermediate={0: 0.99}),
        complete(0.6),
        complete(math.inf),
    ]
    found = read_results(make_sweep(tmp_path / "s", trials))
    assert (found.state, found.ranking.by, found.ranking.order) == (
        "finished",
        "objective",
        [2, 4, 0],
    )
    assert found.ranking.unranked == [5]
    assert found.ranking.reason == "by strength.score, maximized"
    assert found.best is not None
    assert found.best.number == 2
    assert found.counts == {"complete": 4, "pruned": 1, "failed": 1, "running": 0, "interrupted": 0}
    ranked = [(trial.rank, trial.number) for trial in found.by_rank()]
    assert ranked == [
        (1, 2),
        (2, 4),
        (3, 0),
        (None, 5),
        (None, 3),
        (None, 1),
    ]


def test_trials_of_different_weights_are_ranked_by_the_comparable_loss(tmp_path: Path) -> None:
    """The raw total is smallest for the trial that hardly weighs the value loss,
    which is the worst in it.
    """
    shapes = [
        ([1.0], [0.9], 0.1),
        ([1.2], [0.3], 4.0),
        ([1.1], [0.5], 1.0),
    ]
    totals = [policy[0] + weight * value[0] for policy, value, weight in shapes]
    trials = [
        complete(total, metrics=losses(*shape)) for total, shape in zip(totals, shapes, strict=True)
    ]
    found = read_results(make_sweep(tmp_path / "s", trials, {"train.loss": "minimize"}))
    assert sorted(range(3), key=totals.__getitem__) == [0, 2, 1]
    assert (found.ranking.by, found.ranking.order) == ("comparable", [1, 2, 0])
    assert found.ranking.reason.startswith("by train.comparable_loss, minimized")
    assert "may differ" in found.ranking.reason


@pytest.mark.parametrize("comparable", ["comparable_loss", None])
def test_without_a_comparable_loss_a_total_ranks_as_it_is(
    comparable: str | None, tmp_path: Path
) -> None:
    made = [complete(value, metrics={"val.loss": [value]}) for value in (2.0, 1.0)]
    folder = make_sweep(tmp_path / "s", made, {"val.loss": "minimize"}, comparable=comparable)
    found = read_results(folder)
    assert (found.ranking.by, found.ranking.order) == ("objective", [1, 0])
    assert "no trial has a loss that all trials weigh alike" in found.ranking.reason
    assert [(trial.loss, trial.comparable) for trial in found.trials] == [(2.0, None), (1.0, None)]


def test_several_objectives_have_a_front_and_no_order(tmp_path: Path) -> None:
    points = [
        (0.9, 9.0),
        (0.5, 1.0),
        (0.4, 2.0),
        (0.7, 4.0),
        (0.7, 4.0),
        (math.nan, 1.0),
    ]
    trials = [Made(values=point) for point in points[:5]]
    found = read_results(
        make_sweep(tmp_path / "s", trials, {"strength.score": "maximize", "seconds": "minimize"})
    )
    assert (found.ranking.by, found.ranking.order) == ("pareto", ())
    assert found.ranking.front == [0, 3, 4, 1]
    assert found.best is not None
    assert found.best.number == 0
    assert [trial.rank for trial in found.by_rank()] == [None] * 5
    assert [trial.number for trial in found.by_rank()] == [0, 3, 4, 1, 2]


def test_what_the_study_and_the_files_say_comes_together(tmp_path: Path) -> None:
    attrs: dict[str, Any] = {"overrides": ["optimizer.lr=0.01"], "max_epochs": 8}
    attrs |= {"seconds": 12.5, "host_peak_bytes": 5000, "attempts": 2}
    metrics = losses([3.0, 2.0], [0.5, 0.4])
    folder = make_sweep(
        tmp_path / "s", [complete(0.5, attrs=attrs, metrics=metrics, intermediate={1: 0.5, 0: 0.1})]
    )
    (trial,) = read_results(folder).trials
    assert trial.overrides == ("optimizer.lr=0.01",)
    assert (trial.folder, trial.epochs, trial.max_epochs, trial.seconds) == (
        "trial-000",
        2,
        8,
        12.5,
    )
    assert (trial.host_peak_bytes, trial.attempts) == (5000, 2)
    assert list(trial.intermediate.items()) == [(0, 0.1), (1, 0.5)]
    assert (trial.started, trial.ended) == (BEGAN, BEGAN + 60)


def test_a_trial_that_went_back_to_its_best_epoch_is_judged_by_that(tmp_path: Path) -> None:
    trials = [
        complete(1.0, metrics=losses([2.0, 3.0], [0.5, 0.9])),
        complete(1.0, metrics=losses([2.5], [0.5])),
    ]
    folder = make_sweep(tmp_path / "s", trials, {"train.loss": "minimize"})
    best = {"best": {"epoch": 0, "restored": True}}
    (folder / "trial-000" / "summary.json").write_text(json.dumps(best))
    found = read_results(folder)
    assert found.trials[0].losses["policy_loss"] == 2.0
    assert found.ranking.order == [0, 1]
    best["best"]["restored"] = False
    (folder / "trial-000" / "summary.json").write_text(json.dumps(best))
    assert read_results(folder).ranking.order == [1, 0]


def test_failures_have_their_reasons(tmp_path: Path) -> None:
    trials = [
        failed(attrs={"failure": "killed by SIGKILL"}),
        failed(),
        failed(attrs={"interrupted": True}),
    ]
    found = read_results(make_sweep(tmp_path / "s", trials))
    assert [(trial.state, trial.failure) for trial in found.trials] == [
        ("failed", "killed by SIGKILL"),
        ("failed", "no reason was recorded"),
        ("interrupted", "the sweep ended while it ran"),
    ]
    assert found.progress["done"] == 2


def test_a_live_sweep_says_how_far_it_is(tmp_path: Path) -> None:
    trials = [
        complete(0.3, end=100.0),
        pruned(end=50.0),
        running(start=100.0),
        complete(0.8, end=150.0),
    ]
    folder = make_sweep(tmp_path / "s", trials, n_trials=8, n_jobs=2, finished=None)
    mark_alive(folder)
    found = read_results(folder, now=BEGAN + 160.0)
    assert (found.state, found.trials[2].state, found.trials[2].seconds) == (
        "running",
        "running",
        60.0,
    )
    # A mean of 100 s for each of five, in two slots.
    expected = {"done": 3, "of": 8, "running": 1, "eta_seconds": pytest.approx(250.0), "best": 3}
    assert found.progress == {**expected, "best_value": 0.8, "best_after_seconds": 150.0}


def test_a_killed_sweep_has_nothing_running(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path / "s", [complete(0.3), running()], n_trials=8, finished=None)
    mark_dead(folder)
    found = read_results(folder)
    assert (found.state, found.trials[1].state, found.progress["eta_seconds"]) == (
        "interrupted",
        "interrupted",
        None,
    )
    assert found.trials[1].failure == "the sweep ended while it ran"
    mark_alive(folder / "trial-001")
    assert read_results(folder).trials[1].state == "running", "its own process lives"


@pytest.mark.parametrize(("silent", "state"), [(30.0, "running"), (1000.0, "interrupted")])
def test_a_sweep_on_another_machine_lives_as_long_as_it_gives_signs_of_life(
    silent: float, state: str, tmp_path: Path
) -> None:
    """Its folder is shared; process numbers mean nothing here,
    as between a container and its host.
    """
    seen = {"host": "elsewhere/1", "pid": 1, "create_time": 1.0, "seen": time.time() - silent}
    folder = make_sweep(
        tmp_path / "s", [complete(0.3), running(attrs={"watcher": seen})], n_trials=8, finished=None
    )
    mark_dead(folder)
    mark_dead(folder / "trial-001")
    found = read_results(folder)
    assert (found.state, found.trials[1].state) == (state, state)


def test_pruning_saved_what_the_trials_estimate(tmp_path: Path) -> None:
    trials = [complete(0.5), pruned(), *(pruned(attrs={"saved_seconds": s}) for s in (32.0, 150.0))]
    saving = read_results(make_sweep(tmp_path / "s", trials)).pruning
    assert saving == {"saved_seconds": 182.0, "estimated_trials": 2, "unknown_trials": 1}


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_a_broken_sweep_file_leaves_what_the_study_says(text: str, tmp_path: Path) -> None:
    folder = make_sweep(tmp_path / "s", [complete(0.4), complete(0.7)])
    (folder / "sweep.json").write_text(text)
    found = read_results(folder)
    assert found.ranking.order == [1, 0]
    assert (found.progress["of"], found.state) == (None, "interrupted")


@pytest.mark.parametrize("inside", ["", ".hydra"])
def test_a_folder_without_a_sweep_is_a_mistake(inside: str, tmp_path: Path) -> None:
    (tmp_path / "s" / inside).mkdir(parents=True)
    with pytest.raises(UsageError, match="holds no sweep"):
        read_results(tmp_path / "s")


def test_reading_writes_nothing(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path / "s", [complete(0.5), running()], finished=None)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    read_results(folder)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
