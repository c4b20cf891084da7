"""The forecaster next to plain references on the same windows; forecasts as tables and figures."""

import logging
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
from hexlit.tasks.forecast.data import MAX_GAP, ForecastBatch, WindowSpec, WindowTable, read_grid
from hexlit.tasks.forecast.module import (
    NAIVE,
    ForecastDataModule,
    ForecastNet,
    errors_of,
    naive_forecasts,
    skill,
)
from hexlit.tasks.supervised import evaluating, load_trained
from hexlit.tasks.tables import SPLITS, write_table
from hexlit.training.batches import parts_of

log = logging.getLogger(__name__)

OVERALL = "all"
AT_ONCE = 1024
"""Windows that go through the network at once."""
PENALTIES = (1.0, 10.0, 100.0, 1e3, 1e4)
"""Penalties of ridge regression to choose from, by the MAE on validation."""


def load_forecaster(path: Path) -> tuple[ForecastNet, WindowSpec]:
    """The forecaster of the checkpoint `path`, or of the folder of a run: its network and the facts
    about its data.

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


def error_table(
    net: ForecastNet, data: ForecastDataModule, split: str = "test"
) -> list[dict[str, Any]]:
    """Errors on the windows of `split` by forecaster, target and horizon, each target's overall row
    first.

    A row has the `forecaster` (`model`, `persistence`, `seasonal` or `ridge`), the `target`, the
    `horizon` in steps ahead or `all`, the number of `windows`, `mae`, `rmse`, `r2`,
    `skill_over_persistence` and `skill_over_seasonal`, which is NaN if the past is shorter than the
    season. Use the test set once, at the end.
    """
    spec, batch = data.spec, data.windows[split][:]
    forecasts = forecasts_of(net, data, batch)
    errors = {
        name: errors_of([(own, batch.target)], spec.target_std) for name, own in forecasts.items()
    }
    table = []
    for forecaster, own in errors.items():
        columns = {"mae": own.mae, "rmse": own.rmse, "r2": own.r2}
        for naive in NAIVE:
            columns[f"skill_over_{naive}"] = skill(
                own.mae, errors[naive].mae if naive in errors else 0 * own.mae
            )
        for column, target in enumerate(spec.targets):
            for number, horizon in enumerate([OVERALL, *range(1, spec.horizon + 1)]):
                row = {
                    "forecaster": forecaster,
                    "target": target,
                    "horizon": horizon,
                    "windows": len(batch.series),
                }
                table.append(
                    row | {name: float(values[number, column]) for name, values in columns.items()}
                )
    return table


def forecasts_of(
    net: ForecastNet, data: ForecastDataModule, batch: ForecastBatch
) -> dict[str, Tensor]:
    """Scaled forecasts `[B, P, T]` by name: of the model, the naive ones, and of ridge regression."""
    change = torch.from_numpy(_design(batch, data.spec) @ fit_ridge(data)).reshape(
        batch.target.shape
    )
    ridge = (_last(batch) + change).float()
    return {
        "model": forecast_batch(net, batch),
        **naive_forecasts(batch.history, data.spec),
        "ridge": ridge,
    }


def forecast_batch(net: ForecastNet, batch: ForecastBatch) -> Tensor:
    """Scaled forecasts `[B, P, T]` of `net`, on the CPU and without dropout."""
    with evaluating(net) as device:
        forecasts = []
        for part in parts_of(batch, AT_ONCE):
            inputs = [tensor.to(device) for tensor in part[:3]]
            forecasts.append(net(*inputs).cpu())
        return torch.cat(forecasts)


def fit_ridge(data: ForecastDataModule) -> NDArray[np.float64]:
    """Weights of ridge regression from the whole window to all horizons, `[D + 1, P * T]`, the last
    row the bias.

    They are the best of `PENALTIES` on validation, all fitted to the training windows by the normal
    equations. The target is the change from the last known value, so a large penalty leads to
    persistence.
    """
    train, validation = data.windows["train"][:], data.windows["validation"][:]
    design, change = _design(train, data.spec), _change(train)
    judged, truth = _design(validation, data.spec), _change(validation)
    gram, right = design.T @ design, design.T @ change
    penalised = np.eye(len(gram))
    penalised[-1, -1] = 0.0  # the bias
    fitted: list[NDArray[np.float64]] = []
    for penalty in PENALTIES:
        fitted.append(np.linalg.solve(gram + penalty * penalised, right).astype(np.float64))
    return min(fitted, key=lambda weights: float(np.abs(judged @ weights - truth).sum()))


def _change(batch: ForecastBatch) -> NDArray[np.float64]:
    """The targets' differences to their last known values, `[B, P * T]`."""
    change: NDArray[np.float64] = (batch.target - _last(batch)).flatten(1).double().numpy()
    return change


