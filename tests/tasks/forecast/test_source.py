"""Tables from files: what is read, and what is refused with one line that says why."""

import gzip
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hexlit.errors import UsageError
from hexlit.extras import install
from hexlit.tasks.forecast import source
from hexlit.tasks.forecast.source import Columns, packaged_weather, read_readings
from tests.tasks.forecast.tables import HOUR, START, emptied, hourly, save

COLUMNS = Columns(time=["time"], time_format=None, series="place", statics=[], values=["temp", "wind"])


def test_csv_and_parquet_give_the_same_readings(tmp_path: Path) -> None:
    table = emptied(hourly(30), "wind", [3, 31])
    csv = save(table, tmp_path / "table.csv")
    zipped = tmp_path / "table.csv.gz"
    zipped.write_bytes(gzip.compress(csv.read_bytes()))
    first = read_readings(csv, COLUMNS)
    assert first.series_names == ("a", "b")
    assert (first.times[:30] == START + np.arange(30) * HOUR).all()
    assert np.flatnonzero(np.isnan(first.values[:, 1])).tolist() == [3, 31]
    np.testing.assert_allclose(first.values[:, 0], table["temp"].to_numpy())
    for path in (save(table, tmp_path / "table.parquet"), zipped):
        other = read_readings(path, COLUMNS)
        assert (other.times == first.times).all()
        assert (other.series == first.series).all()
        np.testing.assert_allclose(other.values, first.values)


def test_a_table_without_a_column_of_series_is_one_series(tmp_path: Path) -> None:
    readings = read_readings(save(hourly(5), tmp_path / "t.csv"), replace(COLUMNS, series=None))
    assert readings.series_names == ("all",)
    assert (readings.series == 0).all()


def test_series_may_be_numbers_and_have_static_columns(tmp_path: Path) -> None:
    table = pa.table(
        {"time": ["2020-01-01", "2020-01-02", "2020-01-01"], "id": [7, 7, 12], "h": [1.5, 1.5, 9], "y": [1, 2, 3]}
    )
    columns = Columns(["time"], None, "id", ["h"], ["y"])
    readings = read_readings(save(table, tmp_path / "t.csv"), columns)
    assert readings.series_names == ("12", "7")
    assert readings.statics.tolist() == [[9.0], [1.5]]


def rows(**columns: list[Any]) -> pa.Table:
    base: dict[str, list[Any]] = {
        "time": ["2020-01-01T00", "2020-01-01T01"],
        "place": ["a", "a"],
        "temp": [1.0, 2.0],
        "wind": [1.0, 2.0],
    }
    base["time"] = ["2020-01-01T00:00:00", "2020-01-01T01:00:00"]
    return pa.table(base | columns)


@pytest.mark.parametrize(
    ("table", "columns", "said"),
    [
        (rows().drop_columns(["wind"]), COLUMNS, "has no column wind; it has time, place, temp"),
        (rows(temp=["1.5", "warm"]), COLUMNS, "column temp is not of numbers, as 'warm' shows"),
        (rows(time=["2020-01-01T00:00:00", "soon"]), COLUMNS, "time is not ISO 8601 in every row"),
        (rows(time=["2020-01-01T00:00:00", None]), COLUMNS, "column time has no time in 1 of 2 rows"),
        (rows(time=[1577836800, 1577840400]), COLUMNS, "column time is a number, not a time"),
        (rows(place=["a", None]), COLUMNS, "column place is empty in 1 rows"),
        (rows().slice(0, 0), COLUMNS, "the table has no rows"),
        (rows(h=[1.0, 2.0]), replace(COLUMNS, statics=["h"]), "static column h has values from 1 to 2 in series a"),
        (
            rows(time=["01.02.2020", "2020-02-01"]),
            replace(COLUMNS, time_format="%d.%m.%Y"),
            "time is '2020-02-01' in a row, which data.time_format=%d.%m.%Y does not read",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_refused_in_one_line(
    table: pa.Table, columns: Columns, said: str, tmp_path: Path
) -> None:
    path = save(table, tmp_path / "t.parquet")
    with pytest.raises(UsageError) as caught:
        read_readings(path, columns)
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
        read_readings(path, COLUMNS, key="source")
    assert "\n" not in str(caught.value)


def test_without_the_package_of_the_weather_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=re.escape(install("forecast"))):
        packaged_weather()
