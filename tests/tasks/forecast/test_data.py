"""Tables on a grid of time and their windows: reading, gaps, splits that share no row, epochs."""

import gzip
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
import torch

from hexlit.errors import UsageError
from hexlit.tasks.forecast.config import ForecastDataConfig
from hexlit.tasks.forecast.data import (
    MAX_GAP,
    TimeGrid,
    calendar_features,
    carried_forward,
    read_grid,
    read_times,
)
from hexlit.tasks.forecast.module import ForecastDataModule
from hexlit.tasks.tables import SPLITS
from tests.tasks.forecast.tables import HOUR, START, emptied, hourly, make_data, save, without

COLUMNS = ForecastDataConfig(
    time="time", timezone=None, series="place", targets=["temp"], features=["wind"]
)


def test_csv_and_parquet_give_the_same_readings(tmp_path: Path) -> None:
    table = emptied(hourly(30), "wind", [3, 31])
    csv = save(table, tmp_path / "table.csv")
    zipped = tmp_path / "table.csv.gz"
    zipped.write_bytes(gzip.compress(csv.read_bytes()))
    first = read_grid(csv, COLUMNS)
    assert first.series == ("a", "b")
    assert (first.times(np.arange(30)) == START + np.arange(30) * HOUR).all()
    assert np.argwhere(np.isnan(first.values)).tolist() == [[0, 3, 1], [1, 1, 1]]
    np.testing.assert_allclose(first.values[:, :, 0].ravel(), table["temp"].to_numpy())
    for path in (save(table, tmp_path / "table.parquet"), zipped):
        other = read_grid(path, COLUMNS)
        assert (other.start, other.series) == (first.start, first.series)
        np.testing.assert_allclose(other.values, first.values)


def rows(**columns: list[Any]) -> pa.Table:
    base: dict[str, list[Any]] = {
        "time": ["2020-01-01T00:00:00", "2020-01-01T01:00:00"],
        "place": ["a", "a"],
        "temp": [1.0, 2.0],
        "wind": [1.0, 2.0],
    }
    return pa.table(base | columns)


