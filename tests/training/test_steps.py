"""The parts of a training step, where each of them takes a time that is known."""

import time
from pathlib import Path
from typing import Any

import lightning as L
import torch
from torch import Tensor

from hexlit.training.module import TrainedModule
from hexlit.training.usage import PARTS, StepClock
from tests.tables import rows_of
from tests.training.test_module import Batch, Regression, batches, fit

STEPS = 3
PLANTED = {"load": 0.03, "forward": 0.05, "loss": 0.07, "backward": 0.09, "update": 0.11}
"""Seconds that each part of a step takes at least, no two alike."""


class SlowBackward(torch.autograd.Function):
    """Leaves its input as it is, and takes its time for the gradient."""

    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        time.sleep(PLANTED["backward"])
        return gradient


class SlowParts(Regression):
    """Takes the planted time in every part of a step."""

    def output(self, batch: Batch) -> Tensor:
        time.sleep(PLANTED["forward"])
        return super().output(batch)

    def losses(self, output: Tensor, batch: Batch) -> dict[str, Tensor]:
        time.sleep(PLANTED["loss"])
        return super().losses(SlowBackward.apply(output), batch)  # type: ignore[no-untyped-call]

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        time.sleep(PLANTED["update"])
        self.latest = time.perf_counter()
        super().on_before_optimizer_step(optimizer)


class SlowBatches(list[Batch]):
    """Batches that take their time to load."""

    def __getitem__(self, index: Any) -> Any:
        if index == 0:
            self.first = time.perf_counter()
        time.sleep(PLANTED["load"])
        return super().__getitem__(index)


class OwnClock(L.Callback):
    """The time from before an epoch's start to after the end of its last step, by another clock."""

    def __init__(self) -> None:
        self.started = self.ended = 0.0

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.started = time.perf_counter()

    def on_train_batch_end(self, *_: Any) -> None:
        self.ended = time.perf_counter()


def row_of(
    module: TrainedModule, data: list[Batch], folder: Path
) -> tuple[dict[str, float], float]:
    """Seconds of each part in the row of an epoch,
    with `wall`; and the seconds by another clock.
    """
    module.clock = StepClock(folder / "steps.csv", torch.device("cpu"))
    own = OwnClock()
    fit(module, data, callbacks=[own, module.clock])
    (row,) = rows_of(folder / "steps.csv")
    names = [part for part in PARTS if part != "transfer"]
    assert row["transfer_seconds"] == ""
    return {
        name: float(row[f"{name}_seconds"]) for name in [*names, "wall"]
    }, own.ended - own.started


def test_the_time_of_each_part_is_counted_as_its_own(tmp_path: Path) -> None:
    """A part that got the time of another one would lack it there: less than what was planted."""
    module, data = SlowParts(), SlowBatches(batches(STEPS))
    found, epoch = row_of(module, data, tmp_path)
    for name, seconds in PLANTED.items():
        assert found[name] >= STEPS * seconds, name
    steps = module.latest - data.first
    assert steps <= sum(found[name] for name in PLANTED) <= epoch
    assert steps <= found["wall"] <= epoch


def test_the_parts_of_every_micro_batch_count(tmp_path: Path) -> None:
    found, _ = row_of(
        SlowParts(accelerator={"train_batch": 16, "micro_batch": 8}), batches(STEPS), tmp_path
    )
    for name in ("forward", "loss", "backward"):
        assert found[name] >= 2 * STEPS * PLANTED[name], name
