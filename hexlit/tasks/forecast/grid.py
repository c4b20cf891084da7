"""Readings on a regular grid of time, their gaps, and filling short gaps of inputs."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.tasks.forecast.source import Readings

MOST_VALUES = 2 * 10**9
"""Most values of a grid; with more, a wrong time is likelier than so much data."""


@dataclass(frozen=True)
class SeriesReport:
    """Rows and gaps of a series between its first row and its last."""

    rows: int
    """Rows of the table."""
    missing_rows: int
    """Steps of the grid without a row."""
    duplicates: int
    """Rows left out, because an earlier row of the table has the same step."""
    off_grid: int
    """Rows whose time was rounded down to a step."""
    missing_values: dict[str, int]
    """Rows without a value, by column."""

    def to_dict(self) -> dict[str, Any]:
        """Plain containers, for a summary."""
        return asdict(self)


@dataclass(frozen=True)
class Grid:
    """S series with V columns of values on one time axis of T steps."""

    series: tuple[str, ...]
    columns: tuple[str, ...]
    start: np.datetime64
    """Time of step 0, in seconds."""
    step: np.timedelta64
    values: NDArray[np.float64]
    """Values, NaN where missing, `[S, T, V]`."""
    last: NDArray[np.int64]
    """Step of the last row of every series, `[S]`."""
    statics: NDArray[np.float64]
    """Static columns, `[S, K]`."""
    report: dict[str, SeriesReport]
    """Reports by series."""

    @property
    def steps(self) -> int:
        """Steps of the time axis, T."""
        return int(self.values.shape[1])

    def times(self, steps: NDArray[np.int64]) -> NDArray[np.datetime64]:
        """datetime64[s] of `steps`, which may lie beyond the end."""
        return np.asarray(self.start + steps * self.step)


def build_grid(readings: Readings, step_minutes: int) -> Grid:
    """The `readings` at every multiple of `step_minutes`, from the first row of any series to the last.

    A time between two steps is rounded down. Of rows with the same series and step the first of the table counts.

    Raises:
        UsageError: the grid would be too large.
    """
    step = step_minutes * 60
    seconds = readings.times.astype("datetime64[s]").astype(np.int64)
    number = seconds // step
    first, span = int(number.min()), int(number.max() - number.min()) + 1
    count, width = len(readings.series_names), len(readings.columns)
    if count * span * width > MOST_VALUES:
        raise UsageError(
            f"data.step_minutes={step_minutes}: {readings.times.min()} to {readings.times.max()} are {span} steps of "
            f"{count} series, too many; look for a wrong time, or choose a longer step"
        )
    cell = readings.series * span + (number - first)
    cells, kept = np.unique(cell, return_index=True)  # the first row of every cell
    values = np.full((count * span, width), np.nan)
    values[cells] = readings.values[kept]
    is_there = np.zeros(count * span, np.bool_)
    is_there[cells] = True
    is_kept = np.zeros(len(cell), np.bool_)
    is_kept[kept] = True
    last = np.zeros(count, np.int64)
    report = {}
    for index, name in enumerate(readings.series_names):
        own = readings.series == index
        here = np.flatnonzero(is_there[index * span : (index + 1) * span])
        last[index] = here[-1]
        missing = np.isnan(readings.values[own & is_kept]).sum(0)
        report[name] = SeriesReport(
            rows=int(own.sum()),
            missing_rows=int(here[-1] - here[0] + 1 - len(here)),
            duplicates=int((own & ~is_kept).sum()),
            off_grid=int((seconds[own] % step != 0).sum()),
            missing_values={name: int(n) for name, n in zip(readings.columns, missing, strict=True)},
        )
    return Grid(
        series=readings.series_names,
        columns=readings.columns,
        start=np.datetime64(first * step, "s"),
        step=np.timedelta64(step, "s"),
        values=values.reshape(count, span, width),
        last=last,
        statics=readings.statics,
        report=report,
    )


def carried_forward(
    values: NDArray[np.float64], max_gap: int, cuts: tuple[int, ...] = ()
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """`values` `[S, T, V]` with gaps filled by the last known value, and a mask of the filled ones.

    A value fills at most the next `max_gap` steps, and never beyond one of the `cuts`, the first steps of other splits.
    Longer gaps stay NaN.
    """
    steps = np.arange(values.shape[1])
    begins = np.zeros(len(steps), np.int64)
    for cut in cuts:
        begins[cut:] = cut
    known = np.isfinite(values)
    source = np.where(known, steps[None, :, None], -1)
    source = np.maximum.accumulate(source, axis=1)
    may = (source >= begins[None, :, None]) & (steps[None, :, None] - source <= max_gap)
    was_filled = may & ~known
    # Along the time axis, every step takes the value of its source.
    taken = np.take_along_axis(values, np.maximum(source, 0), axis=1)
    return np.where(may, taken, np.nan), was_filled
