"""The phases of a run and their times: one row of `phases.csv` for every finished phase of every epoch."""

import csv
import io
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from hexlit.accelerate.gauge import DeviceFigures, DeviceGauge
from hexlit.errors import UsageError
from hexlit.files import write_text_atomic

COMPILING = "compiling"
"""Phase for compiling code, or for loading code compiled before."""

STARTING, BETWEEN, SAVING, FINISHING = "starting", "between", "saving", "finishing"
"""Time outside other phases: before the first epoch, inside epochs, after their last phase, after the last epoch."""

ONCE = (COMPILING, STARTING, FINISHING)
"""Phases of a session, not of an epoch: no pace includes them."""

ASIDE = (*ONCE, BETWEEN, SAVING)
"""Phases without work of the run."""


TIMES = (
    "wall_seconds",
    "cpu_seconds",
    "device_utilisation",
    "work_seconds",
    "network_seconds",
    "outside_network_share",
)
"""Columns before the counts of a phase, after `epoch` and `phase`."""

DEVICE = ("peak_device_bytes", "not_measured")
"""Columns after the counts and their rates."""

PER_SECOND = "_per_second"
"""Suffix of the name of a rate; the name of the counted unit comes before it."""


Number = TypeVar("Number", int, float)


def added(left: Number | None, right: Number | None) -> Number | None:
    """The sum; an unmeasured value counts as nothing. None where neither was measured."""
    return left if right is None else right if left is None else left + right


