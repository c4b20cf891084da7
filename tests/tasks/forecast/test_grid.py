"""Tables on a grid of time: what is read, what is refused in one line, what is missing, and the calendar."""

import gzip
import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from hexlit.errors import UsageError
from hexlit.extras import install
from hexlit.tasks import run_config
from hexlit.tasks.forecast.config import ForecastDataConfig
from hexlit.tasks.forecast.data import TimeGrid, calendar_features, carried_forward, read_grid, read_times
from tests.tasks.forecast.tables import HOUR, START, emptied, hourly, save, without

COLUMNS = ForecastDataConfig(time=["time"], timezone=None, series="place", targets=["temp"], features=["wind"])


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
        assert (other.start, other.series, other.report) == (first.start, first.series, first.report)
        np.testing.assert_allclose(other.values, first.values)


def test_a_table_without_a_column_of_series_is_one_series(tmp_path: Path) -> None:
    assert read_grid(save(hourly(5), tmp_path / "t.csv"), replace(COLUMNS, series=None)).series == ("all",)


def test_series_may_be_numbers_and_have_static_columns(tmp_path: Path) -> None:
    table = pa.table(
        {"time": ["2020-01-01", "2020-01-02", "2020-01-01"], "id": [7, 7, 12], "h": [1.5, 1.5, 9], "y": [1, 2, 3]}
    )
    columns = replace(COLUMNS, series="id", statics=["h"], targets=["y"], features=[])
    grid = read_grid(save(table, tmp_path / "t.csv"), columns)
    assert grid.series == ("12", "7")
    assert grid.statics.tolist() == [[9.0], [1.5]]


def rows(**columns: list[Any]) -> pa.Table:
    base: dict[str, list[Any]] = {
        "time": ["2020-01-01T00:00:00", "2020-01-01T01:00:00"],
        "place": ["a", "a"],
        "temp": [1.0, 2.0],
        "wind": [1.0, 2.0],
    }
    return pa.table(base | columns)


