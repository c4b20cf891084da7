"""A run's use of its machine, from its first phase to its summary."""

import contextlib
import logging
import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hexlit.accelerate.gauge import DeviceGauge, nvml_of
from hexlit.accelerate.memory import held_bytes
from hexlit.accelerate.process_file import remove_process_file, write_process_file
from hexlit.accelerate.process_tree import ProcessTree
from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.resources import RESOURCES_FILE, ResourceSampler
from hexlit.training.phases import ASIDE, PhaseClock

log = logging.getLogger(__name__)

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
