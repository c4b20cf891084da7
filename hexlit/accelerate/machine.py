"""What runs on a machine and what it takes: trees of processes, and samples of them over time.

It imports no torch, so that light commands can use it. A figure that cannot be read is None, never
0, with the reason.
"""

import contextlib
import csv
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import IO, Any, Self

import psutil

from hexlit.accelerate.nvml import Nvml
from hexlit.errors import UsageError
from hexlit.files import read_json, write_json_atomic

log = logging.getLogger(__name__)

RESOURCES_FILE, PROCESS_FILE = "resources.csv", "process.json"
"""A run's table of samples, and the file that names its process, in its folder."""
COLUMNS = (
    "seconds",
    "processes",
    "cpu_percent",
    "host_bytes",
    "device_bytes",
    "device_utilisation",
    "not_measured",
)
# seconds: the system computes the start of a process from the clock, which may be set meanwhile
_CLOCK_STEPS = 2.0


@dataclass(frozen=True, slots=True)
class ResourceSample:
    """Resources of a tree of processes at one instant, or over some time; a None has its reason in
    `reasons`, by field.

    Over some time the shares are means, and all others are peaks.
    """

    seconds: float
    """Time since the watch began (`ProcessTree.began`), in seconds."""
    processes: int
    """Number of running processes, the root included."""
    cpu_percent: float | None
    """Processor time per time since the previous sample: 100 is one busy core. None in the first
    sample.
    """
    host_bytes: int | None
    """Resident memory, summed over the tree; shared pages count once for each process."""
    device_bytes: int | None
    """Memory that the tree holds on its visible devices, in bytes; or the amount that its root
    reports for itself.
    """
    device_utilisation: float | None
    """Share of the time with a running kernel, 0 to 1, of any process. It is the mean over the
    devices that hold memory of the tree, or else over all visible ones.
    """
    reasons: dict[str, str] = field(default_factory=dict)


class ProcessTree:
    """A process and all its descendants, to be sampled from outside or by the root itself.

    Descendants are remembered, so that they are still measured when their parent ends first.

    Attributes:
        pid: the root.
        began: start of the watch, an instant of `time.monotonic()`.
        nvml: the driver that is asked.

    Args:
        pid: the root.
        nvml: the driver to ask, None for one that sees the root's visible devices.
        own_device_bytes: bytes that the root holds of its device by its own account, if it is this
            process. Used if the driver does not report it, as in containers and on a Mac.

    Raises:
        psutil.NoSuchProcess: there is no such process.
    """

    def __init__(
        self,
        pid: int,
        nvml: Nvml | None = None,
        own_device_bytes: Callable[[], int | None] = lambda: None,
    ) -> None:
        self.pid = pid
        self.began = time.monotonic()
        self._root = psutil.Process(pid)
        self._own_device_bytes = own_device_bytes
        self.nvml = nvml or Nvml(_visible_devices(self._root))
        self._known: dict[Any, Any] = {
            self._root: self._root
        }  # psutil counts the time of a process in its object
        self._unmeasured = {"cpu_percent": "the first sample has none before it"}

    @property
    def alive(self) -> bool:
        """Whether the root runs; an ended one whose parent has not noticed does not run."""
        return is_alive(self._root)

    def sample(self) -> ResourceSample:
        """Measure the tree in its present state.

        Raises:
            psutil.NoSuchProcess: the root has ended.
        """
        reasons, self._unmeasured = self._unmeasured, {}
        now, percent, host_bytes = time.monotonic(), 0.0, 0
        self._known = {process: self._known.get(process, process) for process in self._members()}
        for process in self._known.values():
            try:
                percent += process.cpu_percent()
                host_bytes += process.memory_info().rss
            except psutil.AccessDenied:
                why = f"no permission to look into process {process.pid}"
                reasons.update(cpu_percent=why, host_bytes=why)
            except psutil.NoSuchProcess:
                pass  # it ended just now
        if not self.alive:
            raise psutil.NoSuchProcess(self.pid)
        device_bytes, utilisation, unread = self.nvml.usage(
            {process.pid for process in self._known}
        )
        if device_bytes is None:
            device_bytes = self._own_device_bytes()
            if device_bytes is not None:
                del unread["device_bytes"]
        return ResourceSample(
            seconds=now - self.began,
            processes=len(self._known),
            cpu_percent=None if "cpu_percent" in reasons else percent,
            host_bytes=None if "host_bytes" in reasons else host_bytes,
            device_bytes=device_bytes,
            device_utilisation=utilisation,
            reasons=reasons | unread,
        )

    def close(self) -> None:
        """Release the driver."""
        self.nvml.close()

    def _members(self) -> set[Any]:
        """The root, its descendants, and descendants that outlived their parents, with theirs."""
        members: set[Any] = set()
        pending = list(self._known)
        while pending:
            process = pending.pop()
            if process not in members and is_alive(process):
                members.add(process)
                with contextlib.suppress(psutil.Error):  # it ended just now
                    pending += _children_of(process)
        return members


