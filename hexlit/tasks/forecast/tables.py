"""Readings, and a trained network's forecasts of them, as tables to look at."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.errors import UsageError
from hexlit.tasks.forecast.checkpoint import load_forecaster
from hexlit.tasks.forecast.data_module import SPLITS, ForecastDataModule
from hexlit.tasks.forecast.evaluation import forecasters
from hexlit.tasks.forecast.train_config import ForecastTrainConfig


def data_table(settings: ForecastTrainConfig) -> pa.Table:
    """The readings that a run with `settings` would use, on its regular grid: a row for each series and step.

    The columns of series, time (UTC if the readings have a zone) and values are named as in the source, so
    `hexlit predict` accepts the table. A missing value is NaN. `split` comes last. A source without series has the
    column `series`. A source with the time in several columns has `time`.

    Raises:
        UsageError: they cannot be read, or are too few.
    """
    data = _data(settings)
    grid = data.grid
    split = np.repeat(SPLITS, np.diff([0, *data.cuts, grid.steps]))
    series, time = column_names(settings)
    values = grid.values.reshape(-1, len(grid.columns))
    return pa.table(
        {
            series: np.repeat(grid.series, grid.steps),
            time: np.tile(grid.times(np.arange(grid.steps)), len(grid.series)),
            **{name: values[:, place] for place, name in enumerate(grid.columns)},
            "split": np.tile(split, len(grid.series)),
        }
    )


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
    batch = data.all_of(split)
    found = {"truth": batch.target.numpy()}
    for name, forecaster in forecasters(loaded.net, data).items():
        forecast = forecaster(batch)
        if forecast is not None:
            found[name] = forecast.numpy()
    series, time = column_names(settings)
    windows, ahead, targets = len(batch.origin), np.array(spec.horizons), len(spec.targets)
    times = data.grid.times(batch.origin.numpy()[:, None] + ahead)
    return pa.table(
        {
            series: np.repeat(np.array(spec.series)[batch.series.numpy()], len(ahead) * targets),
            time: np.repeat(times.ravel(), targets),
            "steps_ahead": np.tile(np.repeat(ahead, targets), windows),
            "target": np.tile(spec.targets, windows * len(ahead)),
            **{name: spec.in_units(scaled).ravel() for name, scaled in found.items()},
        }
    )


def column_names(settings: ForecastTrainConfig) -> tuple[str, str]:
    """Names of the columns of series and time."""
    time = settings.data.time
    return settings.data.series or "series", time[0] if len(time) == 1 else "time"


def _data(settings: ForecastTrainConfig) -> ForecastDataModule:
    """The data as a run has it; it does not depend on the device."""
    return ForecastDataModule(settings.data, seed=settings.seed, profile=build_profile(AcceleratorConfig(device="cpu")))
