"""Times of a table, and the calendar features computed from them."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hexlit.errors import UsageError

PARTS = ("year", "month", "day", "hour", "minute")
RANGES = {"year": (1, 9999), "month": (1, 12), "day": (1, 31), "hour": (0, 23), "minute": (0, 59)}

Times = NDArray[np.datetime64]


def read_times(columns: list[pa.ChunkedArray], names: list[str], form: str | None, place: str) -> Times:
    """datetime64[s] `[N]` of one column of times, of columns of numbers (`PARTS`), or of texts joined by a space.

    A time with a zone becomes UTC; one without stays as it is. `place` begins the messages.

    Raises:
        UsageError: a row without a time, or with one that cannot be read.
    """
    for column, name in zip(columns, names, strict=True):
        if column.null_count:
            raise UsageError(f"{place}: column {name} has no time in {column.null_count} of {len(column)} rows")
    if len(columns) > 1 and all(pa.types.is_integer(column.type) for column in columns):
        return _from_parts(columns, names, place)
    if len(columns) == 1 and pa.types.is_temporal(columns[0].type) and not pa.types.is_time(columns[0].type):
        return _naive(columns[0])
    if any(pa.types.is_floating(column.type) for column in columns) or (
        len(columns) == 1 and pa.types.is_integer(columns[0].type)
    ):
        raise UsageError(
            f"{place}: column {names[0]} is a number, not a time; data.time takes a column of dates and times, or "
            "whole numbers of year, month, day, hour"
        )
    texts = columns[0].cast(pa.string())
    for column in columns[1:]:
        texts = pc.binary_join_element_wise(texts, column.cast(pa.string()), " ")
    return _parsed(texts, names, form, place)


def calendar_features(times: Times, timezone: str | None, names: list[str]) -> NDArray[np.float32]:
    """Sine and cosine of each of `names` (hour of the day, weekday, yearday), float32 `[N, 2 * names]`.

    `times` are UTC and become those of `timezone`; if that is None, they are used unchanged.
    """
    local = times.astype("datetime64[s]")
    if timezone is not None:
        zoned = pa.array(local, pa.timestamp("s", "UTC")).cast(pa.timestamp("s", timezone))
        local = pc.local_timestamp(zoned).to_numpy(zero_copy_only=False).astype("datetime64[s]")
    day = local.astype("datetime64[D]")
    hours = (local - day).astype(np.float64) / 3600
    weekday = (day.astype(np.int64) + 3) % 7  # the epoch was a Thursday
    yearday = (day - local.astype("datetime64[Y]").astype("datetime64[D]")).astype(np.float64)
    turns = {
        "hour": hours / 24,
        "weekday": (weekday + hours / 24) / 7,
        "yearday": (yearday + hours / 24) / 365.25,
    }
    waves = [wave(2 * np.pi * turns[name]) for name in names for wave in (np.sin, np.cos)]
    return np.stack(waves, 1).astype(np.float32) if waves else np.zeros((len(times), 0), np.float32)


def _naive(column: pa.ChunkedArray) -> Times:
    """Whole seconds, those of a column with a zone in UTC."""
    kind = column.type
    zone = kind.tz if pa.types.is_timestamp(kind) else None
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("s"))
    column = column.cast(pa.timestamp("s", zone), safe=False)
    times: Times = column.to_numpy().astype("datetime64[s]")
    return times


def _parsed(texts: pa.ChunkedArray, names: list[str], form: str | None, place: str) -> Times:
    shown = "+".join(names)
    if form is None:
        for kind in (pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("s", "UTC"), pa.timestamp("us", "UTC")):
            try:
                return _naive(texts.cast(kind))
            except pa.ArrowInvalid:
                continue
        raise UsageError(
            f"{place}: {shown} is not ISO 8601 in every row, such as {str(texts[0].as_py())[:40]!r}; say how it is "
            "written with data.time_format"
        )
    found = pc.strptime(texts, format=form, unit="s", error_is_null=True)
    if found.null_count:
        wrong = texts.filter(pc.is_null(found))[0].as_py()
        raise UsageError(
            f"{place}: {shown} is {str(wrong)[:40]!r} in a row, which data.time_format={form} does not read"
        )
    return _naive(found)


def _from_parts(columns: list[pa.ChunkedArray], names: list[str], place: str) -> Times:
    if len(columns) < 3:
        raise UsageError(f"{place}: {'+'.join(names)} must be year, month, day and, where there are any, hour, minute")
    parts = {part: column.to_numpy().astype(np.int64) for part, column in zip(PARTS, columns, strict=False)}
    for (part, values), name in zip(parts.items(), names, strict=True):
        low, high = RANGES[part]
        wrong = values[(values < low) | (values > high)]
        if len(wrong):
            raise UsageError(f"{place}: column {name} has the {part} {wrong[0]}; one lies from {low} to {high}")
    month = (parts["year"] * 12 + parts["month"] - 1 - 1970 * 12).astype("datetime64[M]")
    day = month.astype("datetime64[D]") + (parts["day"] - 1).astype("timedelta64[D]")
    if (day.astype("datetime64[M]") != month).any():
        row = int(np.argmax(day.astype("datetime64[M]") != month))
        shown = f"{parts['year'][row]}-{parts['month'][row]:02}-{parts['day'][row]:02}"
        raise UsageError(f"{place}: {shown} is no day of the calendar")
    time: Times = day.astype("datetime64[s]")
    for part, seconds in (("hour", 3600), ("minute", 60)):
        if part in parts:
            time = time + (parts[part] * seconds).astype("timedelta64[s]")
    return time
