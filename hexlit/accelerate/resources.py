"""What a tree of processes takes of the machine: processor, memory, and the memory and utilisation of the devices."""

import contextlib
import csv
import io
import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import psutil

from hexlit.accelerate.nvml import DeviceReading, Nvml
from hexlit.errors import UsageError

log = logging.getLogger(__name__)

Number = TypeVar("Number", int, float)

COLUMNS = (
    "seconds",
    "processes",
    "cpu_percent",
    "host_bytes",
    "device_bytes",
    "device_utilisation",
    "not_measured",
)

_SHORTEST_SPAN = 0.05  # seconds: the system counts processor time in steps of 0.01


class ProcessEndedError(Exception):
    """The process to be watched has ended, or was never there."""


@dataclass(frozen=True, slots=True)
class ResourceSample:
    """What a tree of processes takes at one instant. None is "not measured", never 0; `reasons` says why, by field."""

    seconds: float
    """Time since the watching began (`ProcessTree.began`), in seconds."""
    processes: int
    """Number of running processes, the root included."""
    cpu_percent: float | None
    """Processor time per time between the sample before and this one: 100 is one core busy. None in the first."""
    host_bytes: int | None
    """Resident memory, summed over the tree; pages that processes share count once for each of them."""
    device_bytes: int | None
    """Memory that the tree holds on the devices it sees, in bytes."""
    device_utilisation: float | None
    """Share of the time in which a kernel ran, 0 to 1, whoever's it was: the mean of the devices on which the tree
    holds memory, or else of all that it sees."""
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ResourceSummary:
    """Means and peaks of the samples of some time. None is "not measured", and `reasons` says why, by field."""

    samples: int
    cpu_percent: float | None
    """Mean; 100 is one core busy."""
    device_utilisation: float | None
    """Mean, 0 to 1."""
    host_bytes_peak: int | None
    device_bytes_peak: int | None
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass
class _Known:
    """Processor time that a process of the tree has taken so far, in seconds."""

    own: float = 0.0
    reaped: float = 0.0
    """Time of its ended children, which the system adds to it when it waits for them."""
    running: bool = True
    """False once it has ended and its parent has not taken note of that."""


