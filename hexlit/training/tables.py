"""Tables with an epoch in every row, as CSV files that are whole at every instant."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from hexlit.errors import UsageError
from hexlit.files import write_text_atomic

Row = TypeVar("Row")


def write_table(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the `columns` of `rows`, whole or not at all; a value that is None or missing is empty."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    names = list(columns)
    table.writerow(names)
    table.writerows([_cell(row.get(name)) for name in names] for row in rows)
    write_text_atomic(path, text.getvalue())


def read_table(path: Path | None, parse: Callable[[dict[str, str]], Row]) -> list[Row]:
    """The rows of a table, each by `parse`; none without a file.

    Raises:
        UsageError: a row cannot be parsed; the message names its line.
    """
    if path is None or not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        table = csv.DictReader(file)
        try:
            return [parse(row) for row in table]
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, csv.Error) as error:
            reason = str(error).partition("\n")[0][:100]
            raise UsageError(f"{path} line {table.line_num or 1}: not a row of a table of epochs ({reason})") from error


def _cell(value: float | int | str | None) -> str:
    return "" if value is None else f"{value:.9g}" if isinstance(value, float) else str(value)
