"""A process and all its descendants, measured from outside: processor, memory, and use of the devices."""

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psutil

from hexlit.accelerate.nvml import DeviceReading, Nvml

Number = TypeVar("Number", int, float)

_SHORTEST_SPAN = 0.05  # seconds: the system counts processor time in steps of 0.01


class ProcessEndedError(Exception):
    """The watched process has ended, or never existed."""


@dataclass(frozen=True, slots=True)
class ResourceSample:
    """Resources of a tree of processes at one instant. None is "not measured", never 0; see `reasons`, by field."""

    seconds: float
    """Time since the watch began (`ProcessTree.began`), in seconds."""
    processes: int
    """Number of running processes, the root included."""
    cpu_percent: float | None
    """Processor time per time since the previous sample: 100 is one busy core. None in the first sample."""
    host_bytes: int | None
    """Resident memory, summed over the tree; shared pages count once for each process."""
    device_bytes: int | None
    """Memory that the tree holds on its visible devices, in bytes; or the amount that its root reports for itself."""
    device_utilisation: float | None
    """Share of the time with a running kernel, 0 to 1, of any process. It is the mean over the devices that hold
    memory of the tree, or else over all visible ones."""
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass
class _Known:
    """Processor time of a process of the tree so far, in seconds."""

    own: float = 0.0
    reaped: float = 0.0
    """Time of its ended children, which the system adds when it waits for them."""
    running: bool = True
    """False once it has ended and its parent has not yet noticed."""


