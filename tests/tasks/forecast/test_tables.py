"""Readings and forecasts as tables: those of a run, row by row."""

from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import pytest

from hexlit.errors import UsageError
from hexlit.tasks.forecast.config import ForecastNetConfig
from hexlit.tasks.forecast.evaluation import OVERALL, test_table
from hexlit.tasks.forecast.module import ForecastModule
from hexlit.tasks.forecast.predict import forecast_file
from hexlit.tasks.forecast.tables import data_table, judged_table
from hexlit.tasks.forecast.train_config import ForecastTrainConfig
from hexlit.training.config import OptimizerConfig, TrainerConfig
from tests.tasks.forecast.tables import emptied, hourly, make_config, make_data, save


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, ForecastModule]:
    """The folder of a table with a gap and of a checkpoint, its data and its module."""
    folder = tmp_path_factory.mktemp("run")
    data = make_data(save(emptied(hourly(300), "wind", [280]), folder / "t.csv"), targets=["temp", "wind"], features=[])
    module = ForecastModule(
        ForecastNetConfig(hidden=8, head=8), data.spec, OptimizerConfig(lr=1e-2), TrainerConfig(), data.profile
    )
    quiet: dict[str, Any] = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar"), False)
    trainer = L.Trainer(accelerator="cpu", devices=1, max_epochs=1, enable_model_summary=False, **quiet)
    trainer.fit(module, data)
    trainer.save_checkpoint(folder / "net.ckpt")
    return folder, data, module


def settings_of(folder: Path, **changed: Any) -> ForecastTrainConfig:
    return ForecastTrainConfig(data=make_config(folder / "t.csv", targets=["temp", "wind"], features=[], **changed))


def test_a_table_has_every_reading_with_its_split(trained: Any) -> None:
    folder, data, _ = trained
    table = data_table(settings_of(folder))
    values = np.stack([table[name].to_numpy() for name in ("temp", "wind")], 1).reshape(data.grid.values.shape)
    np.testing.assert_array_equal(values, data.grid.values)
    assert np.isnan(values[0, 280, 1])
    first = table.slice(0, 300)["split"].to_pylist()
    assert [first.index(split) for split in ("train", "validation", "test")] == [0, *data.cuts]


def test_a_table_of_readings_can_be_predicted(trained: Any, tmp_path: Path) -> None:
    folder, data, _ = trained
    found = forecast_file(folder / "net.ckpt", save(data_table(settings_of(folder)), tmp_path / "t.parquet"))
    assert found["series"].to_pylist() == ["a"] * 3 + ["b"] * 3
    assert found["time"].to_numpy()[0] == data.grid.times(np.array([300]))[0]


def test_every_forecast_stands_beside_the_truth_at_its_time(trained: Any) -> None:
    folder, data, module = trained
    table = judged_table(settings_of(folder), folder / "net.ckpt", "test")
    place = {name: table[name].to_numpy() for name in table.column_names}
    steps = (place["time"].astype("datetime64[s]") - data.grid.start) // data.grid.step
    series = np.searchsorted(data.spec.series, place["place"])
    truth = data.grid.values[series, steps, np.searchsorted(data.spec.targets, place["target"])]
    np.testing.assert_allclose(place["truth"], truth, rtol=1e-5)
    for row in test_table(module.net, data):
        own = place["target"] == row.target
        if row.horizon != OVERALL:
            own &= place["steps_ahead"] == row.horizon
        error = np.abs(place[row.forecaster] - place["truth"])[own]
        assert error.mean() == pytest.approx(row.mae, rel=1e-4)


def test_other_readings_than_those_of_the_training_are_refused(trained: Any) -> None:
    folder, _, _ = trained
    with pytest.raises(UsageError, match=r"net.ckpt: was trained on other readings"):
        judged_table(settings_of(folder, history=5), folder / "net.ckpt", "test")
