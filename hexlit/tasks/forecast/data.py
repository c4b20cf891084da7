"""A table of readings as windows: times, grid, gaps, scaling, batches.

No Lightning: loading processes import this.
"""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype
from torch import Tensor
from torch.utils.data import Dataset

from hexlit.errors import UsageError
from hexlit.tasks.forecast.config import ForecastDataConfig
from hexlit.tasks.tables import first_line, read_table

log = logging.getLogger(__name__)

MAX_GAP = 6
"""Longest gap of an input, in steps, that its last known value fills. Targets are never filled."""

Times = NDArray[np.datetime64]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class TimeGrid:
    """S series with V columns of values on one time axis of T steps."""

    series: tuple[str, ...]
    """Names of the series, sorted, `[S]`."""
    start: np.datetime64
    """Time of step 0 in seconds, in UTC if the table has a zone."""
    step: np.timedelta64
    values: Values
    """Values, NaN where missing, `[S, T, V]`."""
    last: NDArray[np.int64]
    """Step of the last row of every series, `[S]`."""
    left_out: int
    """Number of rows that do not count, since an earlier row has their series and step."""

    @property
    def steps(self) -> int:
        """Steps of the time axis, T."""
        return int(self.values.shape[1])

    def times(self, steps: NDArray[np.int64]) -> Times:
        """datetime64[s] of `steps`, which may lie beyond the end."""
        return np.asarray(self.start + steps * self.step)


def read_grid(path: Path, config: ForecastDataConfig, key: str = "data.path") -> TimeGrid:
    """The CSV or Parquet file `path` at every multiple of the step, from the first row of any
    series to the last.

    A time between two steps is rounded down. Of rows with the same series and step the first of the
    table counts; the others are left out with a warning.

    Raises:
        UsageError: the file cannot be read, a column does not fit its meaning; names the setting
            `key`.
    """
    by = config.by
    table = read_table(path, [config.time, *by, *config.columns], key, by).to_pandas()
    try:
        for name in [config.time, *by]:
            empty = table[name].isna().sum()
            if empty:
                raise ValueError(f"column {name} is empty in {empty} of {len(table)} rows")
        seconds = read_times(table[config.time]).astype(np.int64)
        numbers = table[config.columns].astype(np.float64)
    except (TypeError, ValueError) as error:  # of pandas too, which names the value
        raise UsageError(f"{key}={path}: {first_line(error)}") from error
    names = table[config.series] if by else pd.Series("all", table.index)
    number, series = pd.factorize(names, sort=True)
    values = numbers.where(np.isfinite).to_numpy()

    step = config.step_minutes * 60
    steps = seconds // step
    repeated = pd.DataFrame({"series": number, "at": steps}).duplicated()
    left_out = int(repeated.sum())
    if left_out:
        log.warning(
            "%s=%s: %d of %d rows are left out: an earlier one has their series and step",
            key,
            path,
            left_out,
            len(table),
        )
    first, span = int(steps.min()), int(np.ptp(steps)) + 1
    cells = number * span + steps - first
    grid = np.full((len(series) * span, values.shape[1]), np.nan)
    grid[cells[::-1]] = values[::-1]  # of several rows the first is written last
    return TimeGrid(
        series=tuple(series),
        start=np.datetime64(first * step, "s"),
        step=np.timedelta64(step, "s"),
        values=grid.reshape(len(series), span, -1),
        last=pd.Series(steps - first).groupby(number).max().to_numpy(),
        left_out=left_out,
    )


def read_times(times: pd.Series) -> Times:
    """datetime64[s] `[N]` of a column of times, or of texts in ISO 8601.

    A time with a zone becomes UTC; one without stays as it is.

    Raises:
        ValueError: a time cannot be read.
    """
    if is_datetime64_any_dtype(times):
        read = pd.to_datetime(times, utc=True)
    elif is_numeric_dtype(times):
        raise ValueError(f"column {times.name} is a number, not a time")
    else:
        read = pd.to_datetime(times, format="ISO8601", utc=True, errors="coerce")
        wrong = times[read.isna()].tolist()
        if wrong:
            raise ValueError(
                f"column {times.name} is {wrong[0]!r} in a row, not a time in ISO 8601"
            )
    return np.asarray(read.dt.tz_convert(None).to_numpy().astype("datetime64[s]"))