def _children_of(process: Any) -> list[Any]:
    """The children of `process`, by Linux's own list where there is one: psutil reads all processes
    of the machine.
    """
    lists = list(Path(f"/proc/{process.pid}/task").glob("*/children"))
    if not lists:
        return list(process.children())
    result = []
    for path in lists:  # one for each thread
        with contextlib.suppress(OSError):  # the thread ended just now
            for pid in path.read_text().split():
                with contextlib.suppress(psutil.NoSuchProcess):
                    result.append(psutil.Process(int(pid)))
    return result


def is_alive(process: Any) -> bool:
    """Whether the process of psutil runs; one that has ended before its parent noticed does not."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def _visible_devices(process: Any) -> str | None:
    """CUDA_VISIBLE_DEVICES of `process`; that of this process if the other's cannot be read."""
    environment: Mapping[str, str] = os.environ
    if process.pid != os.getpid():
        with contextlib.suppress(psutil.Error, OSError):
            environment = process.environ()
    return environment.get("CUDA_VISIBLE_DEVICES")


@dataclass(eq=False)
class ResourceSampler:
    """Samples a tree every `interval` seconds in a thread of its own, within a `with` block.

        with (
            contextlib.closing(ProcessTree(os.getpid())) as tree,
            ResourceSampler(tree, interval=1.0, csv_path=folder / "resources.csv") as sampler,
        ):
            start = time.monotonic()
            ...
            print(sampler.summary(start, time.monotonic()))

    An existing table at `csv_path` is continued: each sampler's rows begin again near 0 seconds.

    Raises:
        UsageError: at the start of the block: the table cannot be written, or is another kind of
            file.
    """

    tree: ProcessTree
    """The processes to sample; the caller closes it."""
    interval: float
    """Time between two samples, in seconds."""
    csv_path: Path | None = None
    """The table to write, None for none."""
    on_sample: Callable[[ResourceSample], None] = lambda sample: None
    """Called with every sample, in the sampler's thread."""
    samples: list[ResourceSample] = field(default_factory=list, init=False)
    """All samples so far."""
    ended: threading.Event = field(default_factory=threading.Event, init=False)
    """Set when the root of the tree has ended; sampling stops then."""

    def __enter__(self) -> Self:
        self._table = None if self.csv_path is None else _open_table(self.csv_path)
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._sample_until_stopped, name="resources", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Take a last sample, unless one was just taken, and end."""
        self._stopping.set()
        self._thread.join()
        if self._table is not None:
            self._table.close()

    def summary(self, start: float = -math.inf, end: float = math.inf) -> ResourceSample:
        """Means and peaks of the samples taken after `start` and up to `end`, instants of
        `time.monotonic()`.

        The processor time of a sample is that since the previous one.
        """
        chosen = [
            one for one in tuple(self.samples) if start < one.seconds + self.tree.began <= end
        ]
        figures: dict[str, Any] = {"seconds": 0.0, "processes": 0}
        reasons: dict[str, str] = {}
        for name in COLUMNS[:-1]:
            column = [getattr(sample, name) for sample in chosen]
            values = [value for value in column if value is not None]
            if values:
                is_share = name in ("cpu_percent", "device_utilisation")
                figures[name] = fmean(values) if is_share else max(values)
            elif name not in figures:
                why = [sample.reasons[name] for sample in chosen if name in sample.reasons]
                figures[name], reasons[name] = (
                    None,
                    why[-1] if why else "no sample was taken in this time",
                )
        return ResourceSample(**figures, reasons=reasons)

    def _sample_until_stopped(self) -> None:
        try:
            self._take()
            while not self._stopping.wait(self.interval):
                self._take()
            latest = self.samples[-1].seconds + self.tree.began
            if time.monotonic() - latest > self.interval / 2 or len(self.samples) == 1:
                self._take()
        except psutil.NoSuchProcess:
            self.ended.set()

    def _take(self) -> None:
        sample = self.tree.sample()
        self.samples.append(sample)
        if self._table is not None:
            values, why = (getattr(sample, name) for name in COLUMNS[:-1]), sample.reasons.items()
            figures = [None if value is None else round(value, 3) for value in values]
            try:
                csv.writer(self._table, lineterminator="\n").writerow(
                    [*figures, "; ".join(map(": ".join, why))]
                )
            except OSError as error:
                log.warning("%s is not continued: %s", self.csv_path, error.strerror)
                self._table = None
        self.on_sample(sample)


def recommended_trials(
    resources: Mapping[str, tuple[float | None, float | None]],
) -> tuple[int, str]:
    """How many trials fit at a time, at least 1, and the limiting resource, the first of the
    scarcest.

    `resources` has the free amount of each resource, such as `host memory`, and that of a trial;
    one with None or 0 does not limit.
    """
    fits = {
        name: int(free / need)
        for name, (free, need) in resources.items()
        if free is not None and need
    }
    limit = min(fits, key=lambda name: fits[name])
    return max(1, fits[limit]), limit


def last_device_bytes(path: Path) -> int | None:
    """The device memory in the last whole row of the table at `path`; None without one, or for
    another kind of file.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        whole = path.read_text(encoding="utf-8").rpartition("\n")[0]
        return int([*csv.reader(whole.splitlines())][-1][COLUMNS.index("device_bytes")])
    return None


