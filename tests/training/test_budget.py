"""The budgets of a run: it ends within them, and its learning rate ends with it."""

import logging
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import lightning as L
import pytest

from hexlit.training.budget import FlopBudget, TimeBudget, progress, spent
from hexlit.training.evaluation import EvaluationPhase
from hexlit.training.phases import PhaseClock
from hexlit.training.task import Evaluation
from tests.training.test_evaluation import Display, fit


class Slow(L.Callback):
    """Epochs of a tenth of a second, by a clock that the load of the machine does not touch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: Any) -> None:
        self.now += 0.1


class Watch(L.Callback):
    """The values of `progress` in every epoch."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: Any) -> None:
        self.seen.append(progress(trainer))


def test_training_ends_before_an_epoch_that_does_not_fit_and_measures_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is kept: the last epoch is the measure of the next, and the strength measured then is the final one."""
    calls: list[bool] = []

    def measure(final: bool) -> Mapping[str, Any]:
        calls.append(final)
        return {"score": 0.0}

    slow = Slow(monkeypatch)
    phase = EvaluationPhase(Evaluation("strength", measure, 100), PhaseClock(None), Display())
    trainer = fit(1000, [slow, TimeBudget(1.05), phase])
    assert trainer.current_epoch == 10
    assert slow.now == pytest.approx(1.0)
    assert calls == [True]


@pytest.mark.parametrize("epochs", [1000, -1])
def test_progress_follows_the_time_where_the_epochs_will_not_all_fit(
    epochs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A learning rate that still stood high when the time is up would be a run that never settles."""
    watch = Watch()
    trainer = fit(epochs, [Slow(monkeypatch), TimeBudget(2.05), watch])
    assert trainer.current_epoch == 20
    assert watch.seen[0] == 0.0
    for epoch in range(7, trainer.current_epoch):
        assert watch.seen[epoch] == pytest.approx(epoch / trainer.current_epoch, abs=0.2)


def played(
    monkeypatch: pytest.MonkeyPatch, seconds: Sequence[float], *, limit: float, epochs: int
) -> tuple[list[float], list[float]]:
    """The expected epochs of a run with epochs of `seconds`, and its progress at the beginning of the next."""
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    budget = TimeBudget(limit)
    trainer = L.Trainer(
        accelerator="cpu",
        max_epochs=epochs,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        callbacks=[budget],
    )
    expected, shares = [], []
    for epoch, lasts in enumerate(seconds):
        now += lasts
        budget.on_train_epoch_end(trainer, L.LightningModule())
        expected.append(budget.epochs_in_budget())
        trainer.fit_loop.epoch_progress.current.completed = epoch + 1
        shares.append(progress(trainer))
        if trainer.should_stop or epoch + 1 == epochs:
            break
    return expected, shares


def test_a_slow_first_epoch_does_not_end_a_run_with_a_third_of_its_time_unused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in a new run nor in a resumed one. A later epoch is the measure of the next."""
    assert len(played(monkeypatch, (66.0, 5.0, 5.0), limit=100.0, epochs=3)[0]) == 3
    assert len(played(monkeypatch, (67.0, 5.0, 5.0), limit=100.0, epochs=3)[0]) == 1
    assert len(played(monkeypatch, (5.0, 50.0, 5.0), limit=100.0, epochs=3)[0]) == 2


def test_compiling_takes_time_but_is_in_no_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first epoch, as in a cold run, and within later ones."""
    clock, trainer = {"now": 0.0, "compiling": 0.0}, L.Trainer(max_epochs=1000, logger=False, accelerator="cpu")
    monkeypatch.setattr(time, "monotonic", lambda: clock["now"])
    budget = TimeBudget(400.0, lambda: clock["compiling"])
    clock.update(now=200.0, compiling=200.0)
    budget.on_fit_start(trainer, L.LightningModule())
    assert budget.share_spent() == 0.0
    for epoch, (lasts, compiling) in enumerate([(60.0, 0.0), (50.0, 45.0), (5.0, 0.0), (5.0, 0.0)]):
        clock["now"] += lasts
        clock["compiling"] += compiling
        budget.on_train_epoch_end(trainer, L.LightningModule())
        trainer.fit_loop.epoch_progress.current.completed = epoch + 1
        assert not trainer.should_stop, "less is left than the epoch took, but not without its compiling"
    assert budget.epochs_in_budget() == 4 + 80.0 / 5.0


def noticed(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, seconds: Sequence[float]) -> list[str]:
    """Messages of a run of 100 epochs with a limit of 400 seconds, when its epochs take `seconds`."""
    caplog.clear()
    with caplog.at_level(logging.WARNING, "hexlit"):
        played(monkeypatch, seconds, limit=400.0, epochs=100)
    return [record.getMessage() for record in caplog.records]