def calendar_features(times: Times, timezone: str | None, names: list[str]) -> NDArray[np.float32]:
    """Sine and cosine of each of `names` (hour of the day, weekday, yearday), float32 `[N, 2 *
    names]`.

    `times` are UTC and become those of `timezone`; if that is None, they are used unchanged.
    """
    local = pd.DatetimeIndex(times, tz="UTC").tz_convert(timezone or "UTC")
    hours = ((local.hour * 60 + local.minute) * 60 + local.second) / 3600
    turns = {
        "hour": hours / 24,
        "weekday": (local.day_of_week + hours / 24) / 7,
        "yearday": (local.day_of_year - 1 + hours / 24) / 365.25,
    }
    waves = np.zeros((len(times), 2 * len(names)), np.float32)
    for place, name in enumerate(names):
        angle = 2 * np.pi * turns[name].to_numpy()
        waves[:, 2 * place] = np.sin(angle)
        waves[:, 2 * place + 1] = np.cos(angle)
    return waves


def carried_forward(
    values: Values, max_gap: int, cuts: tuple[int, ...] = ()
) -> tuple[Values, NDArray[np.bool_]]:
    """`values` `[S, T, V]` with gaps filled by the last known value, and a mask of the filled ones.

    A value fills at most the next `max_gap` steps, and never beyond one of the `cuts`, the first
    steps of other splits. Longer gaps keep NaN in their further steps.
    """
    filled = values
    if max_gap:
        columns = pd.DataFrame(values.transpose(1, 0, 2).reshape(values.shape[1], -1))
        split = np.searchsorted(cuts, np.arange(len(columns)), side="right")
        filled = columns.groupby(split).ffill(limit=max_gap).to_numpy()
        filled = filled.reshape(-1, len(values), values.shape[2]).transpose(1, 0, 2)
    return filled, np.isfinite(filled) & ~np.isfinite(values)


@dataclass(frozen=True)
class WindowSpec:
    """Columns, window, grid and scaling, in plain containers.

    V are the columns of values, C the calendar features, T the targets, P the steps ahead.
    """

    time: str
    timezone: str | None
    calendar: list[str]
    series: str | None
    names: list[str]
    """Names of the series, in the order of their indices."""
    targets: list[str]
    features: list[str]
    step_minutes: int
    history: int
    horizon: int
    season: int
    mean: list[float]
    """Means of the training rows, by column of values: targets first, `[V]`."""
    std: list[float]
    """Standard deviations of the training rows, `[V]`."""

    @property
    def values(self) -> list[str]:
        """Columns of values: targets first."""
        return [*self.targets, *self.features]

    @property
    def inputs(self) -> int:
        """Inputs of a step of the past: values, a flag for each filled one, calendar."""
        return 2 * len(self.values) + self.calendars

    @property
    def calendars(self) -> int:
        """Calendar features of a step."""
        return 2 * len(self.calendar)

    @property
    def source(self) -> ForecastDataConfig:
        """The columns to read from a new table."""
        return ForecastDataConfig(
            time=self.time,
            timezone=self.timezone,
            series=self.series,
            targets=self.targets,
            features=self.features,
            step_minutes=self.step_minutes,
        )

    @property
    def target_std(self) -> list[float]:
        """Factors from scaled targets to their units, without the mean, `[T]`."""
        return self.std[: len(self.targets)]

    def in_units(self, scaled: NDArray[np.float32]) -> NDArray[np.float64]:
        """Scaled targets `[..., T]` in their units."""
        count = len(self.targets)
        return np.asarray(
            scaled.astype(np.float64) * np.array(self.std[:count]) + np.array(self.mean[:count])
        )


def fit_spec(config: ForecastDataConfig, grid: TimeGrid, train_steps: int) -> WindowSpec:
    """The spec of `config` and `grid`, scaled only by its first `train_steps` steps.

    A column that never changes there keeps its unit.
    """
    rows = grid.values[:, :train_steps].reshape(-1, grid.values.shape[2])
    mean, std = np.nanmean(rows, 0), np.nanstd(rows, 0)
    return WindowSpec(
        time=config.time,
        timezone=config.timezone,
        calendar=config.calendar,
        series=config.series,
        names=list(grid.series),
        targets=config.targets,
        features=config.features,
        step_minutes=config.step_minutes,
        history=config.history,
        horizon=config.horizon,
        season=config.season,
        mean=mean.tolist(),
        std=np.where(std > 0, std, 1).tolist(),
    )


class ForecastBatch(NamedTuple):
    """B windows: H steps of the past with F inputs, P steps ahead with T targets, scaled."""

    history: Tensor
    """Past, float32 `[B, H, F]`: values (targets first), 1 for each filled one, calendar."""
    future: Tensor
    """Calendar of the forecast steps, float32 `[B, P, C]`."""
    series: Tensor
    """Index of the series, int64 `[B]`."""
    target: Tensor
    """Targets, float32 `[B, P, T]`; NaN beyond the end of the grid."""
    origin: Tensor
    """Last step of the past, on the grid, int64 `[B]`."""


