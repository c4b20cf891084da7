"""The resources of a tree of processes over time, and how many such trees fit at a time."""

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
from typing import Any, Self

from hexlit.accelerate.process_tree import ProcessEndedError, ProcessTree, ResourceSample, all_or_none, mean
from hexlit.errors import UsageError

log = logging.getLogger(__name__)

RESOURCES_FILE = "resources.csv"
"""Table of a run's samples, in its folder."""
COLUMNS = (
    "seconds",
    "processes",
    "cpu_percent",
    "host_bytes",
    "device_bytes",
    "device_utilisation",
    "not_measured",
)
_LONGEST_ROW = 4096  # bytes


@dataclass(frozen=True)
class ResourceSummary:
    """Means and peaks of the samples of some time. None is "not measured", and `reasons` says why, by field."""

    samples: int
    cpu_percent: float | None
    """Mean processor use; 100 is one busy core."""
    device_utilisation: float | None
    """Mean utilisation, 0 to 1."""
    host_bytes_peak: int | None
    device_bytes_peak: int | None
    reasons: dict[str, str] = field(default_factory=dict)


class ResourceSampler:
    """Samples a tree every `interval` seconds in a thread of its own, from `start` (or `with`) to `stop`.

        with (
            contextlib.closing(ProcessTree(os.getpid())) as tree,
            ResourceSampler(tree, interval=1.0, csv_path=folder / "resources.csv") as sampler,
        ):
            start = time.monotonic()
            ...
            print(sampler.mean(start, time.monotonic()))

    An existing table at `csv_path` is continued: each sampler's rows begin again near 0 seconds. Every row is written
    at once and whole.

    Attributes:
        samples: all samples so far.
        ended: set when the root of the tree has ended; sampling stops then.

    Args:
        tree: the processes to sample; the caller closes it.
        interval: time between two samples, in seconds.
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
        """Take the first sample and continue in the background."""
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

        The processor time of a sample is that since the previous one.
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
            return all_or_none(values or [None], combine, name, why, missing)

        missing: dict[str, str] = {}
        return ResourceSummary(
            samples=len(chosen),
            cpu_percent=figure("cpu_percent", "cpu_percent", mean),
            device_utilisation=figure("device_utilisation", "device_utilisation", mean),
            host_bytes_peak=figure("host_bytes_peak", "host_bytes", max),
            device_bytes_peak=figure("device_bytes_peak", "device_bytes", max),
            reasons=missing,
        )

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


def _open_table(path: Path) -> int:
    """A file descriptor that appends to `path`, which then has its header and ends with a whole row."""
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
