"""Tables with an epoch in every row, as CSV files that are whole at every instant."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from hexlit.errors import UsageError
from hexlit.files import read_regular, write_text_atomic

Row = TypeVar("Row")


def write_table(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the `columns` of `rows`, whole or not at all; None and a missing value are empty."""
    text = io.StringIO()
    table = csv.DictWriter(text, list(columns), extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    for row in rows:
        cells = dict(row)
        for name, cell in row.items():
            if isinstance(cell, float):
                cells[name] = f"{cell:.9g}"
        table.writerow(cells)
    write_text_atomic(path, text.getvalue())


def read_table(path: Path | None, parse: Callable[[dict[str, str]], Row]) -> list[Row]:
    """The rows of a table, each by `parse`; none without a file.

    Raises:
        UsageError: a row cannot be parsed; the message names its line.
    """
    if path is None or not path.exists():
        return []
    content = read_regular(path)
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

    def resume(self, epoch: int) -> None:
        """Forget the rows of `epoch` and later, which the run repeats."""
        self.rows = [row for row in self.rows if row["epoch"] < epoch]
        self._write()

    def append(self, row: Mapping[str, Any]) -> None:
        """Add the row of an epoch after those before it; columns stay in the order of their first
        appearance.
        """
        self.rows = [*(earlier for earlier in self.rows if earlier["epoch"] < row["epoch"]), row]
        self._write()

    def _write(self) -> None:
        if self.path is not None:
            columns = dict.fromkeys(["epoch", *chain.from_iterable(self.rows)])
            write_table(self.path, columns, self.rows)