def added_counts(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    """The sums by unit; a unit of only one side is kept."""
    return {**left, **{unit: left.get(unit, 0) + count for unit, count in right.items()}}


@dataclass
class PhaseTotals:
    """Time and work of one phase, in one epoch or in all of them. None is "not measured", never 0."""

    epochs: int = 0
    """Number of finished phases in the sums."""
    wall_seconds: float = 0.0
    cpu_seconds: float | None = None
    """Processor time of this process and of its workers, all threads together; can exceed the wall time."""
    work_seconds: float = 0.0
    """Wall time of the work. It exceeds `wall_seconds` when the work ran beside other phases, and this phase waited for
    it. Rates and shares of the network refer to it."""
    network_seconds: float | None = None
    """Part of `work_seconds` that was spent waiting for the network."""
    counts: dict[str, int] = field(default_factory=dict)
    """Amount of work, by unit; a unit that was never counted is missing."""
    busy_seconds: float | None = None
    """Part of `watched_seconds` while the device worked."""
    watched_seconds: float = 0.0
    """Part of `wall_seconds` with known activity of the device."""
    peak_device_bytes: int | None = None
    """Largest amount of the device's own memory that tensors took."""
    not_measured: str = ""
    """Why figures of the device are None, for the latest of the phases."""

    @property
    def device_utilisation(self) -> float | None:
        """Share of the time that the device worked, 0 to 1; on a cpu, share of its threads' time."""
        if self.busy_seconds is None or self.watched_seconds <= 0.0:
            return None
        return self.busy_seconds / self.watched_seconds

    @property
    def outside_network_share(self) -> float | None:
        """Share of the working time that was spent outside the network, 0 to 1."""
        if self.network_seconds is None or self.work_seconds <= 0.0:
            return None
        return (self.work_seconds - self.network_seconds) / self.work_seconds

    def rate(self, unit: str) -> float | None:
        """Count of `unit` per second of the work."""
        count = self.counts.get(unit)
        return None if count is None or self.work_seconds <= 0.0 else count / self.work_seconds

    def as_dict(self, units: Sequence[str]) -> dict[str, float | int | str | None]:
        """Every number, and every count and rate of `units`, by column."""
        return {
            **{name: getattr(self, name) for name in TIMES},
            **{unit: self.counts.get(unit) for unit in units},
            **{unit + PER_SECOND: self.rate(unit) for unit in units},
            **{name: getattr(self, name) for name in DEVICE},
        }

    def include(self, other: "PhaseTotals") -> None:
        """Add the numbers of `other`; a number of only one of the two is kept."""
        self.epochs += other.epochs
        self.wall_seconds += other.wall_seconds
        self.work_seconds += other.work_seconds
        self.cpu_seconds = added(self.cpu_seconds, other.cpu_seconds)
        self.network_seconds = added(self.network_seconds, other.network_seconds)
        self.counts = added_counts(self.counts, other.counts)
        self.busy_seconds = added(self.busy_seconds, other.busy_seconds)
        self.watched_seconds += other.watched_seconds
        if other.peak_device_bytes is not None:
            self.peak_device_bytes = max(self.peak_device_bytes or 0, other.peak_device_bytes)
        self.not_measured = other.not_measured

    def include_device(self, figures: DeviceFigures) -> None:
        """Take over the readings of the device over the whole of this phase."""
        if figures.device_utilisation is not None:
            self.watched_seconds = self.wall_seconds
            self.busy_seconds = figures.device_utilisation * self.wall_seconds
        self.peak_device_bytes = figures.peak_device_bytes
        self.not_measured = "; ".join(f"{name}: {reason}" for name, reason in figures.reasons.items())


Row = tuple[int, str, PhaseTotals]
"""Epoch, name of the phase, and its time and work."""


def columns_of(units: Sequence[str]) -> tuple[str, ...]:
    """Columns of the table of a run whose phases count `units`."""
    return ("epoch", "phase", *PhaseTotals().as_dict(units))


def write_rows(path: Path, rows: Sequence[Row], units: Sequence[str]) -> None:
    """Write the table, whole or not at all."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns_of(units))
    for epoch, name, row in rows:
        table.writerow([epoch, name, *map(_format, row.as_dict(units).values())])
    write_text_atomic(path, text.getvalue())


def read_rows(path: Path, units: Sequence[str]) -> list[Row]:
    """Read the rows that `write_rows` wrote.

    Raises:
        UsageError: a row cannot be read; the message names its line.
    """
    rows = []
    with path.open(newline="", encoding="utf-8") as file:
        table = csv.DictReader(file)
        try:
            for row in table:
                rows.append((int(row["epoch"]), row["phase"], _parse(row, units)))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, csv.Error) as error:
            said = str(error).partition("\n")[0][:100]
            raise UsageError(
                f"{path} line {table.line_num or 1}: not a row of a phase table ({said}); move the file away or "
                "restore it"
            ) from error
    return rows


def _parse(row: dict[str, str], units: Sequence[str]) -> PhaseTotals:
    wall_seconds, utilisation = float(row["wall_seconds"]), row["device_utilisation"]
    if not all(math.isfinite(float(row[name] or 0)) for name in TIMES):
        raise ValueError("a time is no finite number")
    return PhaseTotals(
        epochs=1,
        wall_seconds=wall_seconds,
        busy_seconds=float(utilisation) * wall_seconds if utilisation else None,
        watched_seconds=wall_seconds if utilisation else 0.0,
        not_measured=row.get("not_measured") or "",
        work_seconds=float(row["work_seconds"]),
        cpu_seconds=float(row["cpu_seconds"]) if row["cpu_seconds"] else None,
        network_seconds=float(row["network_seconds"]) if row["network_seconds"] else None,
        counts={unit: int(row[unit]) for unit in units if row.get(unit)},
        peak_device_bytes=int(row["peak_device_bytes"]) if row.get("peak_device_bytes") else None,
    )


def _format(value: float | int | str | None) -> str:
    return "" if value is None else f"{value:.9g}" if isinstance(value, float) else str(value)


class Phase:
    """A running phase: `PhaseClock.phase` gives it, the code inside the phase feeds it, listeners read it.

    `goal` is the number that `done` reaches at the end (steps, examples), None where it is not known.
    `figures` are numbers to show beside it, such as losses; they are not written to the file.
    """

    def __init__(
        self,
        name: str,
        epoch: int,
        goal: float | None,
        listeners: "list[PhaseListener]",
        cpu_clock: Callable[[], float] = time.process_time,
        units: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.epoch = epoch
        self.goal = goal
        self.done = 0.0
        self.figures: dict[str, float] = {}
        self.detail = ""
        """Present activity, for the display."""
        self.counts: dict[str, int] = {}
        """Amount of work so far, by unit."""
        self.network_seconds: float | None = None
        self.work_seconds: float | None = None
        """Wall time of work that others do, perhaps since before this phase; None: the time of this phase."""
        self.finished = False
        """Whether the phase ended without an exception."""
        self._listeners = listeners
        self._units = units
        self._measured: PhaseTotals | None = None
        self.started = time.perf_counter()
        """Start of the phase, on `time.perf_counter()`."""
        self._cpu_clock = cpu_clock
        self._started_cpu = cpu_clock()

    @property
    def wall_seconds(self) -> float:
        """Seconds since the start; once it has ended, of the whole phase."""
        return time.perf_counter() - self.started if self._measured is None else self._measured.wall_seconds

    def add(self, network_seconds: float | None = None, **counts: int) -> None:
        """Count the work since the last call, by unit. A unit that is never counted stays unknown.

        Raises:
            ValueError: the clock counts no such unit.
        """
        if not counts.keys() <= set(self._units):
            raise ValueError(f"{', '.join(counts)}: this clock counts {', '.join(self._units)}")
        self.counts = added_counts(self.counts, counts)
        self.network_seconds = added(self.network_seconds, network_seconds)

    def advance(self, done: float, **figures: float) -> None:
        """Report the progress of the phase: `done` of `goal`, with the current `figures`. A call takes microseconds."""
        self.done = done
        if figures:
            self.figures = {**self.figures, **figures}
        for listener in self._listeners:
            listener.phase_advanced(self)

    def stop(self, finished: bool) -> PhaseTotals:
        """End the measurement; `PhaseClock` calls it once."""
        self.finished = finished
        wall_seconds = self.wall_seconds
        self._measured = PhaseTotals(
            epochs=1,
            wall_seconds=wall_seconds,
            cpu_seconds=self._cpu_clock() - self._started_cpu,
            work_seconds=wall_seconds if self.work_seconds is None else self.work_seconds,
            network_seconds=self.network_seconds,
            counts=self.counts,
        )
        return self._measured


class PhaseListener(Protocol):
    """Hears of phases as they happen, such as a display. An exception in it ends the run, so it should raise none."""

    def phase_started(self, name: str, epoch: int, goal: float | None) -> None: ...

    def phase_advanced(self, phase: Phase) -> None: ...

    def phase_ended(self, phase: Phase) -> None: ...


class PhaseClock:
    """Measures the phases of a run, one after the other, and keeps `phases.csv` (whole after every phase).

    Existing rows of `path` are kept, so that the totals of an interrupted run stay right. Call `resume` with the first
    epoch that is repeated. With `path=None` nothing is written.

        with clock.phase("training", epoch=3, goal=400) as phase:
            phase.add(examples=128)
            phase.advance(1)

    A phase that ends with an exception leaves no row: a resumed run does it again.

    After `account` the time outside the phases also has rows, so that all rows add up to the wall time.
    """

    def __init__(
        self, path: Path | None, gauge: DeviceGauge | None = None, units: Sequence[str] = ("examples",)
    ) -> None:
        """`gauge` reads the device; without one its figures are not measured. `units` are the units of the counts."""
        self.path = path
        self.units = tuple(units)
        self.cpu_clock: Callable[[], float] = time.process_time
        """Processor time so far of all processes that work for the run."""
        self._gauge = gauge
        self.listeners: list[PhaseListener] = []
        self._rows: list[tuple[int, str, PhaseTotals]] = []
        self._current: Phase | None = None
        self._gap: _Gap | None = None
        if path is not None and path.exists():
            self._rows = read_rows(path, self.units)

    @contextmanager
    def phase(self, name: str, epoch: int, goal: float | None = None) -> Iterator[Phase]:
        """Measure the block as phase `name` of `epoch`; raise RuntimeError inside another phase of this clock."""
        if self._current is not None:
            raise RuntimeError(f"phase {name!r} cannot start inside phase {self._current.name!r}")
        for listener in self.listeners:
            listener.phase_started(name, epoch, goal)
        started = time.monotonic()
        if self._gauge is not None:
            self._gauge.restart()
        phase = Phase(name, epoch, goal, self.listeners, self.cpu_clock, self.units)
        self._book_gap(phase.started)
        self._current = phase
        finished = False
        try:
            yield phase
            finished = True
        finally:
            measured = phase.stop(finished)
            if self._gauge is not None:
                measured.include_device(self._gauge.read(started, measured.wall_seconds, measured.cpu_seconds or 0.0))
            self._current = None
            if self._gap is not None:
                self._gap.restart(phase.started + measured.wall_seconds, self.cpu_clock())
                if name not in ONCE:
                    self._gap.name, self._gap.epoch = BETWEEN, epoch
            if finished:
                self._rows.append((epoch, name, measured))
                self._write()
            for listener in self.listeners:
                listener.phase_ended(phase)

    def account(self, started: float, epoch: int) -> None:
        """Give the time outside phases rows too, from `started` (on `time.monotonic()`) on; `epoch` is the first."""
        began = time.perf_counter() - (time.monotonic() - started)
        self._gap = _Gap(began, self.cpu_clock(), STARTING, epoch)

    def outside(self, name: str, epoch: int) -> None:
        """Book the time from now until the next phase in the row `name` of `epoch`; no effect before `account`."""
        if self._gap is not None and self._current is None:
            self._book_gap(time.perf_counter())
            self._gap.name, self._gap.epoch = name, epoch

    def settle(self) -> None:
        """Bring the rows up to this instant; inside a phase, up to its beginning."""
        if self._gap is not None and self._current is None:
            self._book_gap(time.perf_counter())
            self._write()

    def _book_gap(self, until: float) -> None:
        gap = self._gap
        if gap is None:
            return
        cpu = self.cpu_clock()
        seconds, cpu_seconds = max(0.0, until - gap.since), max(0.0, cpu - gap.since_cpu)
        row = PhaseTotals(1, wall_seconds=seconds, cpu_seconds=cpu_seconds, work_seconds=seconds)
        if self._gauge is not None:
            started = time.monotonic() - (time.perf_counter() - gap.since)
            row.include_device(self._gauge.read(started, seconds, cpu_seconds))
        gap.restart(until, cpu)
        kept = next((kept for at, name, kept in reversed(self._rows) if (at, name) == (gap.epoch, gap.name)), None)
        if kept is None:
            self._rows.append((gap.epoch, gap.name, row))
        else:
            row.epochs = 0  # a further part of the same row
            kept.include(row)

    def resume(self, epoch: int) -> None:
        """Forget the rows of `epoch` and later, which the run repeats."""
        self._rows = [row for row in self._rows if row[0] < epoch]
        self._write()

    def totals(self) -> dict[str, PhaseTotals]:
        """Time and work of each phase over all epochs, in the order of the phases' first appearance."""
        totals: dict[str, PhaseTotals] = {}
        for _, name, row in self._rows:
            totals.setdefault(name, PhaseTotals()).include(row)
        return totals

    def seconds_of(self, *names: str) -> float:
        """Wall time of the phases `names` so far, or of all without names; 0 for phases that never came."""
        return sum(row.wall_seconds for _, name, row in self._rows if not names or name in names)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of `phases.csv`."""
        return columns_of(self.units)

    def summary(self) -> dict[str, dict[str, float | int | str | None]]:
        """Entries for `summary.json`: the totals of every phase, by column."""
        return {name: {"epochs": row.epochs, **row.as_dict(self.units)} for name, row in self.totals().items()}

    def epoch_rows(self, epoch: int) -> dict[str, PhaseTotals]:
        """Time and work of each phase of `epoch` so far."""
        return {name: row for at, name, row in self._rows if at == epoch}

    def epoch_seconds(self, epoch: int) -> float:
        """Wall time of the phases of `epoch` so far."""
        return sum(row.wall_seconds for at, _, row in self._rows if at == epoch)

    def peak(self, epoch: int) -> int | None:
        """Largest amount of the device's own memory that tensors took in the phases of `epoch`, in bytes."""
        peaks = [row.peak_device_bytes for at, _, row in self._rows if at == epoch]
        return max((peak for peak in peaks if peak is not None), default=None)

    def steady(self, name: str) -> PhaseTotals:
        """The phase `name` over all epochs but the first, which warms up; over the first if it is the only one."""
        rows = [row for _, phase, row in self._rows if phase == name]
        steady = PhaseTotals()
        for row in rows[1:] or rows:
            steady.include(row)
        return steady

    def _write(self) -> None:
        if self.path is not None:
            write_rows(self.path, self._rows, self.units)


@dataclass
class _Gap:
    """The time since the latest phase, or since the last booking."""

    since: float
    since_cpu: float
    name: str
    epoch: int

    def restart(self, since: float, cpu: float) -> None:
        """The next booking begins at `since`."""
        self.since, self.since_cpu = since, cpu


class FigureDisplay(Protocol):
    """Shows the losses and figures of a run."""

    def update(
        self, *, epoch: int, losses: Mapping[str, float] | None = None, figures: Mapping[str, object] | None = None
    ) -> None:
        """Show the losses of `epoch`, the figures of its evaluation, or both."""


class Display(FigureDisplay, PhaseListener, Protocol):
    """Shows the phases too; in its `with` block it may take over the terminal."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *stop: Any) -> None: ...
