"""Times of tables and their calendar."""

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from hexlit.errors import UsageError
from hexlit.tasks.forecast.times import calendar_features, read_times


def read(*columns: pa.Array, form: str | None = None) -> list[str]:
    names = [f"c{number}" for number in range(len(columns))]
    return [str(time) for time in read_times([pa.chunked_array([each]) for each in columns], names, form, "FILE")]


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


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((2021, 2, 29), "2021-02-29 is no day of the calendar"),
        ((2021, 13, 1), "column c1 has the month 13"),
        ((2021, 1, 1, 24), "column c3 has the hour 24; one lies from 0 to 23"),
        ((2021, 1), "must be year, month, day"),
    ],
)
def test_numbers_that_are_no_time_are_refused(parts: tuple[int, ...], said: str) -> None:
    with pytest.raises(UsageError, match=f"FILE: .*{said}"):
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
