"""The model next to references on the same windows; tables of data, forecasts, new files."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
import torch

from hexlit.errors import UsageError
from hexlit.tasks.forecast.config import ForecastTrainConfig
from hexlit.tasks.forecast.evaluation import (
    OVERALL,
    data_table,
    error_table,
    example_panels,
    forecast_batch,
    forecast_file,
    judged_table,
    predict,
)
from hexlit.tasks.forecast.module import ForecastDataModule, ForecastModule, ForecastNet
from tests.tasks.forecast.tables import (
    emptied,
    hourly,
    make_config,
    make_data,
    make_module,
    save,
    without,
)
from tests.training.trainers import quiet_trainer


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(hourly(300), tmp_path_factory.mktemp("table") / "t.csv")


def make_net(data: ForecastDataModule) -> ForecastNet:
    return cast(ForecastNet, make_module(data, hidden=8, head=8, dropout=0.5).net)


def find(
    rows: list[dict[str, Any]], forecaster: str, horizon: int | str, target: str = "temp"
) -> dict[str, Any]:
    asked = {"forecaster": forecaster, "horizon": horizon, "target": target}
    (found,) = [row for row in rows if row.items() >= asked.items()]
    return found


def test_the_table_has_every_forecaster_target_and_horizon_on_the_same_windows(path: Path) -> None:
    data = make_data(path, targets=["temp", "wind"], features=[])
    rows = error_table(make_net(data), data)
    assert [(row["forecaster"], row["target"], row["horizon"]) for row in rows] == [
        (forecaster, target, horizon)
        for forecaster in ("model", "persistence", "seasonal", "ridge")
        for target in ("temp", "wind")
        for horizon in ("all", 1, 2, 3)
    ]
    assert {row["windows"] for row in rows} == {len(data.windows["test"])}
    naive = find(rows, "persistence", 3, "wind")
    windows, values = data.windows["test"], data.grid.values[:, :, 1]
    error = values[windows.series, windows.origin] - values[windows.series, windows.origin + 3]
    assert naive["mae"] == pytest.approx(np.abs(error).mean(), rel=1e-5)
    assert naive["skill_over_persistence"] == 0
    # Untrained, the network forecasts the last known value.
    assert find(rows, "model", 3, "wind")["mae"] == pytest.approx(naive["mae"])
    overall = [find(rows, "ridge", horizon)["mae"] for horizon in ("all", 1, 2, 3)]
    assert overall[0] == pytest.approx(sum(overall[1:]) / 3)


def test_ridge_finds_a_linear_law(tmp_path: Path) -> None:
    """y(t + 1) = 0.9 y(t) + 0.5 x(t): the first horizon is exact but for the noise."""
    random = np.random.default_rng(0)
    table = hourly(800, ("a",))
    x, y = random.normal(size=800), np.zeros(800)
    for step in range(799):
        y[step + 1] = 0.9 * y[step] + 0.5 * x[step] + 0.01 * random.normal()
    table = table.set_column(2, "temp", pa.array(y)).set_column(3, "wind", pa.array(x))
    data = make_data(save(table, tmp_path / "t.csv"))
    first = find(error_table(make_net(data), data), "ridge", 1)
    assert first["mae"] < 0.02
    assert first["skill_over_persistence"] > 0.9


def test_examples_are_windows_of_the_split_in_units(path: Path) -> None:
    data = make_data(path)
    panels = example_panels(make_net(data), data, count=4)
    assert len(panels) == 4
    for panel in panels:
        name, time = panel.title.split(", from ")
        values = data.grid.values[data.grid.series.index(name), :, 0]
        origin = int((np.datetime64(time) - data.grid.start) // data.grid.step)
        assert (panel.past_steps[-1], panel.steps) == (0, [1, 2, 3])
        np.testing.assert_allclose(panel.past, values[origin - 5 : origin + 1], rtol=1e-5)
        np.testing.assert_allclose(panel.truth, values[origin + 1 : origin + 4], rtol=1e-5)
        np.testing.assert_allclose(panel.forecast, panel.past[-1], rtol=1e-5)  # untrained
        assert panel.naive is not None
        np.testing.assert_allclose(panel.naive, panel.past[-4:-1], rtol=1e-5)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ForecastModule, Any]:
    """A checkpoint on series a, b and c, its module and its data."""
    folder = tmp_path_factory.mktemp("run")
    data = make_data(save(hourly(300, ("a", "b", "c")), folder / "t.csv"))
    module = make_module(data, hidden=8, head=8, dropout=0.3)
    trainer = quiet_trainer(2)
    trainer.fit(module, data)
    trainer.save_checkpoint(folder / "net.ckpt")
    return folder / "net.ckpt", module, data


def test_forecasts_are_those_of_the_network_at_the_end_of_each_series(
    trained: Any, tmp_path: Path
) -> None:
    """Of two of the series, in a file that begins later,
    where they stand at other places than in training.
    """
    checkpoint, module, data = trained
    later = hourly(300, ("a", "b", "c")).slice(300)  # without a
    rows = [row for row in range(600) if row % 300 >= 250 and row < 595]  # c ends 5 steps before b
    found = forecast_file(checkpoint, save(later.take(rows), tmp_path / "new.csv"))
    assert found.column_names == ["series", "time", "steps_ahead", "temp"]
    assert found["series"].to_pylist() == ["b"] * 3 + ["c"] * 3
    assert found["steps_ahead"].to_pylist() == [1, 2, 3] * 2
    batch = data.table.batch(np.array([1, 2]), np.array([299, 294]))
    expected = data.spec.in_units(forecast_batch(module.net, batch).numpy())
    np.testing.assert_allclose(found["temp"].to_numpy(), expected.ravel(), rtol=1e-5)
    times = data.grid.times(np.array([300, 301, 302, 295, 296, 297]))
    assert (found["time"].to_numpy().astype("datetime64[s]") == times).all()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (hourly(50, ("a", "z")), "series z is not among those trained on: a, b, c"),
        (hourly(5), "no series ends with 6 steps without a gap of more than 6"),
        (without(hourly(50, ("a",)), [*range(41, 49)]), "no series ends with 6 steps"),
        (hourly(50).drop_columns(["wind"]), "cannot be read .*wind"),
    ],
)
def test_a_file_that_cannot_be_forecast_is_refused_in_one_line(
    table: pa.Table, said: str, trained: Any, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=f"source=.*t.csv: .*{said}") as caught:
        forecast_file(trained[0], save(table, tmp_path / "t.csv"))
    assert "\n" not in str(caught.value)


def test_forecasts_are_written_whole_as_csv_or_parquet(trained: Any, tmp_path: Path) -> None:
    source = save(hourly(50), tmp_path / "t.csv")
    forecasts = forecast_file(trained[0], source)
    for name in ("f.csv", "f.parquet"):
        predict(trained[0], source, tmp_path / "out" / name)
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["f.csv", "f.parquet"]
    for again in (
        pacsv.read_csv(tmp_path / "out" / "f.csv"),
        pq.read_table(tmp_path / "out" / "f.parquet"),
    ):
        assert again["series"].to_pylist() == forecasts["series"].to_pylist()
        np.testing.assert_allclose(again["temp"].to_numpy(), forecasts["temp"].to_numpy())
    with pytest.raises(
        UsageError, match=r"target=.*f\.txt: the name of a table ends in \.csv or \.parquet"
    ):
        predict(trained[0], source, tmp_path / "f.txt")


def test_a_network_without_numbers_forecasts_nothing(trained: Any, tmp_path: Path) -> None:
    saved = torch.load(trained[0], weights_only=True)
    saved["state_dict"] = {
        name: weights * torch.nan for name, weights in saved["state_dict"].items()
    }
    torch.save(saved, tmp_path / "nan.ckpt")
    with pytest.raises(UsageError, match="no numbers"):
        forecast_file(tmp_path / "nan.ckpt", save(hourly(60), tmp_path / "t.csv"))


@pytest.fixture(scope="module")
def tabled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, ForecastModule]:
    """The folder of a table with a gap and of a checkpoint, its data and its module."""
    folder = tmp_path_factory.mktemp("run")
    data = make_data(
        save(emptied(hourly(300), "wind", [280]), folder / "t.csv"),
        targets=["temp", "wind"],
        features=[],
    )
    module = make_module(data, hidden=8, head=8)
    trainer = quiet_trainer()
    trainer.fit(module, data)
    trainer.save_checkpoint(folder / "net.ckpt")
    return folder, data, module


def settings_of(folder: Path, **changed: Any) -> ForecastTrainConfig:
    return ForecastTrainConfig(
        data=make_config(folder / "t.csv", targets=["temp", "wind"], features=[], **changed)
    )


def test_a_table_has_every_reading_with_its_split(tabled: Any) -> None:
    folder, data, _ = tabled
    table = data_table(settings_of(folder))
    values = np.stack([table[name].to_numpy() for name in ("temp", "wind")], 1).reshape(
        data.grid.values.shape
    )
    np.testing.assert_array_equal(values, data.grid.values)
    assert np.isnan(values[0, 280, 1])
    first = table.slice(0, 300)["split"].to_pylist()
    assert [first.index(split) for split in ("train", "validation", "test")] == [0, *data.cuts]


def test_every_forecast_stands_beside_the_truth_at_its_time(tabled: Any) -> None:
    folder, data, module = tabled
    table = judged_table(settings_of(folder), folder / "net.ckpt", "test")
    place = {name: table[name].to_numpy() for name in table.column_names}
    steps = (place["time"].astype("datetime64[s]") - data.grid.start) // data.grid.step
    series = np.searchsorted(data.spec.names, place["place"])
    truth = data.grid.values[series, steps, np.searchsorted(data.spec.targets, place["target"])]
    np.testing.assert_allclose(place["truth"], truth, rtol=1e-5)
    for row in error_table(module.net, data):
        own = place["target"] == row["target"]
        if row["horizon"] != OVERALL:
            own &= place["steps_ahead"] == row["horizon"]
        error = np.abs(place[row["forecaster"]] - place["truth"])[own]
        assert error.mean() == pytest.approx(row["mae"], rel=1e-4)
