"""The time and work of a phase, and their table: the rows of `phases.csv`."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from hexlit.accelerate.gauge import DeviceFigures
from hexlit.errors import UsageError
from hexlit.files import write_text_atomic

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
