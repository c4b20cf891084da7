"""The phases of a run and their times: one row of `phases.csv` for every finished phase of every
epoch.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from hexlit.accelerate.memory import DeviceGauge, reset_peak
from hexlit.training.tables import TableFile, read_table

COMPILING = "compiling"
"""Phase for compiling code, or for loading code compiled before."""

STARTING, BETWEEN, SAVING, FINISHING = "starting", "between", "saving", "finishing"
"""Time outside other phases: before the first epoch, inside epochs, after their last phase, after
the last epoch.
"""

ONCE = (COMPILING, STARTING, FINISHING)
"""Phases of a session, not of an epoch: no pace includes them."""

ASIDE = (*ONCE, BETWEEN, SAVING)
"""Phases without work of the run."""


SUMS = ("wall_seconds", "cpu_seconds", "work_seconds", "network_seconds")
"""Times of `PhaseTotals` that add up over phases."""

WORK = ("work_seconds", "network_seconds", "outside_network_share")
TIMES = ("wall_seconds", "cpu_seconds", "device_utilisation", *WORK)
"""Columns before the counts of a phase, after `epoch` and `phase`."""

DEVICE = ("peak_device_bytes", "not_measured")
"""Columns after the counts and their rates."""

PER_SECOND = "_per_second"
"""Suffix of the name of a rate; the name of the counted unit comes before it."""


@dataclass
class PhaseTotals:
    """Time and work of one phase, in one epoch or in all of them. None is "not measured", never 0."""

    epochs: int = 0
    """Number of finished phases in the sums."""
    wall_seconds: float = 0.0
    cpu_seconds: float | None = None
    """Processor time of this process and of its workers, all threads together; can exceed the wall
    time.
    """
    work_seconds: float = 0.0
    """Wall time of the work. It exceeds `wall_seconds` when the work ran next to other phases, and
    this phase waited for it. Rates and shares of the network refer to it.
    """
    network_seconds: float | None = None
    """Part of `work_seconds` that was spent waiting for the network."""
    counts: Counter[str] = field(default_factory=Counter)
    """Amount of work, by unit; a unit that was never counted is missing."""
    device_utilisation: float | None = None
    """Share of the time that the device worked, 0 to 1; on a cpu, share of its threads' time."""
    peak_device_bytes: int | None = None
    """Largest amount of the device's own memory that tensors took."""
    not_measured: str = ""
    """Why figures of the device are None, for the latest of the phases."""

    @classmethod
    def of(cls, parts: Iterable["PhaseTotals"]) -> "PhaseTotals":
        """The sum of `parts`; a number that only some of them have is the sum of these."""
        total = cls()
        busy_seconds = watched_seconds = 0.0
        for part in parts:
            for name in ("epochs", *SUMS):
                value = getattr(part, name)
                if value is not None:
                    setattr(total, name, (getattr(total, name) or 0) + value)
            if part.peak_device_bytes is not None:
                peak = total.peak_device_bytes or 0
                total.peak_device_bytes = max(peak, part.peak_device_bytes)
            if part.device_utilisation is not None:
                busy_seconds += part.device_utilisation * part.wall_seconds
                watched_seconds += part.wall_seconds
            total.counts.update(part.counts)
            total.not_measured = part.not_measured
        if watched_seconds > 0:
            total.device_utilisation = busy_seconds / watched_seconds
        return total

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
        row = {name: getattr(self, name) for name in TIMES}
        for unit in units:
            row[unit] = self.counts.get(unit)
        for unit in units:
            row[unit + PER_SECOND] = self.rate(unit)
        for name in DEVICE:
            row[name] = getattr(self, name)
        return row

    def read_device(self, gauge: DeviceGauge | None, started: float) -> None:
        """Read the device over the whole of this phase, since `started` on `time.monotonic()`."""
        if gauge is not None:
            figures = gauge.read(started, self.wall_seconds, self.cpu_seconds or 0.0)
            self.device_utilisation, self.peak_device_bytes, reasons = figures
            self.not_measured = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())


Row = tuple[int, str, PhaseTotals]
"""Epoch, name of the phase, and its time and work."""


def read_rows(path: Path | None, units: Sequence[str]) -> list[Row]:
    """The rows of a table of phases that count `units`; raises `UsageError` as `read_table` does."""

    def parse(row: dict[str, str]) -> Row:
        kinds = {
            **dict.fromkeys((*SUMS, "device_utilisation"), float),
            "peak_device_bytes": int,
            "not_measured": str,
        }
        figures: dict[str, Any] = {
            name: kind(row[name]) for name, kind in kinds.items() if row.get(name)
        }
        figures["wall_seconds"] = float(row["wall_seconds"])
        counts = Counter({unit: int(float(row[unit])) for unit in units if row.get(unit)})
        return int(row["epoch"]), row["phase"], PhaseTotals(1, counts=counts, **figures)

    return read_table(path, parse)


