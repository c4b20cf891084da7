"""Where the time of an optimisation step goes: one row of `steps.csv` for every epoch."""

import csv
import io
import time
from pathlib import Path
from typing import Any

import lightning as L
from torch import nn

from hexlit.files import write_text_atomic

PARTS = ("load", "forward", "loss", "backward", "update")
"""Waiting for the batch; the network; the loss; the gradients; clipping and the optimizer."""

COLUMNS = ("epoch", "steps", *(f"{part}_seconds" for part in PARTS), "wall_seconds")


class StepClock(L.Callback):
    """Adds up the parts of every step of an epoch, in wall time; they follow each other without a gap.

    `wall_seconds` runs from the start of the epoch to the end of its last step. On a device that works on its own
    (cuda, mps) a part ends when its work has been handed over, not when it is done.
    """

    def __init__(self, path: Path, net: nn.Module) -> None:
        """Rows go to `path`, which is whole after each epoch; the end of `net`'s forward ends the part `forward`."""
        self._path = path
        self._rows: list[list[str]] = []
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                self._rows = [row for row in csv.reader(file) if row and row[0] != "epoch"]
        self._seconds = dict.fromkeys(PARTS, 0.0)
        self._steps = 0
        self._started = self._last = 0.0
        net.register_forward_hook(lambda *_: self._end("forward") if net.training else None)

    def resume(self, epoch: int) -> None:
        """Forget the rows of `epoch` and later, which the run is going to do again."""
        self._rows = [row for row in self._rows if int(row[0]) < epoch]

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The first batch is about to be loaded."""
        self._seconds = dict.fromkeys(PARTS, 0.0)
        self._steps = 0
        self._started = self._last = time.perf_counter()

    def on_train_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """The batch is there."""
        self._end("load")

    def on_before_backward(self, trainer: L.Trainer, pl_module: L.LightningModule, loss: Any) -> None:
        """The loss is there."""
        self._end("loss")

    def on_after_backward(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The gradients are there."""
        self._end("backward")

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """The weights are updated."""
        self._end("update")
        self._steps += 1

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Write the epoch's row."""
        seconds = [*(self._seconds[part] for part in PARTS), self._last - self._started]
        self._rows.append([str(trainer.current_epoch), str(self._steps), *(f"{value:.6f}" for value in seconds)])
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([COLUMNS, *self._rows])
        write_text_atomic(self._path, text.getvalue())

    def _end(self, part: str) -> None:
        now = time.perf_counter()
        self._seconds[part] += now - self._last
        self._last = now
