"""Forecasts from the end of every series of a file, from a trained network."""

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import torch
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.parquet import described, write_described
from hexlit.tasks.forecast.checkpoint import load_forecaster
from hexlit.tasks.forecast.evaluation import forecast_batch
from hexlit.tasks.forecast.grid import Grid, build_grid
from hexlit.tasks.forecast.source import read_readings
from hexlit.tasks.forecast.spec import WindowSpec
from hexlit.tasks.forecast.windows import WindowTable

log = logging.getLogger(__name__)

_ABOUT = "Forecasts of a trained network from the last row of each series on, one row for a series and a time."


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
    # Static columns come from training: they belong to the series, which are the same.
    columns = replace(spec.columns, statics=[])
    grid = build_grid(read_readings(source, columns, key="source"), spec.step_minutes)
    unknown = [name for name in grid.series if name not in spec.series]
    if unknown:
        raise UsageError(
            f"source={source}: series {', '.join(unknown)} is not among those trained on: {', '.join(spec.series)}"
        )
    numbers = np.array([spec.series.index(name) for name in grid.series])
    own = replace(spec, series=list(grid.series), statics=[spec.statics[number] for number in numbers])
    table = WindowTable(grid, own)
    ready = _ready(grid, table, spec)
    left_out = [name for name, is_ready in zip(grid.series, ready, strict=True) if not is_ready]
    if not ready.any():
        raise UsageError(
            f"source={source}: no series ends with {spec.history} steps without a gap of more than {spec.max_gap}"
        )
    if left_out:
        log.warning(
            "source=%s: no forecast of series %s, whose last %d steps have a gap of more than %d",
            source,
            ", ".join(left_out),
            spec.history,
            spec.max_gap,
        )
    rows = np.flatnonzero(ready)
    batch = table.batch(rows, grid.last[rows])
    batch = batch._replace(series=torch.from_numpy(numbers[rows]))
    values = spec.in_units(forecast_batch(loaded.net, batch, torch.device("cpu")).numpy())
    steps = grid.last[rows][:, None] + np.array(spec.horizons)
    found = {
        "series": np.repeat(np.array(grid.series)[rows], len(spec.horizons)),
        "time": grid.times(steps).ravel(),
        "steps_ahead": np.tile(np.array(spec.horizons), len(rows)),
    }
    for place, target in enumerate(spec.targets):
        found[target] = values[:, :, place].ravel()
    table = pa.table(found)
    return table.cast(described(table.schema, _ABOUT, _columns(spec)))


def _columns(spec: WindowSpec) -> dict[str, str]:
    """Column -> its description."""
    return {
        "series": "Name of the series, as in the source.",
        "time": "Time that is forecast; UTC where the times of the source have a zone.",
        "steps_ahead": f"Steps of {spec.step_minutes} minutes after the last row of the series.",
        **{target: f"Forecast of {target}, in its unit in the source." for target in spec.targets},
    }


def predict(checkpoint: Path, source: Path, target: Path) -> str:
    """Write the forecasts of `forecast_file` to `target`, and return a line with their number."""
    check_table_name(target)
    table = forecast_file(checkpoint, source)
    write_forecasts(table, target)
    series = len(table.column("series").unique())
    return f"{len(table)} forecasts of {series} series written to {target}"


def write_forecasts(table: pa.Table, target: Path) -> None:
    """Write `table` to the file `target`, CSV or Parquet by its name, whole or not at all.

    Raises:
        UsageError: the name has another ending.
    """
    check_table_name(target)
    with replacing(target) as temporary:
        if target.suffix == ".parquet":
            write_described(table, temporary)
        else:
            pacsv.write_csv(table, temporary)


def check_table_name(target: Path) -> None:
    """Raise `UsageError` if the name ends neither in .csv nor in .parquet."""
    if target.suffix not in (".csv", ".parquet"):
        raise UsageError(f"target={target}: the name of a table ends in .csv or .parquet")


def _ready(grid: Grid, table: WindowTable, spec: WindowSpec) -> NDArray[np.bool_]:
    """Whether a series has all inputs in the steps up to its last row, `[S]`."""
    begins = grid.last - spec.history + 1
    found = [
        begin >= 0 and bool(table.has_input[series, begin : last + 1].all())
        for series, (begin, last) in enumerate(zip(begins, grid.last, strict=True))
    ]
    return np.array(found, np.bool_)