@pytest.mark.parametrize(
    ("table", "columns", "said"),
    [
        (rows().drop_columns(["wind"]), COLUMNS, "has no column wind; it has time, place, temp"),
        (rows(temp=["1.5", "warm"]), COLUMNS, "column temp is not of numbers (Failed to parse string: 'warm'"),
        (rows(time=["2020-01-01T00:00:00", "soon"]), COLUMNS, "time is not ISO 8601 in every row"),
        (rows(time=["2020-01-01T00:00:00", None]), COLUMNS, "column time is empty in 1 of 2 rows"),
        (rows(time=[1577836800, 1577840400]), COLUMNS, "column time is a number, not a time"),
        (rows(place=["a", None]), COLUMNS, "column place is empty in 1 of 2 rows"),
        (rows().slice(0, 0), COLUMNS, "the table has no rows"),
        (rows(h=[1.0, 2.0]), replace(COLUMNS, statics=["h"]), "static column h has 2 values in series a"),
        (
            rows(time=["01.02.2020", "2020-02-01"]),
            replace(COLUMNS, time_format="%d.%m.%Y"),
            "time is '2020-02-01' in a row, which data.time_format=%d.%m.%Y does not read",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_refused_in_one_line(
    table: pa.Table, columns: ForecastDataConfig, said: str, tmp_path: Path
) -> None:
    path = save(table, tmp_path / "t.parquet")
    with pytest.raises(UsageError) as caught:
        read_grid(path, columns)
    assert str(caught.value).startswith(f"data.path={path}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"), [("t.csv", None), ("t.txt", b"a"), ("t.parquet", b"rubbish"), ("t.csv", b"")]
)
def test_what_is_no_table_is_refused_in_one_line(name: str, content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=f"source=.*{name}: ") as caught:
        read_grid(path, COLUMNS, key="source")
    assert "\n" not in str(caught.value)


def test_without_the_package_of_the_weather_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_config, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=re.escape(install("forecast"))):
        _ = ForecastDataConfig().file


def read(*columns: pa.Array, form: str | None = None) -> list[str]:
    table = pa.table({f"c{number}": column for number, column in enumerate(columns)})
    return [str(time) for time in read_times(table, form, "FILE")]


def test_times_come_from_texts_dates_numbers_and_several_columns() -> None:
    expected = ["2020-02-29T13:00:00"]
    assert read(pa.array(["2020-02-29 13:00:00"])) == expected
    assert read(pa.array(["2020-02-29T08:00:00-05:00"])) == expected
    assert read(pa.array(["29.02.2020 13:00"]), form="%d.%m.%Y %H:%M") == expected
    assert read(pa.array([datetime(2020, 2, 29, 13)], pa.timestamp("us"))) == expected
    assert read(pa.array([2020]), pa.array([2]), pa.array([29]), pa.array([13])) == expected
    assert read(pa.array(["2020-02-29"]), pa.array(["13:00:00"])) == expected
    zoned = pa.array(
        [datetime(2020, 2, 29, 8, tzinfo=ZoneInfo("America/New_York"))], pa.timestamp("s", "America/New_York")
    )
    assert read(zoned) == expected


@pytest.mark.parametrize("parts", [(2021, 2, 29), (2021, 13, 1), (2021, 1, 1, 24), (2021, 1)])
def test_numbers_that_are_no_time_are_refused(parts: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match=r"FILE: c0\+c1.* is not ISO 8601 in every row .*'2021-"):
        read(*(pa.array([part]) for part in parts))


@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_the_calendar_is_that_of_the_zone_also_over_a_change_of_the_clocks(zone: str | None) -> None:
    times = np.datetime64("2013-11-02T00", "s") + np.arange(72) * np.timedelta64(3600, "s")
    found = calendar_features(times, zone, ["hour", "weekday", "yearday"])
    for time, row in zip(times, found, strict=True):
        local = time.item().replace(tzinfo=ZoneInfo("UTC"))
        local = local.astimezone(ZoneInfo(zone)) if zone else local
        day = local.hour / 24
        turns = [day, (local.weekday() + day) / 7, (local.timetuple().tm_yday - 1 + day) / 365.25]
        expected = [wave(2 * np.pi * turn) for turn in turns for wave in (np.sin, np.cos)]
        np.testing.assert_allclose(row, expected, atol=1e-6)


def test_calendar_features_are_those_that_are_named() -> None:
    times = np.datetime64("2020-05-01", "s") + np.arange(5) * np.timedelta64(3600, "s")
    whole = calendar_features(times, None, ["hour", "weekday", "yearday"])
    assert (calendar_features(times, None, ["yearday"]) == whole[:, 4:]).all()
    assert calendar_features(times, None, []).shape == (5, 0)


def grid_of(folder: Path, times: list[str], values: list[float], series: str = "aaa", minutes: int = 60) -> TimeGrid:
    table = pa.table({"time": times, "place": list(series[: len(times)]), "y": values})
    config = replace(COLUMNS, targets=["y"], features=[], step_minutes=minutes)
    return read_grid(save(table, folder / "t.parquet"), config)


def test_missing_rows_and_values_are_counted_by_series_and_column(tmp_path: Path) -> None:
    table = emptied(without(hourly(20), [3, 4, 25]), "wind", [0, 1])
    grid = read_grid(save(table, tmp_path / "t.csv"), COLUMNS)
    assert grid.values.shape == (2, 20, 2)
    assert (grid.start, grid.step) == (START, HOUR)
    exact = {"duplicates": 0, "off_grid": 0}
    assert grid.report == {
        "a": {"rows": 18, "missing_rows": 2, "missing_values": {"temp": 0, "wind": 2}, **exact},
        "b": {"rows": 19, "missing_rows": 1, "missing_values": {"temp": 0, "wind": 0}, **exact},
    }
    assert np.flatnonzero(np.isnan(grid.values[0, :, 0])).tolist() == [3, 4]
    assert np.flatnonzero(np.isnan(grid.values[0, :, 1])).tolist() == [0, 1, 3, 4]
    np.testing.assert_allclose(grid.values[1, 6:, 0], hourly(20)["temp"].to_numpy()[26:])


def test_of_two_rows_at_one_time_the_first_of_the_table_counts(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, ["2020-01-01T01", "2020-01-01T00", "2020-01-01T01"], [1.0, 2.0, 3.0])
    assert grid.values[0, :, 0].tolist() == [2.0, 1.0]
    assert (grid.report["a"]["duplicates"], grid.report["a"]["rows"]) == (1, 3)


def test_a_time_between_two_steps_is_rounded_down_and_counted(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, ["2020-01-01T00:51", "2020-01-01T01:51", "2020-01-01T02:00"], [1.0, 2.0, 3.0])
    assert grid.values[0, :, 0].tolist() == [1.0, 2.0, 3.0]
    assert grid.report["a"]["off_grid"] == 2


def test_series_of_other_times_share_one_axis_and_end_where_they_end(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, ["2020-01-01T00", "2020-01-01T01", "2020-01-01T03"], [1.0, 2.0, 3.0], "aab")
    assert grid.values.shape == (2, 4, 1)
    assert grid.last.tolist() == [1, 3]
    assert grid.report["b"]["missing_rows"] == 0
    assert [str(time) for time in grid.times(np.array([5]))] == ["2020-01-01T05:00:00"]


def test_a_wrong_time_far_away_is_refused_instead_of_filling_the_memory(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="data.step_minutes=1: .* look for a wrong time"):
        grid_of(tmp_path, ["0001-01-01", "9020-01-01"], [1.0, 2.0], minutes=1)


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
