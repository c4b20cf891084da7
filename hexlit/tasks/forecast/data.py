"""A table of readings as windows: times, grid, gaps, scaling,
batches. No Lightning: loading processes import this.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from pandas.api.types import is_datetime64_any_dtype, is_integer_dtype, is_numeric_dtype
from torch import Tensor
from torch.utils.data import Dataset

from hexlit.errors import UsageError
from hexlit.tasks.forecast.config import ForecastDataConfig
from hexlit.tasks.tables import first_line, read_table

log = logging.getLogger(__name__)

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
    statics: Values
    """Static columns, `[S, K]`."""
    left_out: Mapping[str, int]
    """Numbers of rows that do not count, by reason; see `read_grid`."""

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
    table counts. The others are left out with a warning: those `at the same time` as an earlier
    row, such as the double hour when clocks go back, and those `finer than the step`.

    Raises:
        UsageError: the file cannot be read, a column does not fit its meaning; names the setting
            `key`.
    """
    by = [config.series] if config.series else []
    table = read_table(
        path, [*config.time, *by, *config.statics, *config.columns], key, by
    ).to_pandas()
    try:
        for name in [*config.time, *by]:
            if empty := table[name].isna().sum():
                raise ValueError(f"column {name} is empty in {empty} of {len(table)} rows")
        seconds = read_times(table[config.time], config.time_format).astype(np.int64)
        numbers = table.astype(dict.fromkeys([*config.statics, *config.columns], np.float64))
        names = table[config.series] if by else pd.Series("all", table.index)
        number, series = pd.factorize(names, sort=True)
        statics = numbers[config.statics].groupby(number)
        if uneven := [name for name, most in statics.nunique().max().items() if most != 1]:
            raise ValueError(f"static column {uneven[0]} needs one value in each series")
    except (TypeError, ValueError) as error:  # of pandas too, which names the value
        raise UsageError(f"{key}={path}: {first_line(error)}") from error
    values = numbers[config.columns].where(np.isfinite).to_numpy()

    step = config.step_minutes * 60
    steps = seconds // step
    left_out = _repeated(number, seconds, steps)
    if any(left_out.values()):
        reasons = ", ".join(f"{count} {reason}" for reason, count in left_out.items() if count)
        log.warning("%s=%s: of %d rows some are left out: %s", key, path, len(table), reasons)
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
        statics=statics.first().to_numpy().reshape(len(series), -1),
        left_out=left_out,
    )


def _repeated(
    series: NDArray[np.int64], seconds: NDArray[np.int64], steps: NDArray[np.int64]
) -> dict[str, int]:
    """Numbers of rows behind the first of their series and step, by reason."""
    same_time = pd.DataFrame({"series": series, "at": seconds}).duplicated()
    same_step = pd.DataFrame({"series": series, "at": steps}).duplicated()
    return {
        "at the same time": int(same_time.sum()),
        "finer than the step": int((same_step & ~same_time).sum()),
    }


