"""Tables of the supervised tasks as files: reading chosen columns, and writing predictions."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from hexlit.errors import UsageError
from hexlit.files import replacing

SPLITS = ("train", "validation", "test")
_OPEN_QUOTE = re.compile(rb'(?:\A|[,\n])"[^"]*(?:""[^"]*)*\Z')
"""A quote at the beginning of a field that is never closed."""

FORMATS = (".csv", ".csv.gz", ".parquet")

MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL"]
"""Texts of a CSV file that mean a missing value, in columns that are no names and no texts."""


def read_table(
    path: Path, names: list[str], key: str, texts: list[str], formats: tuple[str, ...] = FORMATS
) -> pa.Table:
    """The columns `names` of the file `path`, one of `formats`.

    The columns `texts` are texts as they were typed, such as 007, 1e5 or NA; empty cells are null.
    In a CSV file the values of the others decide their type, and the texts `MISSING` are null.

    Raises:
        UsageError: no such file, another format, a missing column, or no row; names the setting
            `key`.
    """
    where = f"{key}={path}"
    if not path.is_file():
        raise UsageError(f"{where}: there is no such file")
    if not path.name.endswith(formats):
        raise UsageError(f"{where}: the name of a table ends in {', '.join(formats)}")
    try:
        if path.suffix == ".jsonl":
            table = _read_json_lines(path, names)
        elif path.suffix == ".parquet":
            table = pq.read_table(path, columns=names)
        else:
            with pa.input_stream(str(path)) as stream:  # unpacks by the name
                text = stream.read()
            if _OPEN_QUOTE.search(text):  # the rows after it would become one value
                raise UsageError(f"{where}: a quote is never closed")
            table = _read_csv(text, names, texts)
        table = table.select(names)
        for name in texts:
            place = table.column_names.index(name)
            table = table.set_column(place, name, _as_typed(table[name]))
    except (pa.ArrowException, KeyError, OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: cannot be read ({first_line(error)})") from error
    if not table.num_rows:
        raise UsageError(f"{where}: the table has no rows")
    return table


def _read_csv(content: bytes, names: list[str], texts: list[str]) -> pa.Table:
    """The columns `names` of the table in `content`. The `texts` among them are read apart, by
    rules of their own.
    """
    lines = pacsv.ParseOptions(newlines_in_values=True)
    typed = pacsv.ConvertOptions(
        column_types=dict.fromkeys(texts, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        include_columns=texts,
    )
    others = [name for name in names if name not in texts]
    guessed = pacsv.ConvertOptions(
        null_values=MISSING, strings_can_be_null=True, include_columns=others
    )
    columns: dict[str, pa.ChunkedArray] = {}
    for convert in (typed, guessed):
        if convert.include_columns:
            table = pacsv.read_csv(
                pa.BufferReader(content), parse_options=lines, convert_options=convert
            )
            columns |= {name: table[name] for name in table.column_names}
    return pa.table(columns)


def _read_json_lines(path: Path, names: list[str]) -> pa.Table:
    """The fields `names` of the objects, one a line; a number is the text that stands there."""
    columns: dict[str, list[str | None]] = {name: [] for name in names}
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_int=str, parse_float=str, parse_constant=str)
        except ValueError as error:
            raise pa.ArrowInvalid(f"line {number}: {error}") from error
        for name in names:
            value = row.get(name) if isinstance(row, dict) else row
            if isinstance(value, bool):
                value = json.dumps(value)
            if not isinstance(row, dict) or not isinstance(value, str | None):
                raise pa.ArrowInvalid(f"line {number}: {name} is no text")
            columns[name].append(value)
    for name, values in columns.items():
        if values and all(value is None for value in values):
            raise KeyError(f"no line has the field {name}")
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def _as_typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """`column` as texts, with null for empty ones."""
    texts = column.cast(pa.string())
    return pc.if_else(pc.equal(texts, ""), None, texts)


def write_table(table: pa.Table, target: Path) -> None:
    """Write `table` to `target`, CSV or Parquet by its name, whole or not at all.

    Raises:
        UsageError: the name has another ending.
    """
    if target.suffix not in (".csv", ".parquet"):
        raise UsageError(f"target={target}: the name of a table ends in .csv or .parquet")
    with replacing(target) as temporary:
        if target.suffix == ".parquet":
            pq.write_table(table, temporary, compression="zstd")
        else:
            pacsv.write_csv(table, temporary)


def first_line(error: BaseException) -> str:
    """The first line of an error's message, for messages of one line."""
    return (str(error).splitlines() or [type(error).__name__])[0][:160]
