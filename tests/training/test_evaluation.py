"""The callbacks of an epoch: its phases timed,
its strength measured when it is time to, its end in time.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import lightning as L
import pytest
import torch
from lightning.pytorch.callbacks import Checkpoint, EarlyStopping

from hexlit.training.evaluation import EpochPhases, EvaluationPhase
from hexlit.training.loggers import MetricsCsv
from hexlit.training.phases import PhaseClock
from hexlit.training.task import Evaluation
from tests.training.trainers import as_they_are, quiet_trainer


class Model(L.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch: list[torch.Tensor], batch_idx: int) -> torch.Tensor:
        loss: torch.Tensor = (self.layer(batch[0]) ** 2).mean()
        self.log("train.loss", loss, on_step=False, on_epoch=True)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Display:
    def __init__(self) -> None:
        self.losses: dict[int, dict[str, float]] = {}
        self.strength: dict[int, Mapping[str, object]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *stop: Any) -> None:
        pass

    phase_started = phase_advanced = phase_ended = __exit__

    def update(
        self,
        *,
        epoch: int,
        losses: Mapping[str, float] | None = None,
        figures: Mapping[str, object] | None = None,
    ) -> None:
        if losses is not None:
            self.losses[epoch] = dict(losses)
        if figures is not None:
            self.strength[epoch] = figures


def fit(epochs: int, callbacks: list[L.Callback]) -> L.Trainer:
    saves = any(isinstance(callback, Checkpoint) for callback in callbacks)
    trainer = quiet_trainer(
        epochs, callbacks=callbacks, enable_checkpointing=saves, log_every_n_steps=1
    )
    trainer.fit(Model(), as_they_are([[torch.ones(4, 1)]] * 3))
    return trainer


@pytest.mark.parametrize(
    ("every", "begin_after", "expected"),
    [
        (1, 0, [0, 1, 2, 3, 4]),
        (2, 0, [1, 3, 4]),
        (3, 0, [2, 4]),
        (9, 0, [4]),
        (1, 2, [2, 3, 4]),
        (2, 2, [3, 4]),
    ],
)
def test_strength_is_measured_every_so_many_epochs_and_after_the_last(
    every: int, begin_after: int, expected: list[int], tmp_path: Path
) -> None:
    calls: list[bool] = []

    def measure(final: bool) -> Mapping[str, Any]:
        calls.append(final)
        return {"score": 0.1 * len(calls), "opening_map": [1.0, -1.0]}

    display, clock = Display(), PhaseClock(tmp_path / "phases.csv")
    phase = EvaluationPhase(
        Evaluation("strength", measure, every, begin_after=begin_after), clock, display
    )
    fit(5, [phase, MetricsCsv(tmp_path)])
    assert list(display.strength) == expected
    assert calls == [False] * (len(expected) - 1) + [True]
    assert phase.latest["opening_map"] == [1.0, -1.0]
    assert clock.totals()["evaluation"].epochs == len(expected)
    table = [line.split(",") for line in (tmp_path / "metrics.csv").read_text().splitlines()]
    column = table[0].index("strength.score")
    assert [int(row[0]) for row in table[1:] if row[column]] == expected
    assert not any("opening_map" in name for name in table[0])


class Stops(EarlyStopping):
    """A user's callback, which Lightning calls after all that logs."""

    def __init__(self) -> None:
        super().__init__("train.loss")

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        trainer.should_stop = trainer.current_epoch == 2


@pytest.mark.parametrize("every", [1, 2])
def test_a_run_that_another_callback_ends_is_measured_finally(every: int) -> None:
    """Once: neither again when it is measured already,
    nor after a kill that left only the summary to do.
    """
    calls: list[bool] = []

    def measure(final: bool) -> Mapping[str, Any]:
        calls.append(final)
        return {"score": 1.0}

    phase = EvaluationPhase(Evaluation("strength", measure, every), PhaseClock(None), Display())
    trainer = fit(9, [phase, Stops()])
    assert (trainer.current_epoch, phase.final) == (3, False)
    for _ in range(2):
        phase.finish(trainer.current_epoch, restored=False)
        assert calls == [False] * (3 // every) + [True]
        assert (phase.final, phase.measured_after) == (True, 3)
    resumed = EvaluationPhase(Evaluation("strength", measure, every), PhaseClock(None), Display())
    resumed.on_load_checkpoint(
        trainer, Model(), {"callbacks": {phase.state_key: phase.state_dict()}}
    )
    resumed.finish(trainer.current_epoch, restored=False)
    assert calls.count(True) == 1


def test_steps_and_losses_of_an_epoch_are_timed_and_shown(tmp_path: Path) -> None:
    display, clock = Display(), PhaseClock(tmp_path / "phases.csv")
    fit(2, [EpochPhases(clock, display)])
    totals = clock.totals()["training"]
    assert (totals.epochs, totals.counts) == (2, {"examples": 2 * 3 * 4})
    assert totals.wall_seconds > 0
    assert set(display.losses) == {0, 1}
    assert display.losses[1]["loss"] < display.losses[0]["loss"]


def test_an_error_in_a_step_closes_the_phase_and_leaves_no_row(tmp_path: Path) -> None:

    class Fails(L.Callback):
        def on_train_batch_start(
            self, trainer: L.Trainer, pl_module: Any, batch: Any, batch_idx: int
        ) -> None:
            if batch_idx == 1:
                raise ArithmeticError("a step failed")

    clock = PhaseClock(tmp_path / "phases.csv")
    with pytest.raises(ArithmeticError):
        fit(1, [EpochPhases(clock, Display()), Fails()])
    assert clock.totals() == {}
    with clock.phase("evaluation", 0):
        pass
