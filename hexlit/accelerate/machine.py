"""What runs on a machine and what it takes: NVIDIA's driver, trees of processes, samples of them over time.

It imports no torch, so that light commands can use it. A figure that cannot be read is None, never 0, with the reason.
"""

import contextlib
import csv
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import psutil

from hexlit.accelerate.nvml import Nvml
from hexlit.errors import UsageError
from hexlit.files import write_text_atomic

log = logging.getLogger(__name__)

RESOURCES_FILE, PROCESS_FILE = "resources.csv", "process.json"
"""A run's table of samples, and the file that names its process, in its folder."""
COLUMNS = ("seconds", "processes", "cpu_percent", "host_bytes", "device_bytes", "device_utilisation", "not_measured")
_LONGEST_ROW = 4096  # bytes
_CLOCK_STEPS = 2.0  # seconds: the system computes the start of a process from the clock, which may be set meanwhile


class ProcessEndedError(Exception):
    """The watched process has ended, or never existed."""


@dataclass(frozen=True, slots=True)
class ResourceSample:
    """Resources of a tree of processes at one instant; a None has its reason in `reasons`, by field."""

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
        self._known: dict[Any, Any] = {self._root: self._root}  # psutil counts the time of a process in its object
        self._is_first = True

    @property
    def alive(self) -> bool:
        """Whether the root runs; an ended one whose parent has not noticed does not run."""
        return is_alive(self._root)

    def sample(self) -> ResourceSample:
        """Measure the tree in its present state.

        Raises:
            ProcessEndedError: the root has ended.
        """
        reasons: dict[str, str] = {}
        now, count, percent, host_bytes = time.monotonic(), 0, 0.0, 0
        self._known = {process: self._known.get(process, process) for process in self._members()}
        for process in self._known.values():
            try:
                with process.oneshot():
                    if process.status() == psutil.STATUS_ZOMBIE:
                        continue
                    percent += process.cpu_percent()
                    host_bytes += process.memory_info().rss
                count += 1
            except psutil.AccessDenied:
                count += 1
                why = f"no permission to look into process {process.pid}"
                reasons.update(cpu_percent=why, host_bytes=why)
            except psutil.NoSuchProcess:
                continue
        if not self.alive:
            raise ProcessEndedError(f"process {self.pid} has ended")
        if self._is_first:
            reasons["cpu_percent"] = "the first sample has none before it"
            self._is_first = False
        device_bytes, utilisation = self._measure_devices(reasons)
        if device_bytes is None and (device_bytes := self._own_device_bytes()) is not None:
            del reasons["device_bytes"]
        return ResourceSample(
            seconds=now - self.began,
            processes=count,
            cpu_percent=None if "cpu_percent" in reasons else percent,
            host_bytes=None if "host_bytes" in reasons else host_bytes,
            device_bytes=device_bytes,
            device_utilisation=utilisation,
            reasons=reasons,
        )

    def free_device_bytes(self) -> int | None:
        """Free memory on all devices that the tree sees together, in bytes; None if it is unknown."""
        readings = self._nvml.read()
        if not readings or any("used_bytes" in reading.reasons for reading in readings):
            return None
        return sum((reading.total_bytes or 0) - (reading.used_bytes or 0) for reading in readings)

    def close(self) -> None:
        """Release the driver."""
        self._nvml.close()

    def _members(self) -> set[Any]:
        """The root, its descendants, and descendants that outlived their parents, with theirs."""
        members: set[Any] = set()
        for process in self._known:
            if process not in members and is_alive(process):
                members.add(process)
                with contextlib.suppress(psutil.Error):  # it ended just now
                    members.update(child for child in process.children(recursive=True) if is_alive(child))
        return members

    def _measure_devices(self, reasons: dict[str, str]) -> tuple[int | None, float | None]:
        if self._nvml.reason:
            reasons.update(device_bytes=self._nvml.reason, device_utilisation=self._nvml.reason)
            return None, None
        readings = self._nvml.read({process.pid for process in self._known})
        used = [reading for reading in readings if reading.process_bytes] or readings
        reasons.update(("device_bytes", one.reasons["process_bytes"]) for one in readings if one.process_bytes is None)
        reasons.update(("device_utilisation", one.reasons["utilisation"]) for one in used if one.utilisation is None)
        return (
            None if "device_bytes" in reasons else sum(reading.process_bytes or 0 for reading in readings),
            None if "device_utilisation" in reasons else mean([reading.utilisation or 0.0 for reading in used]),
        )


