"""Readings on a grid: what is missing is counted, and only short gaps are filled, from the past."""

from pathlib import Path

import numpy as np
import pytest

from hexlit.errors import UsageError
from hexlit.tasks.forecast.grid import build_grid, carried_forward
from hexlit.tasks.forecast.source import Columns, Readings, read_readings
from tests.tasks.forecast.tables import HOUR, START, emptied, hourly, save, without


def readings_of(times: list[str], values: list[float], series: list[int] | None = None) -> Readings:
    numbers = np.array(series or [0] * len(times))
    names = tuple("ab"[: numbers.max() + 1])
    stamps = np.array(times, "datetime64[s]")
    return Readings(names, ("y",), numbers, stamps, np.array(values)[:, None], np.zeros((len(names), 0)))


def test_missing_rows_and_values_are_counted_by_series_and_column(tmp_path: Path) -> None:
    table = emptied(without(hourly(20), [3, 4, 25]), "wind", [0, 1])
    grid = build_grid(
        read_readings(save(table, tmp_path / "t.csv"), Columns(["time"], None, "place", [], ["temp", "wind"])), 60
    )
    assert grid.values.shape == (2, 20, 2)
    assert grid.start == START
    assert grid.step == HOUR
    a, b = grid.report["a"], grid.report["b"]
    assert (a.rows, a.missing_rows, a.missing_values) == (18, 2, {"temp": 0, "wind": 2})
    assert (b.rows, b.missing_rows, b.missing_values) == (19, 1, {"temp": 0, "wind": 0})
    assert np.flatnonzero(np.isnan(grid.values[0, :, 0])).tolist() == [3, 4]
    assert np.flatnonzero(np.isnan(grid.values[0, :, 1])).tolist() == [0, 1, 3, 4]
    np.testing.assert_allclose(grid.values[1, 6:, 0], hourly(20)["temp"].to_numpy()[26:])


def test_of_two_rows_at_one_time_the_first_of_the_table_counts() -> None:
    grid = build_grid(readings_of(["2020-01-01T01", "2020-01-01T00", "2020-01-01T01"], [1.0, 2.0, 3.0]), 60)
    assert grid.values[0, :, 0].tolist() == [2.0, 1.0]
    assert (grid.report["a"].duplicates, grid.report["a"].rows) == (1, 3)


def test_a_time_between_two_steps_is_rounded_down_and_counted() -> None:
    grid = build_grid(readings_of(["2020-01-01T00:51", "2020-01-01T01:51", "2020-01-01T02:00"], [1.0, 2.0, 3.0]), 60)
    assert grid.values[0, :, 0].tolist() == [1.0, 2.0, 3.0]
    assert grid.report["a"].off_grid == 2


def test_series_of_other_times_share_one_axis_and_end_where_they_end() -> None:
    grid = build_grid(readings_of(["2020-01-01T00", "2020-01-01T01", "2020-01-01T03"], [1.0, 2.0, 3.0], [0, 0, 1]), 60)
    assert grid.values.shape == (2, 4, 1)
    assert grid.last.tolist() == [1, 3]
    assert grid.report["b"].missing_rows == 0
    assert [str(time) for time in grid.times(np.array([5]))] == ["2020-01-01T05:00:00"]


def test_a_wrong_time_far_away_is_refused_instead_of_filling_the_memory() -> None:
    with pytest.raises(UsageError, match="data.step_minutes=1: .* look for a wrong time"):
        build_grid(readings_of(["0001-01-01", "9020-01-01"], [1.0, 2.0]), 1)


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
