"""A run's use of time, memory and the device: the parts of its steps in `steps.csv`, and the whole
of it.
"""

import contextlib
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import lightning as L
import torch

from hexlit.accelerate import machine
from hexlit.accelerate.events import Events
from hexlit.accelerate.memory import DeviceGauge, held_bytes, nvml_of, reset_peak
from hexlit.accelerate.profile import DeviceProfile
from hexlit.tracking.metric_names import EPOCH
from hexlit.training.batches import whole_size
from hexlit.training.phases import ASIDE, PER_SECOND, PhaseClock, PhaseTotals
from hexlit.training.tables import EpochTable

log = logging.getLogger(__name__)

PARTS = ("load", "transfer", "forward", "loss", "backward", "update")
"""Waiting for the batch; its transfer to the device; the network; the loss; the gradients; clipping
and the optimizer.

Adding up over ranks belongs to the last part.
"""

LOADER_BOUND = 0.1
"""The loader is the bottleneck above this share of an epoch's time spent waiting for data."""

WORTH_A_WARNING = 1.0
"""Epochs with fewer seconds of steps than this cause no warning."""


def verdict(load_share: float) -> str:
    """The bottleneck of an epoch that spent `load_share` of its time waiting for data."""
    return "loader-bound" if load_share > LOADER_BOUND else "compute-bound"