def is_alive(process: Any) -> bool:
    """Whether the process of psutil runs; one that has ended before its parent noticed does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def mean(values: Sequence[float]) -> float:
    """Mean of one value or more."""
    return sum(values) / len(values)


def _visible_devices(process: Any) -> str | None:
    """CUDA_VISIBLE_DEVICES of `process`; that of this process if the other's cannot be read."""
    environment: Any = os.environ
    if process.pid != os.getpid():
        with contextlib.suppress(psutil.Error, OSError):
            environment = process.environ()
    value: str | None = environment.get("CUDA_VISIBLE_DEVICES")
    return value


@dataclass(frozen=True)
class ResourceSummary:
    """Means and peaks of the samples of some time; a None has its reason in `reasons`, by field."""

    samples: int
    cpu_percent: float | None
    """Mean processor use; 100 is one busy core."""
    device_utilisation: float | None
    """Mean utilisation, 0 to 1."""
    host_bytes_peak: int | None
    device_bytes_peak: int | None
    reasons: dict[str, str] = field(default_factory=dict)


class ResourceSampler:
    """Samples a tree every `interval` seconds in a thread of its own, within a `with` block.

        with (
            contextlib.closing(ProcessTree(os.getpid())) as tree,
            ResourceSampler(tree, interval=1.0, csv_path=folder / "resources.csv") as sampler,
        ):
            start = time.monotonic()
            ...
            print(sampler.mean(start, time.monotonic()))

    An existing table at `csv_path` is continued: each sampler's rows begin again near 0 seconds.

    Attributes:
        samples: all samples so far.
        ended: set when the root of the tree has ended; sampling stops then.

    Args:
        tree: the processes to sample; the caller closes it.
        interval: time between two samples, in seconds.
        csv_path: the table to write, None for none.
        on_sample: called with every sample, in the sampler's thread.

    Raises:
        UsageError: at the start of the block: the table cannot be written, or is another kind of file.
    """

    def __init__(
        self,
        tree: ProcessTree,
        interval: float,
        csv_path: Path | None = None,
        on_sample: Callable[[ResourceSample], None] = lambda sample: None,
    ) -> None:
        self.tree = tree
        self.interval = interval
        self.csv_path = csv_path
        self.samples: list[ResourceSample] = []
        self.ended = threading.Event()
        self._on_sample = on_sample
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._sample_until_stopped, name="resources", daemon=True)
        self._table: IO[str] | None = None

    def __enter__(self) -> Self:
        if self.csv_path is not None:
            self._table = _open_table(self.csv_path)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take a last sample, unless one was just taken, and end."""
        self._stopping.set()
        self._thread.join()

    def mean(self, start: float = -float("inf"), end: float = float("inf")) -> ResourceSummary:
        """Means and peaks of the samples taken after `start` and up to `end`, instants of `time.monotonic()`.

        The processor time of a sample is that since the previous one.
        """
        chosen = [one for one in tuple(self.samples) if start < one.seconds + self.tree.began <= end]
        figures: dict[str, Any] = {}
        reasons: dict[str, str] = {}
        for name, source, combine in (
            ("cpu_percent", "cpu_percent", mean),
            ("device_utilisation", "device_utilisation", mean),
            ("host_bytes_peak", "host_bytes", max),
            ("device_bytes_peak", "device_bytes", max),
        ):
            values = [value for sample in chosen if (value := getattr(sample, source)) is not None]
            figures[name] = combine(values) if values else None
            if not values:
                why = [sample.reasons[source] for sample in chosen if source in sample.reasons]
                reasons[name] = why[-1] if why else "no sample was taken in this time"
        return ResourceSummary(samples=len(chosen), **figures, reasons=reasons)

    def _sample_until_stopped(self) -> None:
        due = time.monotonic()
        try:
            while True:
                self._take()
                missed = int((time.monotonic() - due) / self.interval)  # a slow sample delays only itself
                due += (missed + 1) * self.interval
                if self._stopping.wait(max(0.0, due - time.monotonic())):
                    break
            if due - time.monotonic() < self.interval / 2 or len(self.samples) == 1:
                self._take()
        except ProcessEndedError:
            self.ended.set()
        finally:
            if self._table is not None:
                self._table.close()

    def _take(self) -> None:
        sample = self.tree.sample()
        self.samples.append(sample)
        if self._table is not None:
            try:
                csv.writer(self._table, lineterminator="\n").writerow(_row(sample))
                self._table.flush()
            except OSError as error:
                log.warning("%s is not continued: %s", self.csv_path, error.strerror)
                self._table = None
        self._on_sample(sample)


def recommended_trials(
    cores: int,
    free_host_bytes: int,
    host_bytes_a_trial: int,
    free_device_bytes: int | None = None,
    device_bytes_a_trial: int | None = None,
    cores_a_trial: float = 1,
) -> tuple[int, str]:
    """How many trials fit at a time, at least 1, and the limiting resource: host memory, cores or device memory.

    A resource with None or 0 for a trial does not limit.
    """
    fits = {"host memory": free_host_bytes // host_bytes_a_trial} if host_bytes_a_trial > 0 else {}
    fits["cores"] = int(cores / cores_a_trial)
    if free_device_bytes is not None and device_bytes_a_trial:
        fits["device memory"] = free_device_bytes // device_bytes_a_trial
    limit = min(fits, key=lambda name: fits[name])
    return max(1, fits[limit]), limit


def last_device_bytes(path: Path) -> int | None:
    """The device memory in the last whole row of the table at `path`; None without one, or for another kind of file."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LONGEST_ROW))
            last = file.read().rpartition(b"\n")[0].rpartition(b"\n")[2]
        row = next(csv.reader([last.decode("utf-8")]))
        return int(row[COLUMNS.index("device_bytes")])
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _open_table(path: Path) -> IO[str]:
    """The table at `path`, to append rows; it has its header and ends with a whole row."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        content = path.read_text(encoding="utf-8") if path.exists() else ""
        if content and not content.startswith(",".join(COLUMNS)):
            raise UsageError(f"csv={path}: holds something else than a table of resources; name another file")
        table = path.open("a", encoding="utf-8", newline="")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"csv={path}: cannot be written ({error}); name another file") from error
    if not content:
        csv.writer(table, lineterminator="\n").writerow(COLUMNS)
    elif not content.endswith("\n"):  # the machine went down while a row was written
        table.truncate(len(content[: content.rindex("\n") + 1].encode()))
    return table


def _row(sample: ResourceSample) -> list[Any]:
    digits = {"seconds": 3, "cpu_percent": 1, "device_utilisation": 3}
    values = {name: getattr(sample, name) for name in COLUMNS[:-1]}
    shown = [f"{value:.{digits.get(name, 0)}f}" if value is not None else "" for name, value in values.items()]
    return [*shown, "; ".join(f"{name}: {why}" for name, why in sample.reasons.items())]


@dataclass(frozen=True)
class RunProcess:
    """The process that works, or worked, in a run's folder."""

    pid: int
    create_time: float
    """Start of the process in seconds since 1970, which distinguishes it from a later one with the same number."""

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        try:
            process = psutil.Process(self.pid)
            return is_alive(process) and abs(float(process.create_time()) - self.create_time) <= _CLOCK_STEPS
        except psutil.NoSuchProcess:
            return False


