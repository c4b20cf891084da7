"""The first game of an SGF file as a position, for `loadsgf` and `hexlit solve`."""

import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from hexlit.arena.position import Position, empty_position
from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.records.boards import parse_point
from hexlit.hex.records.game import FORFEIT, RESIGN, SWAP_PIECES, RecordedMove
from hexlit.hex.records.sgf import board_of, steps
from hexlit.hex.records.sgf_tree import SgfGame, read_main_lines

MOST_STEPS = 2000
"""Largest number of moves and of nodes that set up stones."""
LARGEST_FILE = 1 << 19
"""Most bytes; one game has a few thousand, and the worst text of this length is read in a second."""


def read_first_game(path: Path) -> SgfGame:
    """The main line of the first game in `path`; raises `UsageError` if there is none."""
    try:
        there = path.is_file()
        content = b""
        if there:
            with path.open("rb") as file:
                content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:  # ValueError: a path that cannot be one
        raise UsageError(f"cannot be read ({getattr(error, 'strerror', None) or error})") from error
    if not there:
        raise UsageError("there is no such file")
    if len(content) > LARGEST_FILE:
        raise UsageError(f"more than {LARGEST_FILE} bytes are no game")
    return first_game(content.decode("utf-8", errors="replace"))


def first_game(text: str) -> SgfGame:
    """The main line of the first game of `text`; raises `UsageError`."""
    for game in read_main_lines(io.StringIO(text, newline=None)):
        if isinstance(game, UsageError):
            raise game
        return game
    raise UsageError("no game in SGF")


def replay(game: SgfGame, count: int | None = None) -> Position:
    """The position after the whole main line, or its first `count` moves; raises `UsageError` if one is illegal.

    Stones are placed as in the file: colours need not alternate, and stones may be set up between moves. After
    swap-sides the first stone stays; only the people behind the colours change.
    """
    size = board_of(game)[0]
    position = empty_position(size)
    played = 0
    found = steps(game, size, parse_point)
    if len(found) > MOST_STEPS:
        raise UsageError(f"{len(found):,} moves and setups; a game has up to {MOST_STEPS:,}")
    for setup, move, _ in found:
        if move is None:
            position = _with_setup(position, setup)
        elif count is not None and played >= count:
            break
        else:
            position = _after(position, move)
            played += 1
    return position


def moves_of(game: SgfGame) -> int:
    """Number of moves in the main line, without stones that are set up."""
    return sum(step.move is not None for step in steps(game, board_of(game)[0], parse_point))


def _after(position: Position, move: RecordedMove) -> Position:
    if move.action >= 0:
        return position.place(move.colour, move.action)
    if move.action == SWAP_PIECES:
        return position.swap(move.colour)
    if move.action in (RESIGN, FORFEIT):
        return position.resign(move.colour)
    return position  # a pass, or swap-sides


def _with_setup(position: Position, setup: Iterable[tuple[int, int]]) -> Position:
    cells = position.cells.copy()
    for colour, cell in setup:
        cells[cell] = colour
    # Black moves first from an empty board, so with as many stones of either colour it is Black's turn.
    return position.with_stones(cells, BLACK if np.count_nonzero(cells > 0) <= np.count_nonzero(cells < 0) else WHITE)