class ProcessTree:
    """A process and all its descendants, to be sampled from outside or by the root itself.

    Descendants are remembered, so that they are still measured when their parent ends first.

    Attributes:
        pid: the root.
        began: start of the watch, an instant of `time.monotonic()`.

    Args:
        pid: the root.
        nvml: the driver to ask, None for one that sees the root's visible devices.
        own_device_bytes: bytes that the root holds of its device by its own account, if it is this process. Used if
            the driver does not tell, as in containers and on a Mac.

    Raises:
        ProcessEndedError: there is no such process.
    """

    def __init__(
        self, pid: int, nvml: Nvml | None = None, own_device_bytes: Callable[[], int | None] = lambda: None
    ) -> None:
        self.pid = pid
        self.began = time.monotonic()
        try:
            self._root = psutil.Process(pid)
        except psutil.NoSuchProcess as error:
            raise ProcessEndedError(f"there is no process {pid}") from error
        self._own_device_bytes = own_device_bytes
        self._nvml = nvml or Nvml(_visible_devices(self._root))
        self._known: dict[Any, _Known] = {}
        self._sampled: float | None = None

    @property
    def alive(self) -> bool:
        """Whether the root runs; an ended one whose parent has not noticed does not run."""
        try:
            return bool(self._root.is_running() and self._root.status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:
            return True

    def sample(self) -> ResourceSample:
        """Measure the tree in its present state.

        Raises:
            ProcessEndedError: the root has ended.
        """
        if not self.alive:
            raise ProcessEndedError(f"process {self.pid} has ended")
        reasons: dict[str, str] = {}
        before, now = self._sampled, time.monotonic()
        spent, host_bytes = self._measure(reasons)
        self._sampled = now
        cpu_percent = None
        if before is None:
            reasons["cpu_percent"] = "the first sample has none before it"
        elif now - before < _SHORTEST_SPAN:
            reasons["cpu_percent"] = "too soon after the sample before"
        elif spent is not None:
            cpu_percent = 100.0 * spent / (now - before)
        device_bytes, utilisation = self._measure_devices(reasons)
        if device_bytes is None and (device_bytes := self._own_device_bytes()) is not None:
            del reasons["device_bytes"]
        if self._root not in self._known or not self._known[self._root].running:
            raise ProcessEndedError(f"process {self.pid} has ended")
        return ResourceSample(
            seconds=now - self.began,
            processes=sum(known.running for known in self._known.values()),
            cpu_percent=cpu_percent,
            host_bytes=host_bytes,
            device_bytes=device_bytes,
            device_utilisation=utilisation,
            reasons=reasons,
        )

    def free_device_bytes(self) -> int | None:
        """Free memory on all devices that the tree sees together, in bytes; None if it is unknown."""
        readings = [] if self._nvml.reason else self._nvml.read()
        if not readings:
            return None
        free = 0
        for reading in readings:
            if reading.total_bytes is None or reading.used_bytes is None:
                return None
            free += reading.total_bytes - reading.used_bytes
        return free

    def close(self) -> None:
        """Release the driver."""
        self._nvml.close()

    def _measure(self, reasons: dict[str, str]) -> tuple[float | None, int | None]:
        """Processor seconds since the last call, and resident bytes; processes that end meanwhile are left out."""
        known, self._known = self._known, {}
        own, reaped, host_bytes = 0.0, 0.0, 0
        for process in self._members(known):
            earlier = known.get(process) or _Known()
            try:
                with process.oneshot():
                    times, running = process.cpu_times(), process.status() != psutil.STATUS_ZOMBIE
                    memory = process.memory_info() if running else None
            except (psutil.NoSuchProcess, ProcessLookupError):
                continue
            except psutil.AccessDenied:
                why = f"no permission to look into process {process.pid}"
                reasons.update(cpu_percent=why, host_bytes=why)
                self._known[process] = earlier
                continue
            latest = _Known(times.user + times.system, times.children_user + times.children_system, running)
            own += max(0.0, latest.own - earlier.own)
            reaped += max(0.0, latest.reaped - earlier.reaped)
            host_bytes += memory.rss if memory is not None else 0
            self._known[process] = latest
        # A child's whole time goes to its parent when it is reaped: the part measured before must not count twice.
        gone = sum(known[process].own + known[process].reaped for process in known.keys() - self._known.keys())
        if "host_bytes" in reasons:
            return None, None
        return own + max(0.0, reaped - gone), host_bytes

    def _members(self, known: dict[Any, _Known]) -> set[Any]:
        """The root, its descendants, and descendants that outlived their parents, with theirs."""
        members: set[Any] = set()
        for process in (self._root, *known):
            if process not in members and process.is_running():
                members.add(process)
                with contextlib.suppress(psutil.Error):  # it ended just now
                    members.update(process.children(recursive=True))
        return members

    def _measure_devices(self, reasons: dict[str, str]) -> tuple[int | None, float | None]:
        if self._nvml.reason:
            reasons.update(device_bytes=self._nvml.reason, device_utilisation=self._nvml.reason)
            return None, None
        readings = self._nvml.read({process.pid for process in self._known})
        used = [reading for reading in readings if reading.process_bytes] or readings
        held = [reading.process_bytes for reading in readings]
        busy = [reading.utilisation for reading in used]
        return (
            all_or_none(held, sum, "device_bytes", _reason(readings, "process_bytes"), reasons),
            all_or_none(busy, mean, "device_utilisation", _reason(used, "utilisation"), reasons),
        )


def mean(values: list[float]) -> float:
    """Mean of one value or more."""
    return sum(values) / len(values)


def all_or_none(
    values: list[Number | None],
    combine: Callable[[list[Number]], Number],
    name: str,
    why: str,
    reasons: dict[str, str],
) -> Number | None:
    """The values combined; None, with the reason under `name`, if one of them is missing."""
    there = [value for value in values if value is not None]
    if len(there) == len(values):
        return combine(there)
    reasons[name] = why
    return None


def _visible_devices(process: Any) -> str | None:
    """CUDA_VISIBLE_DEVICES of `process`; that of this process if the other's cannot be read."""
    if process.pid != os.getpid():
        try:
            value: str | None = process.environ().get("CUDA_VISIBLE_DEVICES")
            return value
        except (psutil.Error, OSError):
            pass
    return os.environ.get("CUDA_VISIBLE_DEVICES")


def _reason(readings: list[DeviceReading], name: str) -> str:
    return next((reading.reasons[name] for reading in readings if name in reading.reasons), "not measured")
