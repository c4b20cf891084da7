"""Tables of the supervised tasks as files: reading chosen columns, and writing predictions."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.json as pajson
import pyarrow.parquet as pq

from hexlit.errors import UsageError
from hexlit.files import replacing

SPLITS = ("train", "validation", "test")
_OPEN_QUOTE = re.compile(rb'(?:\A|[,\n])"[^"]*(?:""[^"]*)*\Z')
"""A quote at the beginning of a field that is never closed."""

FORMATS = (".csv", ".csv.gz", ".parquet")


def read_table(
    path: Path, names: list[str], key: str, convert: pacsv.ConvertOptions, formats: tuple[str, ...] = FORMATS
) -> pa.Table:
    """The columns `names` of the file `path`, one of `formats`; `convert` decides types, and how CSV is read.

    Raises:
        UsageError: no such file, another format, a missing column, or no row; names the setting `key`.
    """
    where = f"{key}={path}"
    if not path.is_file():
        raise UsageError(f"{where}: there is no such file")
    if not path.name.endswith(formats):
        raise UsageError(f"{where}: the name of a table ends in {', '.join(formats)}")
    try:
        if path.suffix == ".jsonl":
            table = pajson.read_json(path)
        elif path.suffix == ".parquet":
            table = pq.read_table(path, columns=names)
        else:
            with pa.input_stream(str(path)) as stream:  # unpacks by the name
                text = stream.read()
            if _OPEN_QUOTE.search(text):  # the rows after it would become one value
                raise UsageError(f"{where}: a quote is never closed")
            lines = pacsv.ParseOptions(newlines_in_values=True)
            table = pacsv.read_csv(pa.BufferReader(text), parse_options=lines, convert_options=convert)
        table = table.select(names)
        if convert.column_types:
            table = table.cast(pa.schema({name: convert.column_types[name] for name in names}))
    except (pa.ArrowException, KeyError, OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: cannot be read ({first_line(error)})") from error
    if not table.num_rows:
        raise UsageError(f"{where}: the table has no rows")
    return table


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
