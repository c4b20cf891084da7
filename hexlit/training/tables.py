"""Tables with an epoch in every row, as CSV files.

They are whole at every instant, but for the last line: a kill may tear one that is being appended.
"""

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, TextIO, TypeVar

from hexlit.errors import UsageError
from hexlit.files import read_regular, write_text_atomic

Row = TypeVar("Row")


def write_table(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the `columns` of `rows`, whole or not at all; None and a missing value are empty."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(columns)
    _write_rows(text, columns, rows)
    write_text_atomic(path, text.getvalue())


def append_rows(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Append `rows` to the table at `path`, which has these `columns` and ends with a whole row."""
    with path.open("a", encoding="utf-8", newline="") as file:
        _write_rows(file, columns, rows)


def _write_rows(file: TextIO, columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> None:
    table = csv.DictWriter(file, list(columns), extrasaction="ignore", lineterminator="\n")
    for row in rows:
        cells = dict(row)
        for name, cell in row.items():
            if isinstance(cell, float):
                cells[name] = f"{cell:.9g}"
        table.writerow(cells)


def read_table(path: Path | None, parse: Callable[[dict[str, str]], Row]) -> list[Row]:
    """The rows of a table, each by `parse`; none without a file. A torn last line is left out.

    Raises:
        UsageError: a row cannot be parsed; the message names its line.
    """
    if path is None or not path.exists():
        return []
    content = read_regular(path)
    content = content[: content.rfind(b"\n") + 1] or content
    table = csv.DictReader(io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline=""))
    try:
        return [parse(row) for row in table]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, csv.Error) as error:
        reason = str(error).partition("\n")[0][:100]
        raise UsageError(
            f"{path} line {table.line_num or 1}: not a row of a table of epochs ({reason})"
        ) from error


class EpochTable:
    """A table with a row for each epoch, of everything that is known of it.

    Attributes:
        rows: by column, `epoch` among them; those that the file had before are texts.
    """

    def __init__(self, path: Path | None) -> None:
        """Go on with the file `path`; None: no file is written."""
        self.path = path
        self.rows: list[Mapping[str, Any]] = read_table(
            path, lambda row: row | {"epoch": int(row["epoch"])}
        )
        self._columns: dict[str, None] = {}  # of the file, once it was written here

    def resume(self, epoch: int) -> None:
        """Forget the rows of `epoch` and later, which the run repeats."""
        self.rows = [row for row in self.rows if row["epoch"] < epoch]
        self._write()

    def append(self, row: Mapping[str, Any]) -> None:
        """Add the row of an epoch after those before it; columns stay in the order of their first
        appearance.
        """
        earlier = [one for one in self.rows if one["epoch"] < row["epoch"]]
        fits = len(earlier) == len(self.rows) and row.keys() <= self._columns.keys()
        self.rows = [*earlier, row]
        if fits and self.path is not None and self.path.exists():
            append_rows(self.path, self._columns, [row])
        else:
            self._write()

    def _write(self) -> None:
        self._columns = dict.fromkeys(["epoch", *chain.from_iterable(self.rows)])
        if self.path is not None:
            write_table(self.path, self._columns, self.rows)