@pytest.mark.parametrize(
    ("table", "part"),
    [
        (rows().drop_columns(["wind"]), "FieldRef.Name(wind)"),
        (rows(temp=["1.5", "warm"]), "'warm'"),
        (rows(time=["2020-01-01T00:00:00", "soon"]), "time is 'soon'"),
        (rows(time=["2020-01-01T00:00:00", None]), "column time is empty in 1 of 2 rows"),
        (rows(time=[1577836800, 1577840400]), "column time is a number"),
        (rows(place=["a", None]), "column place is empty in 1 of 2 rows"),
        (rows().slice(0, 0), "no rows"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_in_one_line(
    table: pa.Table, part: str, tmp_path: Path
) -> None:
    path = save(table, tmp_path / "t.parquet")
    with pytest.raises(UsageError) as caught:
        read_grid(path, COLUMNS)
    assert str(caught.value).startswith(f"data.path={path}: ")
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_times_are_dates_or_texts_and_those_with_a_zone_become_utc() -> None:
    zoned = datetime(2020, 2, 29, 8, tzinfo=ZoneInfo("America/New_York"))
    columns = [
        pa.array(["2020-02-29 13:00:00"]),
        pa.array(["2020-02-29T08:00:00-05:00"]),
        pa.array([datetime(2020, 2, 29, 13)], pa.timestamp("us")),
        pa.array([zoned], pa.timestamp("s", "America/New_York")),
    ]
    for column in columns:
        assert read_times(column.to_pandas()).tolist() == [datetime(2020, 2, 29, 13)]


@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_the_calendar_is_that_of_the_zone_also_over_a_change_of_the_clocks(
    zone: str | None,
) -> None:
    times = np.datetime64("2013-11-02T00", "s") + np.arange(72) * np.timedelta64(3600, "s")
    found = calendar_features(times, zone, ["hour", "weekday", "yearday"])
    for time, row in zip(times, found, strict=True):
        local = time.item().replace(tzinfo=ZoneInfo("UTC"))
        local = local.astimezone(ZoneInfo(zone)) if zone else local
        day = local.hour / 24
        turns = [day, (local.weekday() + day) / 7, (local.timetuple().tm_yday - 1 + day) / 365.25]
        expected = [wave(2 * np.pi * turn) for turn in turns for wave in (np.sin, np.cos)]
        np.testing.assert_allclose(row, expected, atol=1e-6)


def grid_of(
    folder: Path, times: list[str], values: list[float], series: str = "aaa", minutes: int = 60
) -> TimeGrid:
    table = pa.table({"time": times, "place": list(series[: len(times)]), "y": values})
    config = replace(COLUMNS, targets=["y"], features=[], step_minutes=minutes)
    return read_grid(save(table, folder / "t.parquet"), config)


def test_of_two_rows_at_one_time_the_first_of_the_table_counts(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, ["2020-01-01T01", "2020-01-01T00", "2020-01-01T01"], [1.0, 2.0, 3.0])
    assert grid.values[0, :, 0].tolist() == [2.0, 1.0]


def test_rows_that_do_not_count_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Double hours, and readings between two steps; a series has its own times."""
    minutes = ["00:00", "00:20", "00:40", "01:00", "01:00", "01:00"]
    times = [f"2020-01-01T{minute}" for minute in minutes]
    grid = grid_of(tmp_path, times, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], series="aaaaab")
    assert grid.values[0, :, 0].tolist() == [1.0, 4.0]
    assert grid.left_out == 3
    (record,) = caplog.records
    assert "3 of 6 rows are left out" in record.message
    data = make_data(save(pa.concat_tables([hourly(), hourly().slice(0, 3)]), tmp_path / "t.csv"))
    assert data.summary()["rows_left_out"] == 3


NAMES = [
    "007",
    "7",
    "7.0",
    "1e5",
    "100000",
    "NA",
    "null",
    "true",
    "True",
    "2020-01-01",
    "2020-01-01 00:00:00",
    "nan",
]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_names_of_series_are_texts_as_typed(name: str, tmp_path: Path) -> None:
    path = save(hourly(3, tuple(NAMES)), tmp_path / name.removesuffix(".gz"))
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress(path.read_bytes()))
    assert read_grid(tmp_path / name, COLUMNS).series == tuple(sorted(NAMES))


def test_names_that_are_all_numbers_keep_their_zeros(tmp_path: Path) -> None:
    assert read_grid(save(hourly(3, ("01", "1")), tmp_path / "t.csv"), COLUMNS).series == (
        "01",
        "1",
    )


def test_an_empty_name_in_a_csv_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("time,place,temp,wind\n2020-01-01T00:00:00,,1,2\n2020-01-01T00:00:00,NA,NA,2\n")
    with pytest.raises(UsageError, match="column place is empty in 1 of 2 rows"):
        read_grid(path, COLUMNS)


@pytest.mark.parametrize("max_gap", [0, 1, 3, 100])
@pytest.mark.parametrize("cuts", [(), (17,), (10, 31)])
def test_gaps_are_filled_as_a_plain_loop_would(max_gap: int, cuts: tuple[int, ...]) -> None:
    random = np.random.default_rng(1)
    values = np.where(random.random((2, 40, 3)) < 0.5, np.nan, random.normal(size=(2, 40, 3)))
    filled, was_filled = carried_forward(values, max_gap, cuts)
    for series in range(2):
        for column in range(3):
            last, age = np.nan, 0
            for step in range(40):
                if step in cuts:
                    last = np.nan
                known = values[series, step, column]
                last, age = (last, age + 1) if np.isnan(known) else (known, 0)
                expected = last if age <= max_gap else np.nan
                np.testing.assert_equal(filled[series, step, column], expected)
                assert was_filled[series, step, column] == (age > 0 and not np.isnan(expected))


def gappy() -> pa.Table:
    """Short and long gaps in rows, in a target and in a feature."""
    table = without(hourly(200), [20, *range(50, 58), 300])
    table = emptied(table, "temp", [90, 91, 250])
    return emptied(table, "wind", [100, *range(130, 138), 310])


@pytest.fixture(scope="module")
def gaps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(gappy(), tmp_path_factory.mktemp("table") / "t.csv")


def plain_windows(data: ForecastDataModule, split: str) -> list[tuple[int, int]]:
    """(series, origin) of every window, found one by one."""
    values, spec = data.grid.values, data.spec
    begin, end = (0, *data.cuts, data.grid.steps)[SPLITS.index(split) :][:2]
    found = []
    for series in range(len(values)):
        for origin in range(begin + spec.history - 1, end):
            steps = range(origin - spec.history + 1, origin + 1)
            ahead = [origin + 1 + step for step in range(spec.horizon)]
            if ahead[-1] >= end or any(np.isnan(values[series, step, 0]) for step in ahead):
                continue
            if all(
                plain_input(data, series, step, column, begin) is not None
                for step in steps
                for column in range(2)
            ):
                found.append((series, origin))
    return found


def plain_input(
    data: ForecastDataModule, series: int, step: int, column: int, begin: int
) -> tuple[float, bool] | None:
    """The last value known, and whether it is from an earlier step; None after a longer gap."""
    for age in range(MAX_GAP + 1):
        if step - age >= begin and not np.isnan(data.grid.values[series, step - age, column]):
            return float(data.grid.values[series, step - age, column]), age > 0
    return None


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"calendar": ["hour", "weekday", "yearday"]},
        {"horizon": 5, "history": 1},
    ],
)
def test_windows_and_their_batches_equal_a_slow_plain_reference(
    settings: dict[str, Any], gaps: Path
) -> None:
    data = make_data(gaps, **settings)
    mean, std = np.array(data.spec.mean), np.array(data.spec.std)
    for split, begin in zip(SPLITS, (0, *data.cuts), strict=True):
        expected = plain_windows(data, split)
        windows = data.windows[split]
        assert list(zip(windows.series.tolist(), windows.origin.tolist(), strict=True)) == expected
        batch = data.windows[split][:]
        for row, (series, origin) in enumerate(expected):
            assert (int(batch.series[row]), int(batch.origin[row])) == (series, origin)
            for place, step in enumerate(range(origin - data.spec.history + 1, origin + 1)):
                found = [plain_input(data, series, step, column, begin) for column in range(2)]
                inputs = [
                    (one[0] - mean[c]) / std[c] for c, one in enumerate(found) if one is not None
                ]
                inputs += [float(one[1]) for one in found if one is not None]
                np.testing.assert_allclose(batch.history[row, place, :4], inputs, atol=1e-5)
            ahead = origin + 1 + np.arange(data.spec.horizon)
            truth = (data.grid.values[series, ahead, 0] - mean[0]) / std[0]
            np.testing.assert_allclose(batch.target[row, :, 0], truth, atol=1e-5)
            calendar = calendar_features(data.grid.times(ahead), None, data.spec.calendar)
            np.testing.assert_allclose(batch.future[row], calendar, atol=1e-6)


def test_nothing_after_the_training_rows_changes_a_training_batch_or_the_scaling(
    gaps: Path, tmp_path: Path
) -> None:
    table = gappy()
    data = make_data(gaps)
    begins = np.datetime64("2020-01-01T00", "s") + data.cuts[0] * np.timedelta64(3600, "s")
    later = np.array(table["time"].to_pylist(), "datetime64[s]") >= begins
    changed = np.where(later, 1e3, table["temp"].to_numpy(zero_copy_only=False))
    other = make_data(save(table.set_column(2, "temp", pa.array(changed)), tmp_path / "t.csv"))
    assert (other.spec.mean, other.spec.std) == (data.spec.mean, data.spec.std)
    first, second = (one.windows["train"][:] for one in (data, other))
    assert all(torch.equal(one, two) for one, two in zip(first, second, strict=True))
    assert (other.windows["test"][:].target > 50).all()


def test_scaled_training_rows_have_mean_0_and_deviation_1(gaps: Path) -> None:
    data = make_data(gaps)
    rows = data.grid.values[:, : data.cuts[0]].reshape(-1, 2)
    np.testing.assert_allclose(data.spec.mean, np.nanmean(rows, 0))
    np.testing.assert_allclose(data.spec.std, np.nanstd(rows, 0))
    scaled = data.windows["train"][:].target.numpy()
    units = data.spec.in_units(scaled)
    np.testing.assert_allclose((units - data.spec.mean[0]) / data.spec.std[0], scaled, atol=1e-5)


def test_beyond_the_end_of_the_grid_there_is_no_truth(gaps: Path) -> None:
    data = make_data(gaps)
    batch = data.table.batch(np.array([0, 0]), np.array([199, 197]))
    assert batch.target[0].isnan().all()
    assert batch.target[1, :, 0].isnan().tolist() == [False, False, True]
    assert batch.future.isfinite().all()


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


def test_each_epoch_has_an_order_of_its_own_which_comes_again(path: Path) -> None:
    """A resumed run continues with the same batches."""
    first = drawn(make_data(path).train_dataloader())
    assert drawn(make_data(path).train_dataloader()) == first
    assert drawn(make_data(path, epoch=1).train_dataloader()) != first


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
    assert summary["windows"] == {"train": 404, "validation": 74, "test": 74}
    assert summary["dropped"]["train"] == {"gap in the past": 0, "missing target": 0}


def test_too_few_rows_are_refused_with_what_a_window_takes(tmp_path: Path) -> None:
    path = save(hourly(50), tmp_path / "t.csv")
    with pytest.raises(UsageError, match="the validation split of 7 steps has no window of 9"):
        make_data(path)


def test_a_run_is_resumed_only_with_the_same_rows_in_the_same_splits(path: Path) -> None:
    state = make_data(path).state_dict()
    make_data(path, seed=5).load_state_dict(state)
    with pytest.raises(UsageError, match="data: cuts differs from that of the run"):
        make_data(path, train_share=0.6).load_state_dict(state)
    with pytest.raises(UsageError, match="data: history differs from that of the run"):
        make_data(path, history=5).load_state_dict(state)
