"""Hex boards as text: positions, and the map of openings; with colours where the terminal has them."""

import math
from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
from rich.text import Text

from hexlit.errors import UsageError
from hexlit.hex.judging import judged_right, openings_right
from hexlit.reporting.quantities import format_hundredths

BLACK_STYLE = "bold red"
WHITE_STYLE = "bold blue"
MARK_STYLE = "bold green"

SIDES = "X Black, top to bottom; O White, left to right"
"""Legend of `draw_board`: the stones, and the edges that each player connects."""

LAST = "(X) or (O) the last move"
"""Legend of the brackets around the `last` move."""

WIN_STYLE = "black on dark_sea_green2"
LOSS_STYLE = "black on light_pink1"
DOUBT_STYLE = "black on grey78"
WRONG_STYLE = "bold white on red3"
_CELL = 4  # characters per cell of a map; the shift from row to row is half of it

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


def draw_openings(judged: Sequence[bool | float | None], truth: Sequence[bool] | None = None) -> Text:
    """Draw the openings of an n×n board as a rhombus, one row per line, with a legend at the end.

    A cell shows the judgement from the opener's view: a searched value in [-1, 1] as `+99` to `-99` (hundredths), a
    bool as `W` (wins) or `L`, None or NaN as `?`. With `truth` a wrong cell has an exclamation mark and is red. The
    map is readable without colours too.

    Args:
        judged: `[n*n]`, index row * n + column; above 0 or True: the opener wins.
        truth: `[n*n]`, whether the opening at the cell wins with best play; None where it is not known.

    Raises:
        UsageError: `judged` is not the map of a square board, or `truth` is not as long.
    """
    size = math.isqrt(len(judged))
    if size * size != len(judged) or size == 0:
        raise UsageError(f"opening map of {len(judged)} cells: an n x n board has 4, 9, 16, ... cells")
    if truth is not None and len(truth) != len(judged):
        raise UsageError(f"{len(truth)} true openings for a map of {len(judged)} cells: both need one entry a cell")
    board = Text(no_wrap=True)
    board.append("    " + "".join(chr(ord("a") + column).center(_CELL) for column in range(size)) + "\n", "bold")
    for row in range(size):
        board.append(" " * (row * _CELL // 2) + f"{row + 1:>3} ", "bold")
        for cell in range(row * size, (row + 1) * size):
            value = judged[cell]
            judgement = value is not None and not math.isnan(value)
            mistaken = truth is not None and judgement and not judged_right(value, truth[cell])
            board.append(_label(value, mistaken), WRONG_STYLE if mistaken else _style(value))
        board.append("\n")
    board.append("    ")
    board.append(" wins ", WIN_STYLE)
    board.append(" loses ", LOSS_STYLE)
    if truth is not None:
        board.append(" wrong! ", WRONG_STYLE)
        board.append(f"  {openings_right(judged, truth)} of {size * size} as in perfect play")
    return board


def _label(value: bool | float | None, mistaken: bool) -> str:
    if value is None or math.isnan(value):
        return " ?  "
    shown = ("W" if value else "L") if isinstance(value, bool) else format_hundredths(max(-0.99, min(0.99, value)))
    return f"{shown:>3}{'!' if mistaken else ' '}"


def _style(value: bool | float | None) -> str:
    if value is None or math.isnan(value):
        return DOUBT_STYLE
    return WIN_STYLE if value > 0 else LOSS_STYLE