def _design(batch: ForecastBatch, spec: WindowSpec) -> NDArray[np.float64]:
    """Inputs `[B, D + 1]`: the past, the calendar of the first forecast step, the series, one."""
    kinds = torch.nn.functional.one_hot(batch.series, len(spec.names))
    ones = torch.ones(len(batch.series), 1)
    past = batch.history.flatten(1)
    calendar = batch.future[:, 0]
    design = torch.cat([past, calendar, kinds, ones], 1)
    return design.double().numpy()


def _last(batch: ForecastBatch) -> Tensor:
    """The last known targets, `[B, 1, T]`."""
    return batch.history[:, -1:, : batch.target.shape[2]]


def example_panels(net: ForecastNet, data: ForecastDataModule, count: int) -> list[ForecastPanel]:
    """`count` windows of the first target in units, evenly spread over the test set."""
    windows, spec = data.windows["test"], data.spec
    batch = windows[np.unique(np.linspace(0, len(windows) - 1, count).round().astype(np.int64))]
    naive = naive_forecasts(batch.history, spec).get("seasonal")
    past, *others = (
        spec.in_units(part.numpy())[:, :, 0].tolist()
        for part in (
            batch.history[:, :, : len(spec.targets)],
            batch.target,
            forecast_batch(net, batch),
            naive,
        )
        if part is not None
    )
    ahead = list(range(1, spec.horizon + 1))
    panels = []
    for row, (series, time) in enumerate(
        zip(batch.series, data.grid.times(batch.origin.numpy()), strict=True)
    ):
        title, steps = f"{spec.names[series]}, from {time}", list(range(1 - spec.history, 1))
        panels.append(
            ForecastPanel(title, steps, past[row], ahead, *(part[row] for part in others))
        )
    return panels


def data_table(settings: ForecastTrainConfig) -> pa.Table:
    """The readings that a run with `settings` would use, on its regular grid: a row for each series
    and step.

    The columns of series, time (UTC if the readings have a zone) and values are named as in the
    source, so `hexlit predict` accepts the table. A missing value is NaN. `split` comes last. A
    source without series has the column `series`. A source with the time in several columns has
    `time`.

    Raises:
        UsageError: they cannot be read, or are too few.
    """
    data = _data(settings)
    grid, names = data.grid, (settings.data.series or "series", settings.data.time)
    split = np.repeat(SPLITS, np.diff([0, *data.cuts, grid.steps]))
    columns = [
        np.repeat(grid.series, grid.steps),
        np.tile(grid.times(np.arange(grid.steps)), len(grid.series)),
    ]
    values = grid.values.reshape(-1, len(data.spec.values)).T
    return pa.table(
        [*columns, *values, np.tile(split, len(grid.series))], [*names, *data.spec.values, "split"]
    )