class Phase:
    """A running phase: `PhaseClock.phase` gives it, the code inside the phase feeds it, listeners
    read it.

    `goal` is the number that `done` reaches at the end (steps, examples), None where it is not
    known. `figures` are numbers to show next to it, such as losses; they are not written to the
    file.
    """

    def __init__(self, clock: "PhaseClock", name: str, epoch: int, goal: float | None) -> None:
        self.name = name
        self.epoch = epoch
        self.goal = goal
        self.done = 0.0
        self.figures: dict[str, float] = {}
        self.detail = ""
        """Present activity, for the display."""
        self.counts: Counter[str] = Counter()
        """Amount of work so far, by unit."""
        self.network_seconds: float | None = None
        """Time of waiting for the network so far; None: unknown."""
        self.work_seconds: float | None = None
        """Wall time of work that others do, perhaps since before this phase; None: the time of this
        phase.
        """
        self.finished = False
        """Whether the phase ended without an exception."""
        self.started = time.monotonic()
        """Start of the phase, on `time.monotonic()`."""
        self._clock = clock
        self._started_cpu = clock.cpu_clock()
        self._measured: PhaseTotals | None = None

    @property
    def wall_seconds(self) -> float:
        """Seconds since the start; once it has ended, of the whole phase."""
        return (
            time.monotonic() - self.started
            if self._measured is None
            else self._measured.wall_seconds
        )

    def add(self, **counts: int) -> None:
        """Count the work since the last call, by unit of the clock. A unit that is never counted
        stays unknown.
        """
        self.counts.update(counts)

    def advance(self, done: float, **figures: float) -> None:
        """Report the progress of the phase: `done` of `goal`, with the current `figures`. A call
        takes microseconds.
        """
        self.done = done
        self.figures |= figures
        for listener in self._clock.listeners:
            listener.phase_advanced(self)

    def stop(self) -> PhaseTotals:
        """End the measurement; `PhaseClock` calls it once."""
        seconds, cpu_seconds = self.wall_seconds, self._clock.cpu_clock() - self._started_cpu
        work_seconds = seconds if self.work_seconds is None else self.work_seconds
        self._measured = PhaseTotals(
            1, seconds, cpu_seconds, work_seconds, self.network_seconds, self.counts
        )
        return self._measured


class PhaseListener(Protocol):
    """Hears of phases as they happen, such as a display. An exception in it ends the run, so it
    should raise none.
    """

    def phase_started(self, phase: Phase) -> None: ...

    def phase_advanced(self, phase: Phase) -> None: ...

    def phase_ended(self, phase: Phase) -> None: ...


