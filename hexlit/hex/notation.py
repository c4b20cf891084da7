"""Cells as people write them: column letter, then row number (`a1` is the top-left cell)."""

import re
from collections.abc import Iterable

import numpy as np

from hexlit.errors import UsageError

SWAP = "swap-pieces"
LARGEST = 26
"""Most rows of a board, as columns have one letter."""

_CELL = re.compile(r"([a-z])([1-9][0-9]?)")


def check_size(size: object, largest: int = LARGEST) -> int:
    """Return `size`; raises `UsageError` unless it is a whole number from 2 to `largest`."""
    if not isinstance(size, int | np.integer) or not 2 <= size <= largest:
        raise UsageError(
            f"board={size!r}: the size of a board is a whole number from 2 to {largest}"
        )
    return int(size)


def format_cell(cell: int, size: int) -> str:
    """Name of the cell with index `cell` (row * size + column), or `swap-pieces` for the index size
    * size.
    """
    if cell == size * size:
        return SWAP
    if not 0 <= cell < size * size:
        raise UsageError(f"cell {cell}: a {size}x{size} board has the cells 0 to {size * size - 1}")
    row, column = divmod(cell, size)
    return f"{chr(ord('a') + column)}{row + 1}"


def parse_cell(text: str, size: int) -> int:
    """Index of the cell named `text`, upper or lower case; `swap-pieces` (or `swap`) gives size *
    size.

    Raises `UsageError` when it is no cell of the board.
    """
    name = text.strip().lower()
    if name in (SWAP, "swap"):
        return size * size
    match = _CELL.fullmatch(name)
    if match:
        column, row = ord(match[1]) - ord("a"), int(match[2]) - 1
        if column < size and row < size:
            return row * size + column
    last = format_cell(size * size - 1, size)
    raise UsageError(
        f"move {text!r}: a move on a {size}x{size} board is a cell from a1 to {last}, or {SWAP}"
    )


def parse_moves(text: str | Iterable[str], size: int) -> list[int]:
    """Indices of moves separated by blanks or commas (`"a3 c4"`)."""
    words = text.replace(",", " ").split() if isinstance(text, str) else list(text)
    return [parse_cell(word, size) for word in words]


def format_moves(moves: Iterable[int], size: int) -> str:
    """Moves as one line, separated by blanks."""
    return " ".join(format_cell(int(move), size) for move in moves)
