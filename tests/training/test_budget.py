"""The budgets of a run: it ends within them, and its learning rate falls with them."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import lightning as L
import pytest

from hexlit.training.budget import Budget, progress
from hexlit.training.evaluation import EvaluationPhase
from hexlit.training.phases import PhaseClock
from hexlit.training.task import Evaluation
from tests.training.test_evaluation import Display, fit
from tests.training.trainers import quiet_trainer


class Costly(L.Callback):
    """A run whose epochs cost `flops`, one after the other."""

    def __init__(self, flops: Sequence[float]) -> None:
        self.flops = list(flops)
        self.spent = 0.0

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: Any) -> None:
        self.spent += self.flops[trainer.current_epoch]


class Watch(L.Callback):
    """The progress at the beginning and at the end of every epoch."""

    def __init__(self) -> None:
        self.begins: list[float] = []
        self.ends: list[float] = []

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: Any) -> None:
        self.begins.append(progress(trainer, trainer.current_epoch))

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: Any) -> None:
        self.ends.append(progress(trainer, trainer.current_epoch + 1))


def budget_of(costly: Costly, limit: float) -> Budget:
    return Budget("trainer.max_flops", limit, lambda: costly.spent)


def test_training_ends_before_an_epoch_that_does_not_fit_and_measures_its_end() -> None:
    """The last epoch is the measure of the next,
    and the strength measured then is the final one.
    """
    costly, watch, calls = Costly([3e14] * 100), Watch(), []

    def measure(final: bool) -> Mapping[str, Any]:
        calls.append(final)
        return {"score": 0.0}

    phase = EvaluationPhase(Evaluation("strength", measure, 100), PhaseClock(None), Display())
    trainer = fit(100, [costly, budget_of(costly, 2e15), phase, watch])
    assert trainer.current_epoch == 6
    assert calls == [True]
    assert watch.begins == pytest.approx([epoch * 0.15 for epoch in range(6)])


def test_a_resumed_run_without_budget_for_an_epoch_like_its_last_does_none() -> None:
    costly = Costly([10.0] * 9)
    first, second = budget_of(costly, 25.0), budget_of(costly, 25.0)
    fit(9, [costly, first])
    second.load_state_dict(first.state_dict())
    trainer = quiet_trainer()
    second.on_fit_start(trainer, L.LightningModule())
    assert second.ended
    assert trainer.should_stop


def test_the_progress_is_the_largest_share_of_epochs_and_budgets() -> None:
    costly, watch = Costly([10.0, 20.0, 1.0, 1.0]), Watch()
    fit(4, [costly, budget_of(costly, 80.0), Budget("trainer.max_time", 1e6, lambda: 1.0), watch])
    assert watch.ends == pytest.approx([0.25, 0.5, 0.75, 1.0])
    short = Watch()
    costly = Costly([10.0, 20.0, *[10.0] * 20])
    fit(100, [costly, budget_of(costly, 80.0), short])
    assert short.ends[:3] == pytest.approx([0.125, 0.375, 0.5])


@pytest.mark.parametrize(
    ("limit", "said"), [(400.0, "after about 40 of its 100 epochs"), (1e6, "")]
)
def test_a_run_short_of_its_budget_says_so_once_and_early(
    limit: float, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    costly = Costly([10.0] * 100)
    with caplog.at_level(logging.WARNING, "hexlit"):
        fit(100, [costly, budget_of(costly, limit)])
    messages = [
        record.getMessage() for record in caplog.records if record.name.startswith("hexlit")
    ]
    assert len(messages) == bool(said)
    assert all(said in message for message in messages)