class PhaseClock:
    """Measures the phases of a run, one after the other, and keeps `phases.csv`.

    Existing rows of `path` are kept, so that the totals of an interrupted run stay right. Call
    `resume` with the first epoch that is repeated. With `path=None` nothing is written. Rows are
    appended once they are final, and those before them: all of an epoch but `saving` at its end.

        with clock.phase("training", epoch=3, goal=400) as phase:
            phase.add(examples=128)
            phase.advance(1)

    A phase that ends with an exception leaves no row: a resumed run does it again.

    After `account` the time outside the phases also has rows, so that all rows add up to the wall
    time.
    """

    def __init__(
        self,
        path: Path | None,
        gauge: DeviceGauge | None = None,
        units: Sequence[str] = ("examples",),
    ) -> None:
        """`gauge` reads the device; without one its figures are not measured. `units` are the units
        of the counts.
        """
        self.path = path
        self.units = tuple(units)
        self.cpu_clock: Callable[[], float] = time.process_time
        """Processor time so far of all processes that work for the run."""
        self.listeners: list[PhaseListener] = []
        self._gauge = gauge
        self._rows = read_rows(path, self.units)
        self._file = TableFile(path)
        self._current: Phase | None = None
        self._outside: tuple[int, str] | None = None  # epoch and row of the time between phases
        self._numbers: dict[tuple[int, str], int] = {}  # of the rows of such times
        self._booked = (
            0.0,
            0.0,
        )  # instants of the clock and of `cpu_clock`; the time before them has its row

    @contextmanager
    def phase(self, name: str, epoch: int, goal: float | None = None) -> Iterator[Phase]:
        """Measure the block as phase `name` of `epoch`; it holds no other phase of this clock."""
        if self._gauge is not None:
            reset_peak(self._gauge.device)
        phase = Phase(self, name, epoch, goal)
        for listener in self.listeners:
            listener.phase_started(phase)
        self._book_time_between(phase.started)
        self._current = phase
        try:
            yield phase
            phase.finished = True
        finally:
            totals = phase.stop()
            totals.read_device(self._gauge, phase.started)
            self._current = None
            if self._outside is not None:
                self._booked = phase.started + totals.wall_seconds, self.cpu_clock()
                self._outside = self._outside if name in ONCE else (epoch, BETWEEN)
            if phase.finished:
                self._rows.append((epoch, name, totals))
                self._write()
            for listener in self.listeners:
                listener.phase_ended(phase)

    def account(self, started: float, epoch: int) -> None:
        """Give the time outside phases rows too, from `started` (on `time.monotonic()`) on; `epoch`
        is the first.
        """
        self._outside = epoch, STARTING
        self._booked = started, self.cpu_clock()

    def outside(self, name: str, epoch: int) -> None:
        """Book the time from now until the next phase in the row `name` of `epoch`; no effect
        before `account`.
        """
        if self._outside is not None and self._current is None:
            self._book_time_between(time.monotonic())
            self._outside = epoch, name
            self._write()

    def settle(self) -> None:
        """Bring the file up to this instant; inside a phase, up to its beginning."""
        if self._outside is not None and self._current is None:
            self._book_time_between(time.monotonic())
            self._file.count = 0
            self._write()

    def _book_time_between(self, until: float) -> None:
        if self._outside is None:
            return
        (since, since_cpu), self._booked = self._booked, (until, self.cpu_clock())
        seconds, cpu_seconds = max(0.0, until - since), max(0.0, self._booked[1] - since_cpu)
        part = PhaseTotals(wall_seconds=seconds, cpu_seconds=cpu_seconds, work_seconds=seconds)
        part.read_device(self._gauge, since)
        number = self._numbers.setdefault(self._outside, len(self._rows))
        if number == len(self._rows):
            self._rows.append((*self._outside, PhaseTotals(1)))
        epoch, name, row = self._rows[number]
        self._rows[number] = epoch, name, PhaseTotals.of([row, part])
        if number < self._file.count:
            self._file.count = 0

    def resume(self, epoch: int, seconds: float = 0.0) -> None:
        """Forget the rows of `epoch` and later, which the run repeats; those before it took
        `seconds` or more.

        The time that a kill left without a row was spent on saving the epoch before.
        """
        self._rows = [row for row in self._rows if row[0] < epoch]
        self._numbers = {row[:2]: number for number, row in enumerate(self._rows)}
        missing = seconds - sum(row.wall_seconds for _, _, row in self._rows)
        if missing > 0 and (epoch - 1, SAVING) not in self._numbers:
            saving = PhaseTotals(1, missing, work_seconds=missing)
            self._rows.append((epoch - 1, SAVING, saving))
        self._file.count = 0
        self._write()

    def totals(self) -> dict[str, PhaseTotals]:
        """Time and work of each phase over all epochs, in the order of their first appearance."""
        rows: dict[str, list[PhaseTotals]] = {}
        for _, name, row in self._rows:
            rows.setdefault(name, []).append(row)
        return {name: PhaseTotals.of(of_phase) for name, of_phase in rows.items()}

    def epoch_rows(self, epoch: int) -> dict[str, PhaseTotals]:
        """Time and work of each phase of `epoch` so far."""
        return {name: row for at, name, row in self._rows if at == epoch}

    def steady(self, name: str) -> PhaseTotals:
        """The phase `name` over all epochs but the first, which warms up, if there are others."""
        rows = [row for _, phase, row in self._rows if phase == name]
        return PhaseTotals.of(rows[1:] or rows)

    def _write(self) -> None:
        count = self._file.count
        rows = []
        for epoch, name, row in self._rows[count:]:
            if count and (epoch, name) == self._outside:
                break  # it may still grow
            rows.append({"epoch": epoch, "phase": name, **row.as_dict(self.units)})
        self._file.extend(["epoch", "phase", *PhaseTotals().as_dict(self.units)], rows)


class RunDisplay(PhaseListener, Protocol):
    """Shows the phases of a run, its losses and its figures; in its `with` block it may take over
    the terminal.
    """

    def update(
        self,
        *,
        epoch: int,
        losses: Mapping[str, float] | None = None,
        figures: Mapping[str, object] | None = None,
    ) -> None:
        """Show the losses of `epoch`, the figures of its evaluation, or both."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *stop: Any) -> None: ...
