"""The time of a run: it ends in time, and its learning rate ends with it."""

import time
from collections.abc import Mapping
from typing import Any

import lightning as L
import pytest

from hexlit.training.budget import TimeBudget, WallTime, progress
from hexlit.training.evaluation import EvaluationPhase
from hexlit.training.phases import PhaseClock
from tests.training.test_evaluation import Display, fit


class Slow(L.Callback):
    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: Any) -> None:
        time.sleep(0.1)


class Watch(L.Callback):
    """What `progress` says in every epoch."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: Any) -> None:
        self.seen.append(progress(trainer))


def test_training_ends_before_an_epoch_that_does_not_fit_and_measures_its_end() -> None:
    """Time is kept: the last epoch is the measure of the next, and the strength measured then is the final one."""
    calls: list[bool] = []

    def measure(final: bool) -> Mapping[str, Any]:
        calls.append(final)
        return {"score": 0.0}

    start = time.monotonic()
    phase = EvaluationPhase(measure, PhaseClock(None), Display(), every_epochs=100)
    trainer = fit(1000, [Slow(), TimeBudget(start + 1.0), phase])
    assert time.monotonic() - start < 1.3
    assert 1 <= trainer.current_epoch < 11
    assert calls == [True]


def test_enough_time_lets_every_epoch_run_and_leaves_the_progress_to_the_epochs() -> None:
    watch = Watch()
    trainer = fit(4, [TimeBudget(time.monotonic() + 1000), watch])
    assert trainer.current_epoch == 4
    assert watch.seen == [0.0, 0.25, 0.5, 0.75]


@pytest.mark.parametrize("epochs", [1000, -1])
def test_progress_follows_the_time_where_the_epochs_will_not_all_fit(epochs: int) -> None:
    """A learning rate that still stood high when the time is up would be a run that never settles."""
    watch = Watch()
    trainer = fit(epochs, [Slow(), TimeBudget(time.monotonic() + 2.0), watch])
    assert 5 < trainer.current_epoch < 21
    assert watch.seen[0] == 0.0
    for epoch in range(4, trainer.current_epoch):
        assert watch.seen[epoch] == pytest.approx(epoch / trainer.current_epoch, abs=0.2)


def test_a_first_epoch_that_compiles_does_not_count_as_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    budget = TimeBudget(100.0)
    trainer = L.Trainer(accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False)
    found = []
    for epoch, seconds in enumerate((40.0, 2.0, 2.0, 2.0)):
        trainer.fit_loop.epoch_progress.current.completed = epoch
        now += seconds
        budget.on_train_epoch_end(trainer, L.LightningModule())
        found.append(budget.epochs_in_time())
    assert found == [float("inf"), 2 + 58 / 2, 3 + 56 / 2, 4 + 54 / 2]


def test_wall_time_adds_the_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 50.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    first = WallTime(40.0)
    assert first.seconds == 10.0
    second = WallTime(45.0)
    second.load_state_dict(first.state_dict())
    assert second.seconds == 15.0