class WindowTable:
    """All rows of a grid as tensors. A batch of windows is one gather from them, without a loop.

    Attributes:
        filled: whether the last known value replaces a missing one, bool `[S, T, V]`.
        has_input: whether every value was read or filled, bool `[S, T]`.
        has_target: whether every target was read, bool `[S, T]`.
    """

    def __init__(self, grid: TimeGrid, spec: WindowSpec, cuts: tuple[int, ...] = ()) -> None:
        """Scale and fill the values of `grid`; nothing is filled across the `cuts` of splits."""
        values, self.filled = carried_forward(grid.values, MAX_GAP, cuts)
        mean, std = np.array(spec.mean), np.array(spec.std)
        targets = len(spec.targets)
        known = np.isfinite(grid.values)
        self.has_input = np.all(known | self.filled, axis=2)
        self.has_target = np.all(known[:, :, :targets], axis=2)
        self.spec = spec
        self.steps = grid.steps
        scaled = np.nan_to_num((values - mean) / std)
        beyond = np.arange(grid.steps + spec.horizon, dtype=np.int64)
        calendar = calendar_features(grid.times(beyond), spec.timezone, spec.calendar)
        calendar_shape = len(grid.series), grid.steps, calendar.shape[1]
        past_calendar = np.broadcast_to(calendar[: grid.steps], calendar_shape)
        inputs = np.concatenate([scaled, self.filled, past_calendar], 2).astype(np.float32)
        self._inputs = torch.from_numpy(inputs.reshape(-1, inputs.shape[2]))
        truth = (grid.values[:, :, :targets] - mean[:targets]) / spec.target_std
        self._truth = torch.from_numpy(truth.astype(np.float32).reshape(-1, targets))
        self._calendar = torch.from_numpy(calendar)
        self._past = torch.arange(1 - spec.history, 1)
        self._ahead = torch.arange(1, spec.horizon + 1)

    def batch(self, series: NDArray[np.int64], origin: NDArray[np.int64]) -> ForecastBatch:
        """The windows of `series` `[B]` whose past ends at step `origin` `[B]`."""
        numbers = torch.from_numpy(series)
        steps = torch.from_numpy(origin)
        first = (numbers * self.steps)[:, None]
        past = first + steps[:, None] + self._past
        ahead = steps[:, None] + self._ahead
        # A forecast beyond the last row has no truth, not the first row of the next series.
        inside = ahead < self.steps
        target = self._truth[first + torch.where(inside, ahead, 0)]
        return ForecastBatch(
            history=self._inputs[past],
            future=self._calendar[ahead],
            series=numbers,
            target=torch.where(inside[:, :, None], target, torch.nan),
            origin=steps,
        )


class Windows(Dataset[ForecastBatch]):
    """N windows of one split; an item is a whole batch, given by the numbers of its windows.

    Attributes:
        series: index of the series, `[N]`.
        origin: last step of the past, `[N]`.
        dropped: number of dropped windows, by reason.
    """

    def __init__(self, table: WindowTable, begin: int, end: int) -> None:
        """Every window whose past and targets lie in the steps `begin` to `end` (left out).

        A window is dropped if an input of its past was neither read nor filled, or if a target was
        not read.
        """
        spec = table.spec
        self._table = table
        origins = np.arange(begin + spec.history - 1, end - spec.horizon)
        gaps = np.pad(np.cumsum(~table.has_input, 1), ((0, 0), (1, 0)))
        has_past = gaps[:, origins + 1] == gaps[:, origins + 1 - spec.history]
        ahead = np.arange(1, spec.horizon + 1)
        has_future = table.has_target[:, origins[:, None] + ahead].all(2)
        self.series, columns = np.nonzero(has_past & has_future)
        self.origin = origins[columns]
        no_target = int((has_past & ~has_future).sum())
        self.dropped = {"gap in the past": int((~has_past).sum()), "missing target": no_target}

    def __len__(self) -> int:
        """Number of windows, N."""
        return len(self.series)

    def __getitem__(self, rows: NDArray[np.int64] | slice) -> ForecastBatch:
        """The batch of the windows number `rows`."""
        return self._table.batch(self.series[rows], self.origin[rows])


def in_batches(rows: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    """`rows` in batches of `size`; the last one has the rest."""
    return [rows[begin : begin + size] for begin in range(0, len(rows), size)]
