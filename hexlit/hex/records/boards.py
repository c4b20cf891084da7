"""Boards and cells as records name them; bad ones are refused with their place in the file."""

from hexlit.errors import UsageError
from hexlit.hex.notation import check_size, parse_cell
from hexlit.hex.records.errors import Place, RecordError


def check_board(columns: int, rows: int, place: Place) -> int:
    """Rows of a Hex board; raises `RecordError` if it is none."""
    if columns != rows:
        said = f"a {columns}x{rows} board: boards have as many rows as columns here"
        raise RecordError("board size", said, place)
    try:
        return check_size(rows)
    except UsageError as error:
        raise RecordError("board size", str(error), place) from error


def parse_point(name: str, size: int, place: Place) -> int:
    """The cell called `name`, such as `e5`; raises `RecordError`."""
    try:
        cell = parse_cell(name, size)
    except UsageError:
        cell = size * size
    if cell == size * size:
        raise RecordError("illegal move", f"{name[:20]!a} is no cell of a {size}x{size} board", place)
    return cell
