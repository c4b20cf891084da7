"""The facts of a trial beside its metrics."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hexlit.commands.task_run import train_task
from hexlit.commands.trial_training import refuse_unknown, time_left
from hexlit.errors import UsageError
from hexlit.tasks.forecast.config import ForecastTrainConfig
from hexlit.training.config import RunOptions, TrainerConfig


def test_the_time_saved_is_that_of_the_epochs_not_done_at_its_own_pace() -> None:
    """The start does not count, and no more time than the trial would have had."""
    phases = {
        "compiling": {"wall_seconds": 60.0},
        "selfplay": {"wall_seconds": 6.0},
        "training": {"wall_seconds": 4.0},
    }
    summary = {"phases": phases, "wall_seconds": 70.0, "cost": {"flops": 50}}
    assert time_left(summary, TrainerConfig(max_epochs=20), 5, 0) == 30.0
    assert time_left(summary, TrainerConfig(max_epochs=20), 5, 2) == 30.0 + 2 * 40.0
    assert time_left(summary, TrainerConfig(max_epochs=20, max_time="00:01:15"), 5, 1) == 5.0 + 40.0
    assert time_left(summary, TrainerConfig(max_epochs=20, max_time="00:00:30"), 5, 1) == 0.0 + 30.0
    assert time_left(summary, TrainerConfig(max_epochs=20, max_flops=60.0), 5, 1) == 2.0 + 12.0


@pytest.mark.parametrize("trial", [True, False])
def test_a_trial_alone_is_refused_a_full_device(
    trial: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`choose_device` then refuses what another run evades; see its tests."""
    asked: list[bool] = []

    def build_profile(*settings: Any, shares_a_study: bool) -> None:
        asked.append(shares_a_study)
        raise UsageError("enough is known")

    monkeypatch.setattr("hexlit.accelerate.profile.build_profile", build_profile)
    with pytest.raises(UsageError, match="enough is known"):
        train_task(
            ForecastTrainConfig(task="forecast", name="x"), tmp_path, RunOptions(trial=trial)
        )
    assert asked == [trial]


def named(objective: str, *, monitor: str | None = None, may_prune: bool = True) -> Any:
    ticket = SimpleNamespace(objectives=[objective], monitor=monitor or objective)
    return SimpleNamespace(ticket=ticket, may_prune=may_prune)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        (named("val.los"), "sweep.objective=val.los"),
        (named("train.los", may_prune=False), "sweep.objective=train.los"),
        (named("strenght.score"), "sweep.objective=strenght.score"),
        (named("train.loss", monitor="loss"), "sweep.monitor=loss"),
    ],
)
def test_a_name_that_no_epoch_logs_is_refused_after_the_first(given: Any, key: str) -> None:
    with pytest.raises(UsageError, match=rf"{key}: no epoch logs such a metric; .* train\.loss"):
        refuse_unknown(given, {"train.loss": 1.0, "memory.host_mb": 1.0}, ["strength"])


@pytest.mark.parametrize(
    "given",
    [
        named("train.loss"),
        named("strength.score"),  # some epochs alone measure it
        named("memory.host_peak_bytes", may_prune=False),  # in the summary
        named("wall_seconds", monitor="train.loss"),
    ],
)
def test_a_name_that_may_still_come_is_waited_for(given: Any) -> None:
    refuse_unknown(given, {"train.loss": 1.0, "memory.host_mb": 1.0}, ["strength"])
