"""Forecasts of a new file: those of the network, from the end of every series."""

import logging
from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
import torch

from hexlit.commands.predict import main
from hexlit.errors import UsageError
from hexlit.parquet import descriptions
from hexlit.tasks.forecast.config import ForecastNetConfig
from hexlit.tasks.forecast.evaluation import forecast_batch
from hexlit.tasks.forecast.module import ForecastModule
from hexlit.tasks.forecast.predict import forecast_file, write_forecasts
from hexlit.training.config import OptimizerConfig, TrainerConfig
from tests.commands.test_train import as_a_process
from tests.tasks.forecast.tables import emptied, hourly, make_data, save, without


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ForecastModule, Any]:
    """A checkpoint on series a, b and c with a static column, its module and its data."""
    folder = tmp_path_factory.mktemp("run")
    table = hourly(300, ("a", "b", "c"))
    table = table.append_column("height", pa.array(np.repeat([1.0, 5.0, 9.0], 300)))
    data = make_data(save(table, folder / "t.csv"), statics=["height"])
    torch.manual_seed(0)
    learning = OptimizerConfig(lr=1e-2, warmup_steps=0)
    module = ForecastModule(ForecastNetConfig(hidden=8, head=8), data.spec, learning, TrainerConfig(), data.profile)
    quiet: dict[str, Any] = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar"), False)
    trainer = L.Trainer(accelerator="cpu", devices=1, max_epochs=2, enable_model_summary=False, **quiet)
    trainer.fit(module, data)
    trainer.save_checkpoint(folder / "net.ckpt")
    return folder / "net.ckpt", module, data


@pytest.mark.row("F9")
def test_forecasts_are_those_of_the_network_at_the_end_of_each_series(trained: Any, tmp_path: Path) -> None:
    """Of two of the series, in a file that begins later, where they stand at other places than in training."""
    checkpoint, module, data = trained
    later = hourly(300, ("a", "b", "c")).slice(300)  # without a
    rows = [row for row in range(600) if row % 300 >= 250 and row < 595]  # c ends 5 steps before b
    found = forecast_file(checkpoint, save(later.take(rows), tmp_path / "new.csv"))
    assert found.column_names == ["series", "time", "steps_ahead", "temp"]
    assert found["series"].to_pylist() == ["b"] * 3 + ["c"] * 3
    assert found["steps_ahead"].to_pylist() == [1, 2, 3] * 2
    batch = data.table.batch(np.array([1, 2]), np.array([299, 294]))
    expected = data.spec.in_units(forecast_batch(module.net, batch, torch.device("cpu")).numpy())
    np.testing.assert_allclose(found["temp"].to_numpy(), expected.ravel(), rtol=1e-5)
    times = data.grid.times(np.array([300, 301, 302, 295, 296, 297]))
    assert (found["time"].to_numpy().astype("datetime64[s]") == times).all()


def test_a_series_with_too_long_a_gap_is_left_out_and_named(
    trained: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = emptied(hourly(100), "wind", [196, 197, 198])
    with caplog.at_level(logging.WARNING):
        found = forecast_file(trained[0], save(table, tmp_path / "t.csv"))
    assert set(found["series"].to_pylist()) == {"a"}
    assert "no forecast of series b" in caplog.text
    short = emptied(hourly(100), "temp", [98, 99, 197, 198])  # gaps that are filled
    assert set(forecast_file(trained[0], save(short, tmp_path / "s.csv"))["series"].to_pylist()) == {"a", "b"}


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (hourly(50, ("a", "z")), "series z is not among those trained on: a, b, c"),
        (hourly(5), "no series ends with 6 steps without a gap of more than 2"),
        (without(hourly(50, ("a",)), [45, 46, 47]), "no series ends with 6 steps"),
        (hourly(50).drop_columns(["wind"]), "has no column wind"),
    ],
)
def test_a_file_that_cannot_be_forecast_is_refused_in_one_line(
    table: pa.Table, said: str, trained: Any, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=f"source=.*t.csv: .*{said}") as caught:
        forecast_file(trained[0], save(table, tmp_path / "t.csv"))
    assert "\n" not in str(caught.value)


@pytest.mark.row("F9")
def test_forecasts_are_written_whole_as_csv_or_parquet(trained: Any, tmp_path: Path) -> None:
    found = forecast_file(trained[0], save(hourly(50), tmp_path / "t.csv"))
    write_forecasts(found, tmp_path / "out" / "f.csv")
    write_forecasts(found, tmp_path / "out" / "f.parquet")
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["f.csv", "f.parquet"]
    assert list(descriptions(pq.read_schema(tmp_path / "out" / "f.parquet"))) == found.column_names
    for again in (pacsv.read_csv(tmp_path / "out" / "f.csv"), pq.read_table(tmp_path / "out" / "f.parquet")):
        assert again["series"].to_pylist() == found["series"].to_pylist()
        np.testing.assert_allclose(again["temp"].to_numpy(), found["temp"].to_numpy())
    with pytest.raises(UsageError, match=r"target=.*f\.txt: the name of a table ends in \.csv or \.parquet"):
        write_forecasts(found, tmp_path / "f.txt")


def test_a_text_is_refused_in_one_line(
    trained: tuple[Path, ForecastModule, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with as_a_process(tmp_path):
        assert main([f"checkpoint={trained[0]}", "text=sunny"]) == 2
    said = "text='sunny': a network of task forecast takes source=FILE and target=FILE"
    assert capfd.readouterr().err == f"hexlit predict: {said}\n"
