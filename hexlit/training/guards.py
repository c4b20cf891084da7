"""Guards of a run against losses that are no numbers and full memory, and its use of the machine."""

import contextlib
import logging
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import lightning as L
import torch

from hexlit.accelerate.events import on_its_way
from hexlit.accelerate.gauge import DeviceGauge, nvml_of
from hexlit.accelerate.memory import held_bytes
from hexlit.accelerate.process_file import remove_process_file, write_process_file
from hexlit.accelerate.process_tree import ProcessTree
from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.resources import RESOURCES_FILE, ResourceSampler
from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.training.batches import tensors_of
from hexlit.training.phases import ASIDE, PhaseClock

log = logging.getLogger(__name__)

MB = 10**6

TOO_MANY_SKIPPED = 10
"""Steps in a row without finite gradients that end a run."""


class FiniteGuard(L.Callback):
    """Ends a run whose loss is NaN or infinite, and saves the batch that caused it in `nan_batch.pt`.

    A loss is read one step later: cuda has finished it by then, so there is no wait. Its gradients are not finite
    either, so it has changed no weight (see `TrainedModule`). Steps skipped because only their gradients were not
    finite are logged as `steps.skipped`, with a warning. Ten of them in a row, over epochs, end the run. With float16
    the scaler skips the first steps of a run, until its factor is small enough.
    """

    def __init__(self, folder: Path) -> None:
        """The batch is saved in `folder`."""
        self._path = folder / "nan_batch.pt"
        self._unseen: tuple[Callable[[], float], Any, int] | None = None
        self._steps = 0

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Check the loss of the step before."""
        self._steps += 1
        self._look(trainer)
        self._unseen = (on_its_way(outputs["loss"]), batch, batch_idx)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Check the loss of the last step, and count the skipped steps."""
        self._look(trainer)
        self._unseen = None
        skipped, steps = int(getattr(pl_module, "skipped_steps", 0)), int(trainer.num_training_batches)
        pl_module.log("steps.skipped", float(skipped))
        self._refuse_skipped(pl_module, TOO_MANY_SKIPPED)
        if skipped:
            log.warning(
                "epoch %d: %d of %d steps had gradients that were not finite, and changed no weight",
                trainer.current_epoch,
                skipped,
                steps,
            )

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """A run of fewer steps has learned nothing if it skipped them all."""
        if self._steps:
            self._refuse_skipped(pl_module, self._steps)

    def _refuse_skipped(self, module: L.LightningModule, most: int) -> None:
        in_a_row = int(getattr(module, "skipped_in_a_row", 0))
        if in_a_row >= most:
            raise UsageError(
                f"training: none of the latest {in_a_row} steps had finite gradients (epoch {module.current_epoch}); "
                "lower optimizer.lr, or use accelerator.precision=32-true"
            )

    def _look(self, trainer: L.Trainer) -> None:
        if self._unseen is None:
            return
        arriving, batch, step = self._unseen
        loss = arriving()
        if math.isfinite(loss):
            return
        with replacing(self._path) as part:
            torch.save(
                {
                    "batch": [tensor.cpu() for tensor in tensors_of(batch)],
                    "epoch": trainer.current_epoch,
                    "step": step,
                    "loss": loss,
                },
                part,
            )
        raise UsageError(
            f"training: the loss is {loss} at step {step} of epoch {trainer.current_epoch}; the batch is saved "
            f"in {self._path}; lower optimizer.lr, or use accelerator.precision=32-true"
        )


