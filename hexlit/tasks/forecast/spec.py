"""Columns, window and scaling of a forecaster: every checkpoint keeps them, to build windows of new data."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexlit.tasks.forecast.config import ForecastDataConfig
from hexlit.tasks.forecast.grid import Grid
from hexlit.tasks.forecast.source import Columns


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
        return 2 * len(self.values) + 2 * len(self.calendar)

    @property
    def columns(self) -> Columns:
        """Columns to read from a table."""
        return Columns(self.time, self.time_format, self.series_column, self.static_columns, self.values)

    @property
    def target_std(self) -> list[float]:
        """Factors from scaled targets to their units, without the mean, `[T]`."""
        return self.std[: len(self.targets)]

    def in_units(self, scaled: NDArray[np.float32]) -> NDArray[np.float64]:
        """Scaled targets `[..., T]` in their units."""
        count = len(self.targets)
        return np.asarray(scaled.astype(np.float64) * np.array(self.std[:count]) + np.array(self.mean[:count]))

    def to_dict(self) -> dict[str, Any]:
        """Plain containers, for a checkpoint."""
        return asdict(self)


def fit_spec(config: ForecastDataConfig, grid: Grid, train_steps: int) -> WindowSpec:
    """The spec of `config` and `grid`, scaled only by its first `train_steps` steps.

    A column that never changes there keeps its unit.
    """
    rows = grid.values[:, :train_steps].reshape(-1, len(grid.columns))
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
