"""Small tables of hourly readings, and what tests make of them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import torch

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.tasks.forecast.config import ForecastDataConfig, ForecastNetConfig, ForecastTrainConfig
from hexlit.tasks.forecast.module import ForecastDataModule, ForecastModule
from hexlit.training.config import OptimizerConfig, TrainerConfig

START = np.datetime64("2020-01-01T00:00:00", "s")
HOUR = np.timedelta64(3600, "s")


def hourly(steps: int = 400, series: tuple[str, ...] = ("a", "b"), seed: int = 0) -> pa.Table:
    """Columns `time` (ISO 8601), `place`, `temp` (a daily wave and noise) and `wind`, whole."""
    random = np.random.default_rng(seed)
    parts = []
    for number, name in enumerate(series):
        clock = np.arange(steps)
        parts.append(
            pa.table(
                {
                    "time": [str(time) for time in START + clock * HOUR],
                    "place": [name] * steps,
                    "temp": 20.0
                    + number
                    + 5 * np.sin(2 * np.pi * clock / 24)
                    + random.normal(0, 0.3, steps),
                    "wind": random.normal(3, 1, steps),
                }
            )
        )
    return pa.concat_tables(parts)


def without(table: pa.Table, rows: list[int]) -> pa.Table:
    """`table` but for `rows`."""
    return table.take([row for row in range(table.num_rows) if row not in set(rows)])


def emptied(table: pa.Table, column: str, rows: list[int]) -> pa.Table:
    """`table` with no value of `column` in `rows`."""
    values = [
        None if row in set(rows) else value for row, value in enumerate(table[column].to_pylist())
    ]
    return table.set_column(
        table.column_names.index(column), column, pa.array(values, table[column].type)
    )


def save(table: pa.Table, path: Path) -> Path:
    """Write `table` as CSV or Parquet, by the name of `path`."""
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        pacsv.write_csv(table, path)
    return path


def make_config(path: Path, **settings: Any) -> ForecastDataConfig:
    """Of the columns of `hourly`; short windows."""
    columns = {
        "time": "time",
        "timezone": None,
        "series": "place",
        "targets": ["temp"],
        "features": ["wind"],
    }
    fields: dict[str, Any] = {"history": 6, "horizon": 3, "season": 4}
    return ForecastDataConfig(path=str(path), **columns | fields | settings)


def make_profile(**settings: Any) -> DeviceProfile:
    fields: dict[str, Any] = {"device": "cpu", "threads": 1, "train_batch": 32}
    return build_profile(AcceleratorConfig(**fields | settings))


def make_data(
    path: Path,
    *,
    seed: int = 0,
    epoch: int = 0,
    accelerator: dict[str, Any] | None = None,
    **settings: Any,
) -> ForecastDataModule:
    data = ForecastDataModule(
        make_config(path, **settings), seed=seed, profile=make_profile(**accelerator or {})
    )
    data.trainer = SimpleNamespace(current_epoch=epoch)  # type: ignore[assignment]
    return data


def make_module(
    data: ForecastDataModule, *, ema_decay: float = 0.0, loss: str = "mae", **net: Any
) -> ForecastModule:
    torch.manual_seed(0)
    config = ForecastTrainConfig(
        net=ForecastNetConfig(**{"hidden": 16, "head": 16, "dropout": 0.0} | net),
        optimizer=OptimizerConfig(lr=1e-2, warmup_steps=0, schedule="constant"),
        trainer=TrainerConfig(ema_decay=ema_decay),
        loss=loss,
    )
    return ForecastModule(config, data.spec, data.profile)