class MemoryWatch(L.Callback):
    """Logs the memory of each epoch in MB (10^6 bytes) as `memory.*`, and warns once above a threshold.

    Values that cannot be read are not logged.
    """

    def __init__(self, warning_mb: float, peaks: Callable[[int], Mapping[str, int | None]]) -> None:
        """Warn above `warning_mb`; `peaks(epoch)` gives the most bytes held in it, by place."""
        self._warning_mb = warning_mb
        self._peaks = peaks
        self._warned = False

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Log the memory, and warn."""
        found = self._peaks(trainer.current_epoch)
        figures = {f"{place}_mb": value / MB for place, value in found.items() if value is not None}
        pl_module.log_dict({f"memory.{name}": value for name, value in figures.items()})
        if not figures:
            return
        name = max(figures, key=lambda name: figures[name])
        if figures[name] > self._warning_mb and not self._warned:
            self._warned = True
            log.warning(
                "epoch %d: %s is %.0f, above accelerator.memory_warning=%g; a smaller accelerator.micro_batch or "
                "accelerator.checkpoint_gradients=true takes less of a device, fewer processes less of the host",
                trainer.current_epoch,
                name,
                figures[name],
                self._warning_mb,
            )


SAMPLED_EVERY = 1.0
"""Seconds between two rows of `resources.csv`; a sample takes about a millisecond."""

LEAST_BUSY = 0.9
"""Utilisation of an accelerator in training below this share causes a warning."""

WORTH_A_WARNING = 10.0
"""Trainings shorter than this many seconds cause no warning."""


class RunUsage:
    """Samples a run, its processes included, into `resources.csv`; inside its `with` block the run can also be watched.

    Attributes:
        clock: times the phases, with the figures of the device, into `phases.csv`.
        gauge: reads the device.
    """

    def __init__(self, folder: Path, profile: DeviceProfile, units: Sequence[str] = ("examples",)) -> None:
        """The run in `folder` on the device of `profile`; its phases count `units`."""
        self._folder = folder
        self._device = profile.device
        self._tree = ProcessTree(os.getpid(), nvml_of(profile.device), partial(held_bytes, profile.device))
        self._sampler = ResourceSampler(self._tree, SAMPLED_EVERY, folder / RESOURCES_FILE)
        self._open = contextlib.ExitStack()
        self.gauge = DeviceGauge(profile.device, profile.threads, self._sampler.mean)
        self.clock = PhaseClock(folder / "phases.csv", self.gauge, units)

    def __enter__(self) -> Self:
        self._open.enter_context(contextlib.closing(self._tree))
        self._open.enter_context(self._sampler)
        write_process_file(self._folder)
        self._open.callback(remove_process_file, self._folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def peaks(self, epoch: int) -> Mapping[str, int | None]:
        """Most bytes held in the latest epoch: on the `host`, as samples show, and on the `device`."""
        samples = self._sampler.samples
        latest = samples[-1].host_bytes if samples else None
        began = time.monotonic() - self.clock.epoch_seconds(epoch)
        return {"host": self._sampler.mean(began).host_bytes_peak or latest, "device": self.clock.peak(epoch)}

    def summary(self) -> dict[str, Any]:
        """Entries for `summary.json`: peaks of memory in bytes, and the utilisation of the device once it was warm."""
        totals = self.clock.totals()
        peaks = [row.peak_device_bytes for row in totals.values() if row.peak_device_bytes is not None]
        memory = {
            "host_peak_bytes": self._sampler.mean().host_bytes_peak,
            "device_peak_bytes": max(peaks, default=None),
        }
        steady = {name: self.clock.steady(name).device_utilisation for name in totals if name not in ASIDE}
        return {"memory": memory, "steady_utilisation": steady}

    def warn_of_idling(self) -> None:
        """Warn if an accelerator waited during the training of the network."""
        steady = self.clock.steady("training")
        busy, long_enough = steady.device_utilisation, steady.watched_seconds >= WORTH_A_WARNING
        if self._device.type != "cpu" and busy is not None and busy < LEAST_BUSY and long_enough:
            log.warning(
                "%s was busy in %.0f%% of the training; a larger accelerator.train_batch or net keeps it busier; "
                "steps.csv shows whether the loader is too slow",
                self._device,
                100 * busy,
            )