class ProcessTree:
    """A process and all its descendants, to be sampled from outside or by the root itself.

    Descendants are remembered, so that they are still measured when their parent ends before them.

    Attributes:
        pid: the root.
        began: the instant of `time.monotonic()` at which the watching began.

    Args:
        pid: the root.
        nvml: the driver to ask, None for one that sees the devices which the root sees.

    Raises:
        ProcessEndedError: there is no such process.
    """

    def __init__(self, pid: int, nvml: Nvml | None = None) -> None:
        self.pid = pid
        self.began = time.monotonic()
        try:
            self._root = psutil.Process(pid)
        except psutil.NoSuchProcess as error:
            raise ProcessEndedError(f"there is no process {pid}") from error
        self._nvml = nvml or Nvml(_visible_devices(self._root))
        self._known: dict[Any, _Known] = {}
        self._sampled: float | None = None

    @property
    def alive(self) -> bool:
        """Whether the root runs; one that waits for its parent to take note of its end does not."""
        try:
            return bool(self._root.is_running() and self._root.status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False

    def sample(self) -> ResourceSample:
        """Measure the tree as it is now.

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
        """Memory that is free on the devices which the tree sees, all together, in bytes; None where it is unknown."""
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
        """Let go of the driver."""
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
        # A child's whole time goes to its parent when it is reaped: what it was seen to spend before counts once.
        gone = sum(known[process].own + known[process].reaped for process in known.keys() - self._known.keys())
        if "host_bytes" in reasons:
            return None, None
        return own + max(0.0, reaped - gone), host_bytes

    def _members(self, known: dict[Any, _Known]) -> set[Any]:
        """The root, its descendants, and those that outlived their parents, with theirs."""
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
            _all_or_none(held, sum, "device_bytes", _reason(readings, "process_bytes"), reasons),
            _all_or_none(busy, _mean, "device_utilisation", _reason(used, "utilisation"), reasons),
        )


class ResourceSampler:
    """Samples a tree every `interval` seconds in a thread of its own, from `start` (or `with`) to `stop`.

        with (
            contextlib.closing(ProcessTree(os.getpid())) as tree,
            ResourceSampler(tree, interval=1.0, csv_path=folder / "resources.csv") as sampler,
        ):
            start = time.monotonic()
            ...
            print(sampler.mean(start, time.monotonic()))

    A table that `csv_path` already holds is continued: each sampler's rows begin again near 0 seconds. Every row is
    written at once and whole.

    Attributes:
        samples: all samples so far.
        ended: set when the root of the tree has ended, after which nothing is sampled.

    Args:
        tree: what is sampled; who made it closes it.
        interval: seconds from one sample to the next.
        csv_path: the table to write, None for none.
        on_sample: called with every sample, in the sampler's thread.

    Raises:
        UsageError: the interval is not above 0; at `start`: the table cannot be written, or is another kind of file.
    """

    def __init__(
        self,
        tree: ProcessTree,
        interval: float,
        csv_path: Path | None = None,
        on_sample: Callable[[ResourceSample], None] | None = None,
    ) -> None:
        if not 0 < interval < float("inf"):
            raise UsageError(f"interval={interval}: must be above 0 seconds")
        self.tree = tree
        self.interval = interval
        self.csv_path = csv_path
        self.samples: list[ResourceSample] = []
        self.ended = threading.Event()
        self._on_sample = on_sample
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._table: int | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Take the first sample and go on in the background."""
        if self._thread is not None:
            raise RuntimeError("the sampler was started before")
        if self.csv_path is not None:
            self._table = _open_table(self.csv_path)
        self._thread = threading.Thread(target=self._sample_until_stopped, name="resources", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take a last sample, unless one was just taken, and end; a second call does nothing."""
        self._stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def mean(self, start: float | None = None, end: float | None = None) -> ResourceSummary:
        """Means and peaks of the samples taken after `start` and up to `end`, instants of `time.monotonic()`.

        A sample's processor time is that since the sample before it.
        """
        lowest = float("-inf") if start is None else start - self.tree.began
        highest = float("inf") if end is None else end - self.tree.began
        chosen = [sample for sample in tuple(self.samples) if lowest < sample.seconds <= highest]
        reasons: dict[str, str] = {}
        for sample in chosen:
            reasons.update(sample.reasons)

        def figure(name: str, source: str, combine: Callable[[list[Any]], Any]) -> Any:
            values = [value for sample in chosen if (value := getattr(sample, source)) is not None]
            why = reasons.get(source, "") if chosen else "no sample was taken in this time"
            return _all_or_none(values or [None], combine, name, why, missing)

        missing: dict[str, str] = {}
        return ResourceSummary(
            samples=len(chosen),
            cpu_percent=figure("cpu_percent", "cpu_percent", _mean),
            device_utilisation=figure("device_utilisation", "device_utilisation", _mean),
            host_bytes_peak=figure("host_bytes_peak", "host_bytes", max),
            device_bytes_peak=figure("device_bytes_peak", "device_bytes", max),
            reasons=missing,
        )

    def _sample_until_stopped(self) -> None:
        due = time.monotonic()
        try:
            while True:
                self._take()
                missed = int((time.monotonic() - due) / self.interval)  # a slow sample delays none but itself
                due += (missed + 1) * self.interval
                if self._stopping.wait(max(0.0, due - time.monotonic())):
                    break
            if due - time.monotonic() < self.interval / 2 or len(self.samples) == 1:
                self._take()
        except ProcessEndedError:
            self.ended.set()
        finally:
            if self._table is not None:
                os.close(self._table)
                self._table = None

    def _take(self) -> None:
        sample = self.tree.sample()
        if self.samples and self.samples[-1].reasons == sample.reasons:
            sample = replace(sample, reasons=self.samples[-1].reasons)  # one dictionary for a long run's samples
        self.samples.append(sample)
        if self._table is not None:
            try:
                os.write(self._table, _row(sample))
            except OSError as error:
                log.warning("%s is not continued: %s", self.csv_path, error.strerror)
                os.close(self._table)
                self._table = None
        if self._on_sample is not None:
            self._on_sample(sample)


def recommended_trials(
    cores: int,
    free_host_bytes: int,
    host_bytes_a_trial: int,
    free_device_bytes: int | None = None,
    device_bytes_a_trial: int | None = None,
    cores_a_trial: float = 1,
) -> tuple[int, str]:
    """How many trials fit side by side, at least 1, and what sets the limit: host memory, cores or device memory.

    What is None or 0 for a trial does not limit.
    """
    fits = {"host memory": free_host_bytes // host_bytes_a_trial} if host_bytes_a_trial > 0 else {}
    fits["cores"] = int(cores / cores_a_trial)
    if free_device_bytes is not None and device_bytes_a_trial:
        fits["device memory"] = free_device_bytes // device_bytes_a_trial
    limit = min(fits, key=lambda name: fits[name])
    return max(1, fits[limit]), limit


def _visible_devices(process: Any) -> str | None:
    """CUDA_VISIBLE_DEVICES of `process`; that of this one where the other's may not be read."""
    if process.pid != os.getpid():
        try:
            value: str | None = process.environ().get("CUDA_VISIBLE_DEVICES")
            return value
        except (psutil.Error, OSError):
            pass
    return os.environ.get("CUDA_VISIBLE_DEVICES")


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _all_or_none(
    values: list[Number | None],
    combine: Callable[[list[Number]], Number],
    name: str,
    why: str,
    reasons: dict[str, str],
) -> Number | None:
    """The values combined; None, with the reason under `name`, where one of them is missing."""
    there = [value for value in values if value is not None]
    if len(there) == len(values):
        return combine(there)
    reasons[name] = why
    return None


def _reason(readings: list[DeviceReading], name: str) -> str:
    return next((reading.reasons[name] for reading in readings if name in reading.reasons), "not measured")


def _open_table(path: Path) -> int:
    """A file descriptor that appends to `path`, which has its header then and ends with a whole row."""
    header = (",".join(COLUMNS) + "\n").encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        table = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o644)
        try:
            content = path.read_bytes()
            if not content:
                os.write(table, header)
            elif not content.startswith(header):
                raise UsageError(f"csv={path}: holds something else than a table of resources; name another file")
            elif not content.endswith(b"\n"):  # the machine went down while a row was written
                os.truncate(table, content.rindex(b"\n") + 1)
        except BaseException:
            os.close(table)
            raise
    except OSError as error:
        raise UsageError(f"csv={path}: cannot be written ({error.strerror}); name another file") from error
    return table


def _row(sample: ResourceSample) -> bytes:
    text = io.StringIO()
    figures = (
        f"{sample.seconds:.3f}",
        sample.processes,
        _cell(sample.cpu_percent, 1),
        _cell(sample.host_bytes, 0),
        _cell(sample.device_bytes, 0),
        _cell(sample.device_utilisation, 3),
        "; ".join(f"{name}: {why}" for name, why in sample.reasons.items()),
    )
    csv.writer(text, lineterminator="\n").writerow(figures)
    return text.getvalue().encode()


def _cell(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
