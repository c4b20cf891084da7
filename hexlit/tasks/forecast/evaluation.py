"""The forecaster beside plain references on the same windows, and its forecasts as tables and figures."""

import logging
from dataclasses import replace
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
from hexlit.tasks.forecast.module import (
    NAIVE,
    SPLITS,
    ForecastDataModule,
    ForecastNet,
    errors_of,
    naive_forecasts,
    skill,
)
from hexlit.tasks.supervised import evaluating, load_trained
from hexlit.tasks.tables import check_target, write_table

log = logging.getLogger(__name__)

OVERALL = "all"
PENALTIES = (1.0, 10.0, 100.0, 1e3, 1e4)
"""Penalties of ridge regression to choose from, by the MAE on validation."""


def load_forecaster(path: Path) -> tuple[ForecastNet, WindowSpec]:
    """The forecaster of the checkpoint `path`, or of the folder of a run: its network and the facts about its data.

    The network is in evaluation mode on the CPU.

    Raises:
        UsageError: it is no checkpoint of a forecaster.
    """

    def make(settings: dict[str, Any], state: dict[str, Tensor]) -> tuple[ForecastNet, WindowSpec]:
        spec = WindowSpec(**settings["spec"])
        net = ForecastNet(ForecastNetConfig(**settings["net"]), spec)
        net.load_state_dict(state)
        return net.eval(), spec

    return load_trained(path, "forecaster", make)


def error_table(net: ForecastNet, data: ForecastDataModule, split: str = "test") -> list[dict[str, Any]]:
    """Errors on the windows of `split` by forecaster, target and horizon, each target's overall row first.

    A row has the `forecaster` (`model`, `persistence`, `seasonal` or `ridge`), the `target`, the `horizon` in steps
    ahead or `all`, the number of `windows`, `mae`, `rmse`, `r2`, `skill_over_persistence` and `skill_over_seasonal`,
    which is NaN if the past is shorter than the season. Use the test set once, at the end.
    """
    spec, weights = data.spec, fit_ridge(data)
    batches = [(forecasts_of(net, weights, batch, spec), batch.target) for batch in data.in_order(split)]
    errors = {
        name: errors_of(((forecasts[name], truth) for forecasts, truth in batches), spec.target_std)
        for name in batches[0][0]
    }
    table = []
    for forecaster, own in errors.items():
        columns = {"mae": own.mae, "rmse": own.rmse, "r2": own.r2}
        for naive in NAIVE:
            columns[f"skill_over_{naive}"] = skill(own.mae, errors[naive].mae if naive in errors else 0 * own.mae)
        for column, target in enumerate(spec.targets):
            for number, horizon in enumerate([OVERALL, *spec.horizons]):
                row = {"forecaster": forecaster, "target": target, "horizon": horizon}
                figures = {name: float(values[number, column]) for name, values in columns.items()}
                table.append({**row, "windows": len(data.windows[split]), **figures})
    return table


def forecasts_of(
    net: ForecastNet, weights: NDArray[np.float64], batch: ForecastBatch, spec: WindowSpec
) -> dict[str, Tensor]:
    """Scaled forecasts `[B, P, T]` by name: the model, then its references, `weights` of the ridge regression last."""
    ridge = ridge_forecast(weights, batch, spec)
    return {"model": forecast_batch(net, batch), **naive_forecasts(batch.history, spec), "ridge": ridge}


def forecast_batch(net: ForecastNet, batch: ForecastBatch) -> Tensor:
    """Scaled forecasts `[B, P, T]` of `net`, on the CPU and without dropout."""
    with evaluating(net) as device:
        forecast: Tensor = net(*(part.to(device) for part in batch[:4])).cpu()
    return forecast


def fit_ridge(data: ForecastDataModule) -> NDArray[np.float64]:
    """Weights of ridge regression from the whole window to all horizons, `[D + 1, P * T]`, the last row the bias.

    They are the best of `PENALTIES` on validation, all fitted to the training windows by the normal equations. The
    target is the change from the last known value, so a large penalty leads to persistence.
    """
    gram: Any = 0.0
    right: Any = 0.0
    for batch in data.in_order("train"):
        design = _design(batch, data.spec)
        change = (batch.target - _last(batch)).flatten(1).double().numpy()
        gram, right = gram + design.T @ design, right + design.T @ change
    penalised = np.ones(len(gram))
    penalised[-1] = 0  # not the bias
    fitted = [np.linalg.solve(gram + np.diag(penalty * penalised), right) for penalty in PENALTIES]

    def error(weights: NDArray[np.float64]) -> float:
        batches = data.in_order("validation")
        return sum(float((ridge_forecast(weights, one, data.spec) - one.target).abs().sum()) for one in batches)

    return min(fitted, key=error)


def ridge_forecast(weights: NDArray[np.float64], batch: ForecastBatch, spec: WindowSpec) -> Tensor:
    """Scaled forecasts float32 `[B, P, T]` of ridge regression."""
    change = (_design(batch, spec) @ weights).reshape(batch.target.shape)
    return (_last(batch) + torch.from_numpy(change)).float()


def _design(batch: ForecastBatch, spec: WindowSpec) -> NDArray[np.float64]:
    """Inputs `[B, D + 1]`: the past, the calendar of the first forecast step, static columns, series, one."""
    kinds = torch.nn.functional.one_hot(batch.series, len(spec.series))
    ones = torch.ones(len(batch.series), 1)
    parts = [batch.history.flatten(1), batch.future[:, 0], batch.statics, kinds, ones]
    return torch.cat(parts, 1).double().numpy()


def _last(batch: ForecastBatch) -> Tensor:
    """The last known targets, `[B, 1, T]`."""
    return batch.history[:, -1:, : batch.target.shape[2]]


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
    (net, spec), data = load_forecaster(checkpoint), _data(settings)
    if data.spec != spec:
        raise UsageError(f"checkpoint={checkpoint}: was trained on other readings than those of data.path now")
    batch = data.windows[split][:]
    scaled = {"truth": batch.target, **forecasts_of(net, fit_ridge(data), batch, spec)}
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
    net, spec = load_forecaster(checkpoint)
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
    values = spec.in_units(forecast_batch(net, batch).numpy())
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
