"""Tables with an epoch in every row, as CSV files.

They are whole at every instant, but for the last line: a kill may tear one that is being appended.
"""

import csv
import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from hexlit.errors import UsageError
from hexlit.files import read_regular, write_text_atomic

Row = TypeVar("Row")


class TableFile:
    """A table on disk. It is written whole at first, then rows are appended."""

    def __init__(self, path: Path | None) -> None:
        """`path=None`: nothing is written."""
        self.path = path
        self.count = 0
        """Rows of the file; 0 before it was written, or to have it written whole again."""

    def extend(self, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
        """Write the `columns` of the `rows` after the first `count`; None and a missing value are
        empty.
        """
        if self.path is None:
            return
        if self.count:
            append_text(self.path, lines_of(columns, rows))
        else:
            header = dict(zip(columns, columns, strict=True))
            write_text_atomic(self.path, lines_of(columns, [header, *rows]))
        self.count += len(rows)


def append_text(path: Path, text: str) -> None:
    """Append `text` to the file at `path`, which exists."""
    with path.open("rb+") as file:
        file.seek(0, os.SEEK_END)
        file.write(text.encode("utf-8"))


def lines_of(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """The lines of `rows` in a table with these `columns`."""
    text = io.StringIO()
    table = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    for row in rows:
        cells = dict(row)
        for name, cell in row.items():
            if isinstance(cell, float):
                cells[name] = f"{cell:.9g}"
        table.writerow(cells)
    return text.getvalue()


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
        self.rows: list[Mapping[str, Any]] = read_table(
            path, lambda row: row | {"epoch": int(row["epoch"])}
        )
        self._file = TableFile(path)
        self._columns = {"epoch": None}

    def resume(self, epoch: int) -> None:
        """Forget the rows of `epoch` and later, which the run repeats."""
        self.rows = [row for row in self.rows if row["epoch"] < epoch]
        self._file.count = 0
        self._write()

    def append(self, row: Mapping[str, Any]) -> None:
        """Add the row of the next epoch; columns stay in the order of their first appearance."""
        self.rows.append(row)
        if row.keys() - self._columns:
            self._file.count = 0
        self._write()

    def _write(self) -> None:
        rows = self.rows[self._file.count :]
        self._columns |= dict.fromkeys(chain.from_iterable(rows))
        self._file.extend(list(self._columns), rows)
