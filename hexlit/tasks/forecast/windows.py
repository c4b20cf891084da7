"""Windows of a grid: columns and scaling, and batches in one gather. No Lightning: loading processes import this."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from hexlit.tasks.forecast.config import ForecastDataConfig
from hexlit.tasks.forecast.grid import TimeGrid, calendar_features, carried_forward


@dataclass(frozen=True)
class WindowSpec:
    """Columns, window, grid and scaling, in plain containers.

    V are the columns of values, C the calendar features, K the static ones, T the targets, P the horizons.
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
        """Columns to read from a new table. Its series are those of the training, with their static columns."""
        return ForecastDataConfig(
            time=self.time,
            time_format=self.time_format,
            timezone=self.timezone,
            series=self.series_column,
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
        return np.asarray(scaled.astype(np.float64) * np.array(self.std[:count]) + np.array(self.mean[:count]))


def fit_spec(config: ForecastDataConfig, grid: TimeGrid, train_steps: int) -> WindowSpec:
    """The spec of `config` and `grid`, scaled only by its first `train_steps` steps.

    A column that never changes there keeps its unit.
    """
    rows = grid.values[:, :train_steps].reshape(-1, grid.values.shape[2])
    known = np.isfinite(rows)
    count = np.maximum(known.sum(0), 1)
    mean = np.where(known, rows, 0).sum(0) / count
    std = np.sqrt(np.square(np.where(known, rows - mean, 0)).sum(0) / count)
    statics = grid.statics - grid.statics.mean(0)
    spread = statics.std(0)
    return WindowSpec(
        time=list(config.time),
        time_format=config.time_format,
        timezone=config.timezone,
        calendar=list(config.calendar),
        series_column=config.series,
        series=list(grid.series),
        static_columns=list(config.statics),
        statics=(statics / np.where(spread > 0, spread, 1)).tolist(),
        targets=list(config.targets),
        features=list(config.features),
        step_minutes=config.step_minutes,
        history=config.history,
        horizons=config.steps_ahead,
        season=config.season,
        max_gap=config.max_gap,
        mean=mean.tolist(),
        std=np.where(std > 0, std, 1).tolist(),
    )


class ForecastBatch(NamedTuple):
    """B windows: H steps of the past with F inputs, P horizons with T targets. Values are scaled."""

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
    """

    def __init__(self, grid: TimeGrid, spec: WindowSpec, cuts: tuple[int, ...] = ()) -> None:
        """Scale and fill the values of `grid`; nothing is filled across the `cuts` between splits."""
        values, self.filled = carried_forward(grid.values, spec.max_gap, cuts)
        known = np.isfinite(grid.values)
        self.has_input = np.all(known | self.filled, axis=2)
        self.has_target = np.all(known[:, :, : len(spec.targets)], axis=2)
        self.spec = spec
        self.steps = grid.steps
        scaled = np.nan_to_num((values - np.array(spec.mean)) / np.array(spec.std))
        beyond = np.arange(grid.steps + max(spec.horizons), dtype=np.int64)
        calendar = calendar_features(grid.times(beyond), spec.timezone, spec.calendar)
        of_past = np.broadcast_to(calendar[None, : grid.steps], (len(grid.series), grid.steps, calendar.shape[1]))
        inputs = np.concatenate([scaled, self.filled, of_past], 2).astype(np.float32)
        self._inputs = torch.from_numpy(inputs.reshape(-1, inputs.shape[2]))
        truth = (grid.values[:, :, : len(spec.targets)] - np.array(spec.mean)[: len(spec.targets)]) / spec.target_std
        self._truth = torch.from_numpy(truth.astype(np.float32).reshape(-1, len(spec.targets)))
        self._calendar = torch.from_numpy(calendar)
        self._statics = torch.tensor(spec.statics, dtype=torch.float32).reshape(len(spec.series), -1)
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
        return ForecastBatch(
            history=self._inputs[past],
            future=self._calendar[ahead],
            statics=self._statics[numbers],
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

    def __init__(self, table: WindowTable, begin: int, end: int, stride: int) -> None:
        """Every window whose past and targets lie in the steps `begin` to `end` (left out), one each `stride` steps.

        A window is dropped if an input of its past was neither read nor filled, or if a target was not read.
        """
        spec = table.spec
        self._table = table
        origins = np.arange(begin + spec.history - 1, end - max(spec.horizons), stride)
        gaps = np.cumsum(~table.has_input, 1)
        gaps = np.concatenate([np.zeros((len(gaps), 1), np.int64), gaps], 1)
        has_past = gaps[:, origins + 1] == gaps[:, origins + 1 - spec.history]
        has_future = np.ones_like(has_past)
        for ahead in spec.horizons:
            has_future &= table.has_target[:, origins + ahead]
        self.series, columns = np.nonzero(has_past & has_future)
        self.origin = origins[columns]
        self.dropped = {
            "gap in the past": int((~has_past).sum()),
            "missing target": int((has_past & ~has_future).sum()),
        }

    def __len__(self) -> int:
        """Number of windows, N."""
        return len(self.series)

    def __getitem__(self, rows: NDArray[np.int64] | slice) -> ForecastBatch:
        """The batch of the windows number `rows`."""
        return self._table.batch(self.series[rows], self.origin[rows])

    def batches(self, size: int) -> Iterator[ForecastBatch]:
        """Every window once in batches of `size`, in the order of series and time."""
        return (self[begin] for begin in in_batches(np.arange(len(self)), size))


def in_batches(rows: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    """`rows` in batches of `size`; the last one has the rest."""
    return [rows[begin : begin + size] for begin in range(0, len(rows), size)]