def _open_table(path: Path) -> IO[str]:
    """The table at `path`, to append rows; it has its header and ends with a whole row."""
    header = ",".join(COLUMNS) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        table = path.open(
            "a+", buffering=1, encoding="utf-8", newline=""
        )  # every row is written at once
        table.seek(0)
        content = table.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"csv={path}: cannot be written ({error}); name another file") from error
    if content and not content.startswith(header):
        table.close()
        raise UsageError(
            f"csv={path}: holds something else than a table of resources; name another file"
        )
    table.truncate(
        len(content[: content.rfind("\n") + 1].encode())
    )  # a row may be torn, if the machine went down
    if not content:
        table.write(header)
    return table


@dataclass(frozen=True)
class RunProcess:
    """The process that works, or worked, in a run's folder."""

    pid: int
    create_time: float
    """Start of the process in seconds since 1970, which distinguishes it from a later one with the
    same number.
    """

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.pid)
            return (
                is_alive(process)
                and abs(float(process.create_time()) - self.create_time) <= _CLOCK_STEPS
            )
        return False


def write_process_file(folder: Path) -> None:
    """Record in `folder` that this process works there."""
    write_json_atomic(
        folder / PROCESS_FILE, {"pid": os.getpid(), "create_time": psutil.Process().create_time()}
    )


def remove_process_file(folder: Path) -> None:
    """Remove the file; one that names another process stays."""
    process = read_process_file(folder)
    if process is not None and process.pid == os.getpid():
        (folder / PROCESS_FILE).unlink(missing_ok=True)


def read_process_file(folder: Path) -> RunProcess | None:
    """The process named in `folder`; None without such a file, or if hexlit did not write it."""
    facts = read_json(folder / PROCESS_FILE)
    return (
        RunProcess(facts["pid"], facts["create_time"])
        if facts.keys() >= {"pid", "create_time"}
        else None
    )


def newest_live_run(runs: Path) -> tuple[Path, RunProcess] | None:
    """Folder and process of the running run below `runs` that started last; None without a running
    one.

    A run is two or three folders down: `NAME/DATE_TIME_ID`, or `NAME/DATE_TIME_ID/NUMBER` in a
    sweep.
    """
    live = []
    for file in (*runs.glob(f"*/*/{PROCESS_FILE}"), *runs.glob(f"*/*/*/{PROCESS_FILE}")):
        process = read_process_file(file.parent)
        if process is not None and process.alive:
            live.append((file.parent, process))
    return max(live, key=lambda run: run[1].create_time, default=None)
