"""The utilisation of a run's device, and the most memory it took, over any part of the run's time."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from hexlit.accelerate.machine import ResourceSummary
from hexlit.accelerate.memory import peak_bytes, reset_peak
from hexlit.accelerate.nvml import Nvml


def nvml_of(device: torch.device) -> Nvml | None:
    """The driver with `device` as its only card; None if that is no cuda device."""
    if device.type != "cuda":
        return None
    return Nvml(f"GPU-{torch.cuda.get_device_properties(device).uuid}")


@dataclass(frozen=True)
class DeviceFigures:
    """Figures of a device. None is "not measured", never 0; `reasons` says why, by field."""

    device_utilisation: float | None
    """Share of the time that the device worked, 0 to 1; of its threads' time on a cpu."""
    peak_device_bytes: int | None
    """Largest amount of the device's own memory that tensors took."""
    reasons: dict[str, str] = field(default_factory=dict)


class DeviceGauge:
    """Reads the device of a run.

    The utilisation of a cpu is calculated from processor time, that of other devices from samples.
    """

    def __init__(
        self,
        device: torch.device,
        threads: int,
        sampled: Callable[[float, float], ResourceSummary] | None = None,
    ) -> None:
        """`threads` of the cpu; `sampled(start, end)` sums up the samples between instants of `time.monotonic()`."""
        self._device = device
        self._threads = threads
        self._sampled = sampled

    def restart(self) -> None:
        """Start a new peak of memory."""
        reset_peak(self._device)

    def read(self, started: float, seconds: float, cpu_seconds: float) -> DeviceFigures:
        """The figures of the `seconds` from `started` (on `time.monotonic()`); the processors took `cpu_seconds` in
        them.

        The peak of memory is that since `restart`.
        """
        peak, why_no_peak = peak_bytes(self._device)
        utilisation, why = self._utilisation(started, started + seconds, cpu_seconds)
        reasons = {"device_utilisation": why, "peak_device_bytes": why_no_peak}
        return DeviceFigures(utilisation, peak, {name: reason for name, reason in reasons.items() if reason})

    def _utilisation(self, started: float, ended: float, cpu_seconds: float) -> tuple[float | None, str]:
        if self._device.type == "cpu":
            whole = (ended - started) * self._threads
            return (min(1.0, cpu_seconds / whole), "") if whole > 0 else (None, "no time has passed")
        if self._device.type == "mps":
            return None, "macOS tells it to administrators only"
        if self._sampled is None:
            return None, "nothing samples the device"
        seen = self._sampled(started, ended)
        return seen.device_utilisation, seen.reasons.get("device_utilisation", "")
