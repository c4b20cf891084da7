"""The forecaster beside plain references on the same windows, and its forecasts as tables and figures."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.errors import UsageError
from hexlit.reporting.forecasts import ForecastPanel
from hexlit.tasks.forecast.config import ForecastNetConfig, ForecastTrainConfig
from hexlit.tasks.forecast.data import ForecastBatch, WindowSpec, WindowTable, read_grid
from hexlit.tasks.forecast.module import SPLITS, ErrorSums, ForecastDataModule, ForecastNet, naive_forecasts, skill
from hexlit.tasks.supervised import evaluating, load_trained
from hexlit.tasks.tables import check_target, write_table

log = logging.getLogger(__name__)

OVERALL = "all"
PENALTIES = (1.0, 10.0, 100.0, 1e3, 1e4)
"""Penalties of ridge regression to choose from, by the MAE on validation."""


@dataclass(frozen=True)
class LoadedForecaster:
    """A network in evaluation mode on the CPU, and the facts about its data."""

    net: ForecastNet
    spec: WindowSpec


def load_forecaster(path: Path) -> LoadedForecaster:
    """The forecaster of the checkpoint `path`, or of the folder of a run.

    Raises:
        UsageError: it is no checkpoint of a forecaster.
    """

    def make(settings: dict[str, Any], state: dict[str, Tensor]) -> LoadedForecaster:
        spec = WindowSpec(**settings["spec"])
        net = ForecastNet(ForecastNetConfig(**settings["net"]), spec)
        net.load_state_dict(state)
        return LoadedForecaster(net.eval(), spec)

    return load_trained(path, "forecaster", make)


@dataclass(frozen=True)
class ErrorRow:
    """Errors of one forecaster for one target, at one horizon or overall."""

    forecaster: str
    """`model`, `persistence`, `seasonal` or `ridge`."""
    target: str
    horizon: int | str
    """Steps ahead, or `all`."""
    windows: int
    mae: float
    rmse: float
    r2: float
    skill_over_persistence: float
    skill_over_seasonal: float
    """Skill over the seasonal naive forecast; NaN if the past is shorter than the season."""


def error_table(net: ForecastNet, data: ForecastDataModule, split: str = "test") -> list[ErrorRow]:
    """Errors on the windows of `split` by forecaster, target and horizon, each target's overall row first.

    Use the test set once, at the end.
    """
    spec = data.spec
    ridge = fit_ridge(data)
    sums: dict[str, ErrorSums] = {}
    for batch in data.in_order(split):
        for name, forecast in forecasts_of(net, ridge, batch, spec).items():
            sums.setdefault(name, ErrorSums()).update(forecast, batch.target)
    errors = {name: own.errors(spec.target_std) for name, own in sums.items()}
    rows = []
    horizons: list[int | str] = [OVERALL, *spec.horizons]
    for name, own in errors.items():
        skills = [
            skill(own.mae, errors[naive].mae) if naive in errors else np.full_like(own.mae, np.nan)
            for naive in ("persistence", "seasonal")
        ]
        for column, target in enumerate(spec.targets):
            for number, horizon in enumerate(horizons):
                figures = [float(each[number, column]) for each in (own.mae, own.rmse, own.r2, *skills)]
                rows.append(ErrorRow(name, target, horizon, sums[name].count, *figures))
    return rows


def forecasts_of(net: ForecastNet, ridge: "Ridge", batch: ForecastBatch, spec: WindowSpec) -> dict[str, Tensor]:
    """Scaled forecasts `[B, P, T]` of the model and its references by name, the model first."""
    naive = naive_forecasts(batch.history, spec)
    return {"model": forecast_batch(net, batch), **naive, "ridge": ridge.forecast(batch)}


def forecast_batch(net: ForecastNet, batch: ForecastBatch) -> Tensor:
    """Scaled forecasts `[B, P, T]` of `net`, on the CPU and without dropout."""
    with evaluating(net) as device:
        forecast: Tensor = net(*(part.to(device) for part in batch[:4])).cpu()
    return forecast


@dataclass(frozen=True)
class Ridge:
    """Ridge regression from the whole window to all horizons: weights `[D + 1, P * T]`, the last row the bias."""

    weights: NDArray[np.float64]
    penalty: float
    series: int

    def forecast(self, batch: ForecastBatch) -> Tensor:
        """Scaled forecasts float32 `[B, P, T]`."""
        forecast = _design(batch, self.series) @ self.weights
        return torch.from_numpy(forecast.reshape(batch.target.shape).astype(np.float32))


def fit_ridge(data: ForecastDataModule) -> Ridge:
    """The best of `PENALTIES` on validation, all fitted to the training windows by the normal equations.

    The target is the change from the last known value, so a large penalty leads to persistence.
    """
    series = len(data.spec.series)
    gram: Any = 0.0
    right: Any = 0.0
    for batch in data.in_order("train"):
        design = _design(batch, series)
        base = _weights_of_last(batch, design.shape[1])
        change = batch.target.flatten(1).double().numpy() - design @ base
        gram, right = gram + design.T @ design, right + design.T @ change
    penalised = np.ones(len(gram))
    penalised[-1] = 0  # not the bias
    fitted = []
    for penalty in PENALTIES:
        weights = base + np.linalg.solve(gram + np.diag(penalty * penalised), right)
        ridge = Ridge(weights, penalty, series)
        error = sum(float((ridge.forecast(batch) - batch.target).abs().sum()) for batch in data.in_order("validation"))
        fitted.append((error, ridge))
    return min(fitted, key=lambda one: one[0])[1]


def _design(batch: ForecastBatch, series: int) -> NDArray[np.float64]:
    """Inputs `[B, D + 1]`: the past, the calendar of the first forecast step, static columns, series, one."""
    kinds = torch.nn.functional.one_hot(batch.series, series)
    ones = torch.ones(len(batch.series), 1)
    parts = [batch.history.flatten(1), batch.future[:, 0], batch.statics, kinds, ones]
    return torch.cat(parts, 1).double().numpy()


def _weights_of_last(batch: ForecastBatch, width: int) -> NDArray[np.float64]:
    """Weights `[D + 1, P * T]` of the persistence forecast."""
    steps, inputs = batch.history.shape[1:]
    horizons, targets = batch.target.shape[1:]
    weights = np.zeros((width, horizons, targets))
    for target in range(targets):
        weights[(steps - 1) * inputs + target, :, target] = 1
    return weights.reshape(width, horizons * targets)


def example_panels(
    net: ForecastNet, data: ForecastDataModule, count: int = 6, split: str = "test"
) -> list[ForecastPanel]:
    """`count` windows of the first target in units, evenly spread over the windows of `split`."""
    windows, spec = data.windows[split], data.spec
    rows = np.unique(np.linspace(0, len(windows) - 1, count).round().astype(np.int64))
    batch = windows[rows]
    parts = {
        "past": batch.history[:, :, : len(spec.targets)],
        "truth": batch.target,
        "forecast": forecast_batch(net, batch),
        **naive_forecasts(batch.history, spec),
    }
    units = {name: spec.in_units(part.numpy())[:, :, 0].tolist() for name, part in parts.items()}
    return [
        ForecastPanel(
            title=f"{spec.series[series]}, from {data.grid.times(origin)}",
            past_steps=list(range(1 - spec.history, 1)),
            past=units["past"][row],
            steps=spec.horizons,
            truth=units["truth"][row],
            forecast=units["forecast"][row],
            naive=units["seasonal"][row] if "seasonal" in units else None,
        )
        for row, (series, origin) in enumerate(zip(batch.series.tolist(), windows.origin[rows], strict=True))
    ]


def data_table(settings: ForecastTrainConfig) -> pa.Table:
    """The readings that a run with `settings` would use, on its regular grid: a row for each series and step.

    The columns of series, time (UTC if the readings have a zone) and values are named as in the source, so
    `hexlit predict` accepts the table. A missing value is NaN. `split` comes last. A source without series has the
    column `series`. A source with the time in several columns has `time`.

    Raises:
        UsageError: they cannot be read, or are too few.
    """
    data = _data(settings)
    grid, names = data.grid, _column_names(settings)
    split = np.repeat(SPLITS, np.diff([0, *data.cuts, grid.steps]))
    columns = [np.repeat(grid.series, grid.steps), np.tile(grid.times(np.arange(grid.steps)), len(grid.series))]
    values = grid.values.reshape(-1, len(data.spec.values)).T
    return pa.table([*columns, *values, np.tile(split, len(grid.series))], [*names, *data.spec.values, "split"])


def judged_table(settings: ForecastTrainConfig, checkpoint: Path, split: str) -> pa.Table:
    """Every forecast of the windows of `split` beside the truth: a row for each window, target and step ahead.

    The columns are series and time of the forecast step, named as in `data_table`, `steps_ahead`, `target` and `truth`.
    The forecasts are `model`, `persistence`, `seasonal` (if the past is long enough) and `ridge`, in units.

    Raises:
        UsageError: the readings or the checkpoint cannot be read, or do not belong together.
    """
    loaded, data = load_forecaster(checkpoint), _data(settings)
    spec = data.spec
    if loaded.spec != spec:
        raise UsageError(f"checkpoint={checkpoint}: was trained on other readings than those of data.path now")
    batch = data.windows[split][:]
    scaled = {"truth": batch.target, **forecasts_of(loaded.net, fit_ridge(data), batch, spec)}
    series, time = _column_names(settings)
    windows, ahead, targets = len(batch.origin), np.array(spec.horizons), len(spec.targets)
    times = data.grid.times(batch.origin.numpy()[:, None] + ahead)
    return pa.table(
        {
            series: np.repeat(np.array(spec.series)[batch.series.numpy()], len(ahead) * targets),
            time: np.repeat(times.ravel(), targets),
            "steps_ahead": np.tile(np.repeat(ahead, targets), windows),
            "target": np.tile(spec.targets, windows * len(ahead)),
            **{name: spec.in_units(forecast.numpy()).ravel() for name, forecast in scaled.items()},
        }
    )


def _column_names(settings: ForecastTrainConfig) -> tuple[str, str]:
    """Names of the columns of series and time."""
    time = settings.data.time
    return settings.data.series or "series", time[0] if len(time) == 1 else "time"


def _data(settings: ForecastTrainConfig) -> ForecastDataModule:
    """The data as a run has it; it does not depend on the device."""
    return ForecastDataModule(settings.data, seed=settings.seed, profile=build_profile(AcceleratorConfig(device="cpu")))


def forecast_file(checkpoint: Path, source: Path) -> pa.Table:
    """Forecasts of every series of the CSV or Parquet file `source`, from its last row on.

    The file has the same columns as the training data, and at least as many steps as a forecast sees. The table has the
    columns `series`, `time` (in UTC if the file's times have a zone), `steps_ahead` and one for each target, in its
    unit. A series with a gap that is too long to fill is left out with a warning.

    Raises:
        UsageError: `checkpoint` or `source` cannot be read, a series is new, or none can be forecast.
    """
    loaded = load_forecaster(checkpoint)
    spec = loaded.spec
    grid = read_grid(source, spec.source, key="source")
    if unknown := [name for name in grid.series if name not in spec.series]:
        raise UsageError(
            f"source={source}: series {', '.join(unknown)} is not among those trained on: {', '.join(spec.series)}"
        )
    numbers = np.array([spec.series.index(name) for name in grid.series])
    own = replace(spec, series=list(grid.series), statics=[spec.statics[number] for number in numbers])
    table = WindowTable(grid, own)
    ready = [
        last + 1 >= spec.history and bool(table.has_input[series, last + 1 - spec.history : last + 1].all())
        for series, last in enumerate(grid.last)
    ]
    gap = f"{spec.history} steps without a gap of more than {spec.max_gap}"
    if not any(ready):
        raise UsageError(f"source={source}: no series ends with {gap}")
    if not all(ready):
        left_out = ", ".join(name for name, is_ready in zip(grid.series, ready, strict=True) if not is_ready)
        log.warning("source=%s: no forecast of series %s, which must end with %s", source, left_out, gap)
    rows = np.flatnonzero(ready)
    batch = table.batch(rows, grid.last[rows])._replace(series=torch.from_numpy(numbers[rows]))
    values = spec.in_units(forecast_batch(loaded.net, batch).numpy())
    steps = grid.last[rows][:, None] + np.array(spec.horizons)
    return pa.table(
        {
            "series": np.repeat(np.array(grid.series)[rows], len(spec.horizons)),
            "time": grid.times(steps).ravel(),
            "steps_ahead": np.tile(np.array(spec.horizons), len(rows)),
            **{target: values[:, :, column].ravel() for column, target in enumerate(spec.targets)},
        }
    )


def predict(checkpoint: Path, source: Path, target: Path) -> str:
    """Write the forecasts of `forecast_file` to `target`, and return a line with their number."""
    check_target(target)
    table = forecast_file(checkpoint, source)
    columns = {
        "series": "Name of the series, as in the source.",
        "time": "Time that is forecast; UTC where the times of the source have a zone.",
        "steps_ahead": "Steps after the last row of the series.",
        **{name: f"Forecast of {name}, in its unit in the source." for name in table.column_names[3:]},
    }
    write_table(table, target, "Forecasts of a trained network from the last row of each series on.", columns)
    return f"{len(table)} forecasts of {len(table['series'].unique())} series written to {target}"