def write_process_file(folder: Path) -> None:
    """Record in `folder` that this process works there."""
    facts = {"pid": os.getpid(), "create_time": psutil.Process().create_time()}
    write_text_atomic(folder / PROCESS_FILE, json.dumps(facts) + "\n")


def remove_process_file(folder: Path) -> None:
    """Remove the file; one that names another process stays."""
    result = read_process_file(folder)
    if result is not None and result.pid == os.getpid():
        (folder / PROCESS_FILE).unlink(missing_ok=True)


def read_process_file(folder: Path) -> RunProcess | None:
    """The process named in `folder`; None without such a file, or if hexlit did not write it."""
    try:
        facts = json.loads((folder / PROCESS_FILE).read_text(encoding="utf-8"))
        return RunProcess(int(facts["pid"]), float(facts["create_time"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def newest_live_run(runs: Path) -> tuple[Path, RunProcess] | None:
    """Folder and process of the running run below `runs` that started last; None without a running one.

    A run is two or three folders down: `NAME/DATE_TIME_ID`, or `NAME/DATE_TIME_ID/NUMBER` in a sweep.
    """
    folders = [path.parent for depth in ("*/*", "*/*/*") for path in runs.glob(f"{depth}/{PROCESS_FILE}")]
    live = [(folder, one) for folder in folders if (one := read_process_file(folder)) is not None and one.alive]
    return max(live, key=lambda run: run[1].create_time, default=None)