def read_times(table: pd.DataFrame, form: str | None) -> Times:
    """datetime64[s] `[N]` of one column of times, of whole numbers (year, month, day, hour,
    minute), or of texts.

    Texts of several columns are joined by a space. A time with a zone becomes UTC; one without
    stays as it is.

    Raises:
        ValueError: a time cannot be read.
    """
    columns = [table[name] for name in table]
    if len(columns) > 1 and all(map(is_integer_dtype, columns)):
        parts = ("year", "month", "day", "hour", "minute")
        times = pd.to_datetime(dict(zip(parts, columns, strict=False)))
    elif any(map(is_numeric_dtype, columns)):
        raise ValueError(f"column {'+'.join(table)} is a number, not a time")
    elif len(columns) == 1 and is_datetime64_any_dtype(columns[0]):
        times = pd.to_datetime(columns[0], utc=True)
    else:
        texts = (
            columns[0].astype(str).str.cat([column.astype(str) for column in columns[1:]], sep=" ")
        )
        times = pd.to_datetime(texts, format=form or "ISO8601", utc=True, errors="coerce")
        if wrong := texts[times.isna()].tolist():
            raise ValueError(
                f"{'+'.join(table)} is {wrong[0]!r} in a row, data.time_format={form or 'ISO 8601'}"
            )
    return times.dt.tz_localize(None).to_numpy().astype("datetime64[s]")  # type: ignore[no-any-return]


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
    waves = [
        wave(2 * np.pi * turns[name].to_numpy()) for name in names for wave in (np.sin, np.cos)
    ]
    return np.stack(waves, 1).astype(np.float32) if waves else np.zeros((len(times), 0), np.float32)


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

    V are the columns of values, C the calendar features, K the static ones, T the targets, P the
    horizons.
    """

    time: list[str]
    time_format: str | None
    timezone: str | None
    calendar: list[str]
    series_column: str | None
    series: list[str]
    """Names of the series, in the order of their indices."""
    static_columns: list[str]
    statics: list[list[float]]
    """Scaled static columns of every series, `[S, K]`."""
    targets: list[str]
    features: list[str]
    step_minutes: int
    history: int
    horizons: list[int]
    season: int
    max_gap: int
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
        """Columns to read from a new table.
        Its series are those of the training, with their static columns.
        """
        names = ("time", "time_format", "timezone", "targets", "features", "step_minutes")
        return ForecastDataConfig(
            series=self.series_column, **{name: getattr(self, name) for name in names}
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
    statics = grid.statics - grid.statics.mean(0)
    spread = statics.std(0)
    shared = {
        one.name: getattr(config, one.name)
        for one in fields(WindowSpec)
        if hasattr(config, one.name)
    }
    own = {
        "series_column": config.series,
        "series": list(grid.series),
        "static_columns": config.statics,
        "statics": (statics / np.where(spread > 0, spread, 1)).tolist(),
        "horizons": config.steps_ahead,
        "mean": mean.tolist(),
        "std": np.where(std > 0, std, 1).tolist(),
    }
    return WindowSpec(**shared | own)


class ForecastBatch(NamedTuple):
    """B windows: H steps of the past with F inputs,
    P horizons with T targets. Values are scaled.
    """

    history: Tensor
    """Past, float32 `[B, H, F]`: values (targets first), 1 for each filled one, calendar."""
    future: Tensor
    """Calendar of the forecast steps, float32 `[B, P, C]`."""
    statics: Tensor
    """Static columns, float32 `[B, K]`."""
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
        statics: scaled static columns, float32 `[S, K]`.
    """

    def __init__(self, grid: TimeGrid, spec: WindowSpec, cuts: tuple[int, ...] = ()) -> None:
        """Scale and fill the values of `grid`;
        nothing is filled across the `cuts` between splits.
        """
        values, self.filled = carried_forward(grid.values, spec.max_gap, cuts)
        mean, std = np.array(spec.mean), np.array(spec.std)
        targets = len(spec.targets)
        known = np.isfinite(grid.values)
        self.has_input = np.all(known | self.filled, axis=2)
        self.has_target = np.all(known[:, :, :targets], axis=2)
        self.spec = spec
        self.steps = grid.steps
        scaled = np.nan_to_num((values - mean) / std)
        beyond = np.arange(grid.steps + max(spec.horizons), dtype=np.int64)
        calendar = calendar_features(grid.times(beyond), spec.timezone, spec.calendar)
        calendar_shape = len(grid.series), grid.steps, calendar.shape[1]
        of_past = np.broadcast_to(calendar[: grid.steps], calendar_shape)
        inputs = np.concatenate([scaled, self.filled, of_past], 2).astype(np.float32)
        self._inputs = torch.from_numpy(inputs.reshape(-1, inputs.shape[2]))
        truth = (grid.values[:, :, :targets] - mean[:targets]) / spec.target_std
        self._truth = torch.from_numpy(truth.astype(np.float32).reshape(-1, targets))
        self._calendar = torch.from_numpy(calendar)
        self.statics = torch.tensor(spec.statics, dtype=torch.float32).reshape(len(spec.series), -1)
        self._past = torch.arange(1 - spec.history, 1)
        self._ahead = torch.tensor(spec.horizons)

    def batch(self, series: NDArray[np.int64], origin: NDArray[np.int64]) -> ForecastBatch:
        """The windows of `series` `[B]` whose past ends at step `origin` `[B]`."""
        numbers, steps = torch.from_numpy(series), torch.from_numpy(origin)
        past = (numbers * self.steps + steps)[:, None] + self._past
        ahead = steps[:, None] + self._ahead
        # A forecast beyond the last row has no truth, not the first row of the next series.
        inside = ahead < self.steps
        target = self._truth[numbers[:, None] * self.steps + torch.where(inside, ahead, 0)]
        target = torch.where(inside[:, :, None], target, torch.nan)
        return ForecastBatch(
            self._inputs[past], self._calendar[ahead], self.statics[numbers], numbers, target, steps
        )


class Windows(Dataset[ForecastBatch]):
    """N windows of one split; an item is a whole batch, given by the numbers of its windows.

    Attributes:
        series: index of the series, `[N]`.
        origin: last step of the past, `[N]`.
        dropped: number of dropped windows, by reason.
    """

    def __init__(self, table: WindowTable, begin: int, end: int, stride: int) -> None:
        """Every window whose past and targets lie in the steps `begin` to `end` (left out), one
        each `stride` steps.

        A window is dropped if an input of its past was neither read nor filled, or if a target was
        not read.
        """
        spec = table.spec
        self._table = table
        origins = np.arange(begin + spec.history - 1, end - max(spec.horizons), stride)
        gaps = np.pad(np.cumsum(~table.has_input, 1), ((0, 0), (1, 0)))
        has_past = gaps[:, origins + 1] == gaps[:, origins + 1 - spec.history]
        has_future = np.all(
            [table.has_target[:, origins + ahead] for ahead in spec.horizons], axis=0
        )
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
