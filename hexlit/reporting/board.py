"""A Hex board as text: the rhombus, with colours where the terminal has them."""

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
from rich.text import Text

BLACK_STYLE = "bold red"
WHITE_STYLE = "bold blue"
MARK_STYLE = "bold green"

SIDES = "X Black, top to bottom; O White, left to right"
"""Legend of `draw_board`: the stones, and the edges that each player connects."""

LAST = "(X) or (O) the last move"
"""Legend of the brackets around the `last` move."""

_STONES = {1: ("X", BLACK_STYLE), -1: ("O", WHITE_STYLE), 0: (".", "dim")}


def draw_board(cells: npt.NDArray[np.int8], size: int, marks: Collection[int] = (), *, last: int | None = None) -> Text:
    """The board, one row per line, each row half a cell further right than the one above; no newline at the end.

    Black's stones are `X` and Black's edges (the column letters) are red; White's are `O` and blue. `str()` of the
    result is plain ASCII, so it works in any text.

    Args:
        cells: int8 `[size*size]`, +1 black, -1 white, 0 empty, row 0 at the top.
        size: side of the board.
        marks: cells to point out: an empty one is drawn as `*`, a stone in reverse video.
        last: cell of the last move, shown in brackets.
    """
    letters = " ".join(chr(ord("a") + column) for column in range(size))
    board = Text(no_wrap=True)
    board.append(f"   {letters}\n", BLACK_STYLE)
    for row in range(size):
        board.append(f"{' ' * row}{row + 1:>2}", WHITE_STYLE)
        gaps = [" "] * (size + 1)
        if last is not None and last // size == row:
            gaps[last % size : last % size + 2] = "()"
        for column in range(size):
            cell = row * size + column
            board.append(gaps[column], MARK_STYLE if gaps[column] != " " else None)
            symbol, style = _STONES[int(cells[cell])]
            if cell in marks:
                symbol, style = ("*", MARK_STYLE) if symbol == "." else (symbol, f"{style} reverse")
            board.append(symbol, style)
        board.append(gaps[size], MARK_STYLE if gaps[size] != " " else None)
        board.append(f"{row + 1}\n", WHITE_STYLE)
    board.append(f"{' ' * (size + 3)}{letters}", BLACK_STYLE)
    return board