class StepClock(L.Callback):
    """Adds up the parts of every step of an epoch; they follow each other without a gap.

    `wall_seconds` runs from the epoch's start to the end of its last step. On cuda the seconds of a
    part are the device's, its waiting included, and `wall_seconds` are the host's, until the device
    has done that step. On mps both are the host's, and a part that waits for the device has the
    time of the work queued before. CPU seconds, and a cpu's utilisation, are those of this process
    with all its threads.
    """

    def __init__(
        self, path: Path | None, device: torch.device, gauge: DeviceGauge | None = None
    ) -> None:
        """Rows go to `path`, a whole file after each epoch; None: nowhere. `gauge` reads the
        device.
        """
        self.table = EpochTable(path)
        self._device = device
        self._gauge = gauge or DeviceGauge(device, threads=1)
        self._events = Events(device)
        self._marks: list[
            tuple[str, Any, float]
        ] = []  # end of a part: its name, the event, processor time
        self._warm = self._warned = False
        self._counts = self._counted = False

    def end(self, part: str) -> None:
        """Count the time since the last call for `part`, in a Trainer that has this callback. A call
        takes microseconds.
        """
        if self._counts:
            self._marks.append((part, self._events.record(), time.process_time()))

    def pause(self) -> None:
        """Count nothing for a while: nothing may be recorded within the capture of a graph."""
        self._counts, self._counted = False, self._counts

    def go_on(self) -> None:
        """Count again, if it did before the pause."""
        self._counts = self._counted

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Start counting here: the first batch is about to be loaded."""
        reset_peak(self._gauge.device)
        self._counts = True
        self._marks = []
        self._examples = self._steps = 0
        self._started = time.monotonic()
        self.end("start")

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Leave validation within the epoch out of its steps."""
        self.end("validation")

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """A step is done."""
        self._steps += 1
        self._examples += whole_size(pl_module, batch)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Write the epoch's row, and warn once of a slow loader."""
        row = self._row(trainer.current_epoch, pl_module)
        self.table.append(row)
        slow = float(row["wall_seconds"]) > WORTH_A_WARNING and row["verdict"] == "loader-bound"
        # The first epoch of a session loads compiled code with its first batch.
        if self._warm and not self._warned and slow:
            self._warned = True
            share = f"{float(row['load_share']):.0%}"
            log.warning(
                "epoch %d spent %s of its time waiting for data; see accelerator.workers",
                row["epoch"],
                share,
            )
        self._warm = True

    def _row(self, epoch: int, module: L.LightningModule) -> dict[str, Any]:
        """The figures of the epoch by column; None is "not measured"."""
        ends, instants, cpu_times = zip(*self._marks, strict=True)
        spans = self._events.between(instants)
        used = [end - start for start, end in pairwise(cpu_times)]
        seconds, cpu = dict.fromkeys(PARTS, 0.0), dict.fromkeys(PARTS, 0.0)
        alone = self._device.type == "cpu"  # the host's own clock; a batch is already in its place
        wall = lasted = sum(spans) if alone else time.monotonic() - self._started
        for part, span, busy in zip(ends[1:], spans, used, strict=True):
            name = "load" if alone and part == "transfer" else part
            if name in PARTS:
                seconds[name] += span
                cpu[name] += busy
            else:
                wall -= span
        utilisation, peak, reasons = self._gauge.read(self._started, lasted, sum(used))
        load_share = seconds["load"] / wall
        row: dict[str, Any] = {
            "epoch": epoch,
            "steps": self._steps,
            "examples": self._examples,
            "examples_per_second": f"{self._examples / wall:.1f}",
            **{f"{part}_seconds": f"{value:.6f}" for part, value in seconds.items()},
            "wall_seconds": f"{wall:.6f}",
            **{f"{part}_cpu_seconds": f"{value:.6f}" for part, value in cpu.items()},
            "load_share": f"{load_share:.4f}",
            "verdict": verdict(load_share),
            "micro_batch": getattr(module, "micro_batch", None),
            "skipped_steps": int(getattr(module, "skipped_steps", 0)),
            "peak_device_bytes": peak,
            "device_utilisation": None if utilisation is None else f"{utilisation:.4f}",
        }
        if alone:
            row["transfer_seconds"] = row["transfer_cpu_seconds"] = None
            reasons["transfer_seconds"] = "the batch is in the cpu's memory already"
        return row | {
            "not_measured": "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        }


SAMPLED_EVERY = 1.0
"""Seconds between two rows of `resources.csv`; a sample takes about a millisecond."""

LEAST_BUSY = 0.9
"""Utilisation of an accelerator in training below this share causes a warning."""

LONG_ENOUGH = 10.0
"""Trainings shorter than this many seconds cause no warning."""


class RunUsage(L.Callback):
    """Measures a run's use of time, memory and the device, its processes included.

    It logs the memory of each epoch in MB (10^6 bytes) as `memory.*`, and warns once above a
    threshold. Charts get `time.*`, `device.*` and `throughput.*` of the phases that have ended by
    then: all but `saving` and the rest of `between`. A value that cannot be read is not logged.
    This callback comes after the evaluation.

    Attributes:
        clock: times the phases, with the figures of the device, into `phases.csv`.
        steps: times the parts of the optimisation into `steps.csv`.
    """

    def __init__(
        self, folder: Path, profile: DeviceProfile, units: Sequence[str] = ("examples",)
    ) -> None:
        """The run in `folder` on the device of `profile`; its phases count `units`."""
        self._folder = folder
        self._device = profile.device
        self._warning_mb = profile.config.memory_warning
        self._warned = False
        self._tree = machine.ProcessTree(
            os.getpid(), nvml_of(profile.device), partial(held_bytes, profile.device)
        )
        self._sampler = machine.ResourceSampler(
            self._tree, SAMPLED_EVERY, folder / machine.RESOURCES_FILE
        )
        gauge = DeviceGauge(profile.device, profile.threads, self._sampler.summary)
        self.clock = PhaseClock(folder / "phases.csv", gauge, units)
        self.steps = StepClock(folder / "steps.csv", profile.device, gauge)

    @contextlib.contextmanager
    def sampling(self) -> Iterator[None]:
        """Sample the run into `resources.csv` inside the block, where it can also be watched."""
        with contextlib.closing(self._tree), self._sampler:
            machine.write_process_file(self._folder)
            try:
                yield
            finally:
                machine.remove_process_file(self._folder)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Log the memory and the times of the epoch."""
        epoch = trainer.current_epoch
        figures = {
            name: value / 10**6 for name, value in self.peaks(epoch).items() if value is not None
        }
        pl_module.log_dict({f"memory.{name}_mb": value for name, value in figures.items()})
        name = max(figures, key=lambda name: figures[name], default="")
        if name and figures[name] > self._warning_mb and not self._warned:
            self._warned = True
            limit = f"accelerator.memory_warning={self._warning_mb:g}"
            log.warning(
                "epoch %d: memory.%s_mb is %.0f, above %s", epoch, name, figures[name], limit
            )
        charts = {name: value for name, value in self._charts(epoch) if value is not None}
        for logger in trainer.loggers:
            logger.log_metrics(charts | {EPOCH: float(epoch)}, trainer.global_step - 1)

    def peaks(self, epoch: int) -> Mapping[str, int | None]:
        """Most bytes held in the latest epoch: on the `host`, as samples show, and on the `device`."""
        samples = self._sampler.samples
        latest = samples[-1].host_bytes if samples else None
        total = PhaseTotals.of(self.clock.epoch_rows(epoch).values())
        host = self._sampler.summary(time.monotonic() - total.wall_seconds).host_bytes
        return {"host": host or latest, "device": total.peak_device_bytes}

    def _charts(self, epoch: int) -> Iterator[tuple[str, float | None]]:
        for name, row in self.clock.epoch_rows(epoch).items():
            yield f"time.{name}_seconds", row.wall_seconds
            yield f"time.{name}_cpu_seconds", row.cpu_seconds
            yield f"device.{name}_utilisation", row.device_utilisation
            yield f"device.{name}_peak_bytes", row.peak_device_bytes
            for unit in row.counts:
                yield f"throughput.{name}_{unit}{PER_SECOND}", row.rate(unit)
        for name, value in (self.steps.table.rows or [{}])[-1].items():
            if value and name.endswith(("seconds", "load_share")):
                yield f"time.steps_{name}", float(value)
            if value and name == "device_utilisation":
                yield "device.steps_utilisation", float(value)

    def summary(self) -> dict[str, Any]:
        """Entries for `summary.json`: peaks of memory in bytes, and the utilisation of the device
        once it was warm.
        """
        totals = self.clock.totals()
        device_peak = PhaseTotals.of(totals.values()).peak_device_bytes
        memory = {
            "host_peak_bytes": self._sampler.summary().host_bytes,
            "device_peak_bytes": device_peak,
        }
        steady = {
            name: self.clock.steady(name).device_utilisation for name in totals if name not in ASIDE
        }
        return {"memory": memory, "steady_utilisation": steady}

    def warn_of_idling(self) -> None:
        """Warn if an accelerator waited during the training of the network."""
        steady = self.clock.steady("training")
        busy, long_enough = steady.device_utilisation, steady.wall_seconds >= LONG_ENOUGH
        if self._device.type != "cpu" and busy is not None and busy < LEAST_BUSY and long_enough:
            advice = "a larger accelerator.train_batch or net keeps it busier"
            log.warning(
                "%s was busy in %.0f%% of the training; %s", self._device, 100 * busy, advice
            )