def judged_table(settings: ForecastTrainConfig, checkpoint: Path, split: str) -> pa.Table:
    """Every forecast of the windows of `split` next to the truth: a row for each window, target and
    step ahead.

    The columns are series and time of the forecast step, named as in `data_table`, `steps_ahead`,
    `target` and `truth`. The forecasts are `model`, `persistence`, `seasonal` (if the past is long
    enough) and `ridge`, in units.

    Raises:
        UsageError: the readings or the checkpoint cannot be read, or do not belong together.
    """
    (net, spec), data = load_forecaster(checkpoint), _data(settings)
    if data.spec != spec:
        raise UsageError(
            f"checkpoint={checkpoint}: was trained on other readings than those of data.path now"
        )
    batch = data.windows[split][:]
    scaled = {"truth": batch.target, **forecasts_of(net, data, batch)}
    windows, targets = len(batch.origin), len(spec.targets)
    ahead = np.arange(1, spec.horizon + 1)
    times = data.grid.times(batch.origin.numpy()[:, None] + ahead)
    return pa.table(
        {
            settings.data.series or "series": np.repeat(
                np.array(spec.names)[batch.series.numpy()], len(ahead) * targets
            ),
            settings.data.time: np.repeat(times.ravel(), targets),
            "steps_ahead": np.tile(np.repeat(ahead, targets), windows),
            "target": np.tile(spec.targets, windows * len(ahead)),
            **{name: spec.in_units(forecast.numpy()).ravel() for name, forecast in scaled.items()},
        }
    )


def _data(settings: ForecastTrainConfig) -> ForecastDataModule:
    """The data as a run has it; it does not depend on the device."""
    return ForecastDataModule(
        settings.data, seed=settings.seed, profile=build_profile(AcceleratorConfig(device="cpu"))
    )


def forecast_file(checkpoint: Path, source: Path) -> pa.Table:
    """Forecasts of every series of the CSV or Parquet file `source`, from its last row on.

    The file has the same columns as the training data, and at least as many steps as a forecast
    sees. The table has the columns `series`, `time` (in UTC if the file's times have a zone),
    `steps_ahead` and one for each target, in its unit. A series with a gap that is too long to fill
    is left out with a warning.

    Raises:
        UsageError: `checkpoint` or `source` cannot be read, a series is new, or none can be
            forecast.
    """
    net, spec = load_forecaster(checkpoint)
    grid = read_grid(source, spec.source, key="source")
    if unknown := [name for name in grid.series if name not in spec.names]:
        raise UsageError(
            f"source={source}: series {', '.join(unknown)} is not among those trained on: {', '.join(spec.names)}"
        )
    table = WindowTable(grid, spec)
    known = [
        table.has_input[series, : last + 1][-spec.history :].all()
        for series, last in enumerate(grid.last)
    ]
    ready = (grid.last + 1 >= spec.history) & known
    gap = f"{spec.history} steps without a gap of more than {MAX_GAP}"
    if not ready.any():
        raise UsageError(f"source={source}: no series ends with {gap}")
    names = np.array(grid.series)
    if not ready.all():
        left_out = ", ".join(names[~ready])
        log.warning(
            "source=%s: no forecast of series %s, which must end with %s", source, left_out, gap
        )
    rows = np.flatnonzero(ready)
    series = torch.tensor([spec.names.index(name) for name in names[rows]])
    batch = table.batch(rows, grid.last[rows])._replace(series=series)
    ahead = np.arange(1, spec.horizon + 1)
    values = spec.in_units(forecast_batch(net, batch).numpy())
    if not np.isfinite(values).all():
        raise UsageError(f"checkpoint={checkpoint}: its forecasts are no numbers")
    return pa.table(
        {
            "series": np.repeat(names[rows], spec.horizon),
            "time": grid.times(grid.last[rows][:, None] + ahead).ravel(),
            "steps_ahead": np.tile(ahead, len(rows)),
            **{target: values[:, :, column].ravel() for column, target in enumerate(spec.targets)},
        }
    )


def predict(checkpoint: Path, source: Path, target: Path) -> str:
    """Write the forecasts of `forecast_file` to `target`, and return a line with their number."""
    table = forecast_file(checkpoint, source)
    write_table(table, target)
    return f"{len(table)} forecasts of {len(table['series'].unique())} series written to {target}"
