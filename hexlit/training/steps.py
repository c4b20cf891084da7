"""The time of an optimisation step by its parts: one row of `steps.csv` for every epoch."""

import csv
import io
import logging
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import lightning as L
import torch

from hexlit.accelerate.events import events_for
from hexlit.accelerate.gauge import DeviceGauge
from hexlit.errors import UsageError
from hexlit.files import write_text_atomic
from hexlit.training.batches import whole_size

log = logging.getLogger(__name__)

PARTS = ("load", "transfer", "forward", "loss", "backward", "update")
"""Waiting for the batch; its transfer to the device; the network; the loss; the gradients; clipping and the optimizer.

Adding up over ranks belongs to the last part."""

COLUMNS = (
    "epoch",
    "steps",
    "examples",
    "examples_per_second",
    *(f"{part}_seconds" for part in PARTS),
    "wall_seconds",
    *(f"{part}_cpu_seconds" for part in PARTS),
    "load_share",
    "verdict",
    "micro_batch",
    "skipped_steps",
    "peak_device_bytes",
    "device_utilisation",
    "not_measured",
)

LOADER_BOUND = 0.1
"""The loader is the bottleneck above this share of an epoch's time spent waiting for data."""

WORTH_A_WARNING = 1.0
"""Epochs with fewer seconds of steps than this cause no warning."""


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a step table.

    Raises:
        UsageError: a line is no such row; the message names it.
    """
    with path.open(newline="", encoding="utf-8") as file:
        table = csv.DictReader(file, restkey="beyond")
        try:
            rows = []
            for row in table:
                int(row["epoch"])
                rows.append(row)
        except (KeyError, TypeError, ValueError, csv.Error) as error:
            where = f"{path} line {table.line_num or 1}"
            raise UsageError(f"{where}: not a row of a step table; move the file away or restore it") from error
    return rows


def verdict(load_share: float) -> str:
    """The bottleneck of an epoch that spent `load_share` of its time waiting for data."""
    return "loader-bound" if load_share > LOADER_BOUND else "compute-bound"


class StepClock(L.Callback):
    """Adds up the parts of every step of an epoch; they follow each other without a gap.

    `wall_seconds` runs from the epoch's start to the end of its last step. On cuda the seconds of a part are the
    device's, its waiting included, and `wall_seconds` are the host's, until the device has done that step. On mps both
    are the host's, and a part that waits for the device has the time of the work queued before. CPU seconds, and a
    cpu's utilisation, are those of this process with all its threads.
    """

    def __init__(self, path: Path | None, device: torch.device, gauge: DeviceGauge | None = None) -> None:
        """Rows go to `path`, a whole file after each epoch; None: nowhere. `gauge` reads the device."""
        self._path = path
        self._device = device
        self._gauge = gauge or DeviceGauge(device, threads=1)
        self._events = events_for(device)
        self._rows: list[dict[str, str]] = []
        self._warm = self._warned = False
        self._ends: list[str] = []
        self._instants: list[Any] = []
        self._cpu: list[float] = []
        self._examples = 0
        self._steps = 0
        self._started = 0.0
        if path is not None and path.exists():
            self._rows = read_rows(path)

    @property
    def latest(self) -> dict[str, str]:
        """The row of the latest epoch."""
        return self._rows[-1] if self._rows else {}

    def resume(self, epoch: int) -> None:
        """Forget the rows of `epoch` and later, which the run repeats."""
        self._rows = [row for row in self._rows if int(row["epoch"]) < epoch]

    def end(self, part: str) -> None:
        """Count the time since the last call for `part`. A call takes microseconds."""
        self._ends.append(part)
        self._instants.append(self._events.record())
        self._cpu.append(time.process_time())

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The first batch is about to be loaded."""
        self._gauge.restart()
        self.restart()

    def restart(self) -> None:
        """Start counting here."""
        self._ends, self._instants, self._cpu = [], [], []
        self._examples = self._steps = 0
        self._started = time.monotonic()
        self.end("start")

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Leave validation within the epoch out of its steps."""
        self.end("validation")

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """A step is done."""
        self._steps += 1
        self._examples += whole_size(pl_module, batch)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Write the epoch's row."""
        row = self._row(trainer.current_epoch, pl_module)
        self._rows.append({name: "" if row[name] is None else str(row[name]) for name in COLUMNS})
        if self._path is not None:
            text = io.StringIO()
            writer = csv.DictWriter(text, COLUMNS, lineterminator="\n", restval="", extrasaction="ignore")
            writer.writeheader()
            writer.writerows(self._rows)
            write_text_atomic(self._path, text.getvalue())

    def _row(self, epoch: int, module: L.LightningModule) -> dict[str, Any]:
        """The figures of the epoch by column; None is "not measured"."""
        seconds, cpu = dict.fromkeys(PARTS, 0.0), dict.fromkeys(PARTS, 0.0)
        spans = self._events.between(self._instants)
        used = [end - start for start, end in pairwise(self._cpu)]
        alone = self._device.type == "cpu"  # the host's own clock; a batch is already in its place
        wall = lasted = sum(spans) if alone else time.monotonic() - self._started
        for part, span, busy in zip(self._ends[1:], spans, used, strict=True):
            name = "load" if alone and part == "transfer" else part
            if name in PARTS:
                seconds[name] += span
                cpu[name] += busy
            else:
                wall -= span
        figures = self._gauge.read(self._started, lasted, sum(used))
        reasons = dict(figures.reasons)
        row: dict[str, Any] = {
            "epoch": epoch,
            "steps": self._steps,
            "examples": self._examples,
            "examples_per_second": f"{self._examples / wall:.1f}",
            **{f"{part}_seconds": f"{value:.6f}" for part, value in seconds.items()},
            "wall_seconds": f"{wall:.6f}",
            **{f"{part}_cpu_seconds": f"{value:.6f}" for part, value in cpu.items()},
            "load_share": f"{seconds['load'] / wall:.4f}",
            "verdict": verdict(seconds["load"] / wall),
            "micro_batch": getattr(module, "micro_batch", None),
            "skipped_steps": int(getattr(module, "skipped_steps", 0)),
            "peak_device_bytes": figures.peak_device_bytes,
            "device_utilisation": None if figures.device_utilisation is None else f"{figures.device_utilisation:.4f}",
        }
        if alone:
            row["transfer_seconds"] = row["transfer_cpu_seconds"] = None
            reasons["transfer_seconds"] = "the batch is in the cpu's memory already"
        row["not_measured"] = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        # The first epoch of a session loads compiled code together with its first batch.
        if self._warm and not self._warned and wall > WORTH_A_WARNING and row["verdict"] == "loader-bound":
            self._warned = True
            log.warning(
                "epoch %d spent %.0f%% of its time waiting for data: the loader is too slow; see accelerator.workers",
                epoch,
                100 * seconds["load"] / wall,
            )
        self._warm = True
        return row