def test_a_run_short_of_time_says_so_once_and_early(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With the epochs that it will reach, after the first few."""
    (said,) = noticed(monkeypatch, caplog, [20.0, *[10.0] * 3])
    assert said.startswith("trainer.max_time will end this run after about 39 of its 100 epochs; all of them")
    assert "about 11 minutes more" in said
    assert len(noticed(monkeypatch, caplog, [20.0, *[10.0] * 30])) == 1


def test_a_run_that_has_the_time_says_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert noticed(monkeypatch, caplog, [60.0, *[3.0] * 99]) == []


def test_a_budget_tells_whether_it_ended_the_run() -> None:
    costly = Costly([10.0] * 4)
    spare, short = TimeBudget(time.monotonic() + 1e6), FlopBudget(15.0, lambda: costly.spent)
    fit(4, [costly, spare, short])
    assert (spare.ended, short.ended) == (False, True)


@pytest.mark.parametrize("slow", [[60.0], [20.0, 30.0, 15.0, 12.0, 9.0], [12.0] * 11])
def test_slow_first_epochs_leave_the_rate_of_a_run_that_has_the_time_alone(
    slow: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cold caches: at the pace of its beginning, only a part of the 100 epochs would fit into the time."""
    seconds = [*slow, *[5.0] * (100 - len(slow))]
    found, shares = played(monkeypatch, seconds, limit=640.0, epochs=100)
    assert found == [math.inf] * 100
    assert shares == [(epoch + 1) / 100 for epoch in range(100)]


@pytest.mark.parametrize("epochs", [100, 1000, -1])
@pytest.mark.parametrize(
    "seconds",
    [
        [5.0] * 1000,
        [100.0, 30.0, *[5.0] * 1000],
        [15.0 if epoch % 5 == 4 else 5.0 for epoch in range(1000)],
        [*[2.0] * 60, *[10.0] * 1000],
        [80.0] * 1000,
    ],
    ids=["steady", "slow start", "varying", "slow end", "few"],
)
def test_the_rate_of_a_run_short_of_time_falls_to_the_end(
    seconds: list[float], epochs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it was to have twice the epochs, many more, or any number of them."""
    _, shares = played(monkeypatch, seconds, limit=400.0, epochs=epochs)
    assert len(shares) < 100, "the run was short of time"
    last = shares[-2]  # with it the last epoch begins
    assert last >= min(0.9, (len(shares) - 1) / len(shares) - 0.05)


class Costly(L.Callback):
    """A run whose epochs cost `flops`, one after the other."""

    def __init__(self, flops: Sequence[float]) -> None:
        self.flops = list(flops)
        self.spent = 0.0

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: Any) -> None:
        self.spent += self.flops[trainer.current_epoch]


def test_operations_end_a_run_before_an_epoch_that_does_not_fit_and_the_progress_with_it() -> None:
    costly, watch, calls = Costly([3e14] * 100), Watch(), []

    def measure(final: bool) -> Mapping[str, Any]:
        calls.append(final)
        return {"score": 0.0}

    budget = FlopBudget(2e15, lambda: costly.spent)
    phase = EvaluationPhase(Evaluation("strength", measure, 100), PhaseClock(None), Display())
    trainer = fit(100, [costly, budget, phase, watch])
    assert trainer.current_epoch == 6
    assert costly.spent == 1.8e15
    assert calls == [True]
    assert watch.seen == pytest.approx([0.0, *(epoch / (2e15 / 3e14) for epoch in range(1, 6))])


def test_a_first_epoch_beyond_the_budget_is_the_only_one() -> None:
    costly = Costly([10.0] * 4)
    assert fit(4, [costly, FlopBudget(5.0, lambda: costly.spent)]).current_epoch == 1


def test_a_budget_of_operations_goes_on_where_a_checkpoint_left_it() -> None:
    costs = [5.0, 1.0, 2.0, 1.0, 3.0, 2.0, 1.0, 1.0, 4.0, 1.0, 2.0, 1.0, 1.0]
    costly, watch = Costly(costs), Watch()
    whole = FlopBudget(sum(costs) - 0.5, lambda: costly.spent)
    fit(100, [costly, whole, watch])
    assert len(watch.seen) == 11, "the 12th would fit, but might cost as much as the 11th"
    again = Costly(costs)
    first, second = (FlopBudget(sum(costs) - 0.5, lambda: again.spent) for _ in range(2))
    fit(7, [again, first])
    second.load_state_dict(first.state_dict())
    assert second.epochs_in_budget() == first.epochs_in_budget()
    for _ in costs[7:11]:  # the epochs of the second session
        trainer = L.Trainer(logger=False, enable_checkpointing=False, enable_progress_bar=False, accelerator="cpu")
        trainer.fit_loop.epoch_progress.current.completed = second._done
        again.spent += costs[second._done]
        second.on_train_epoch_end(trainer, L.LightningModule())
    assert trainer.should_stop
    assert second.state_dict() == whole.state_dict()


def test_what_is_spent_is_the_share_of_the_budget_that_is_spent_furthest() -> None:
    """Of several budgets the furthest; without any, of the epochs."""

    class Spent(L.Callback):
        def __init__(self) -> None:
            self.seen: list[float] = []

        def on_train_epoch_end(self, trainer: L.Trainer, pl_module: Any) -> None:
            self.seen.append(spent(trainer))

    costly, seen = Costly([10.0, 20.0, 10.0, 10.0]), Spent()
    budget = FlopBudget(80.0, lambda: costly.spent)
    fit(4, [costly, budget, TimeBudget(time.monotonic() + 1e6), seen])
    assert seen.seen == pytest.approx([0.125, 0.375, 0.5, 0.625], abs=1e-3)
    alone = Spent()
    fit(4, [alone])
    assert alone.seen == [0.25, 0.5, 0.75, 1.0]
