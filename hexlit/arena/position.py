"""A position built by a foreign program or read from SGF: stones of any colour in any order, and
undo.
"""

import io
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hexlit.errors import UsageError
from hexlit.files import read_regular
from hexlit.hex.arrays import Int8Array
from hexlit.hex.engine import empty_stones, place_all
from hexlit.hex.geometry import BLACK, WHITE, geometry
from hexlit.hex.notation import SWAP, format_cell
from hexlit.hex.records.game import (
    FORFEIT,
    PASS,
    RESIGN,
    SWAP_PIECES,
    RecordedMove,
    check_board,
    parse_point,
)
from hexlit.hex.records.sgf import SgfGame, board_of, read_main_lines, steps, turn_of
from hexlit.hex.symmetry import mirror_cell


@dataclass(frozen=True, eq=False, repr=False)
class Position:
    """Stones on a board, the expected player to move, and the position before; immutable.

    A program that shows a game may play it in any order. After a swap HexGui clears the board and
    plays every stone again, row by row. So colours need not alternate, White may come first, and
    stones may follow the winning one.
    """

    size: int
    """Rows of the board."""
    cells: Int8Array
    """Stones, int8 `[size*size]`, read-only: +1 black, -1 white, 0 empty."""
    to_move: int = BLACK
    """Colour expected to move next; the other one may move, too."""
    connected: int = 0
    """Colour that has connected its edges, 0 without a connection."""
    resigned: int = 0
    """Colour that resigned with the last move, 0 if it was a stone."""
    previous: "Position | None" = None
    """The position before the last move, None for the first."""

    @property
    def winner(self) -> int:
        """+1 Black, -1 White, 0 while the game is open."""
        return self.connected or -self.resigned

    @property
    def stones(self) -> int:
        """Number of stones."""
        return int(np.count_nonzero(self.cells))

    def place(self, colour: int, cell: int) -> "Position":
        """The position after a stone of `colour` on `cell`; raises `UsageError` when the cell is
        taken.
        """
        if self.cells[cell] != 0:
            raise UsageError(f"move {format_cell(cell, self.size)}: the cell is taken")
        cells = self.cells.copy()
        cells[cell] = colour
        return self.with_stones(cells, -colour)

    def swap(self, colour: int) -> "Position":
        """The position after swap-pieces of `colour`; raises `UsageError` if a swap is not
        allowed.
        """
        if not may_swap(self.cells, colour):
            raise UsageError(
                f"move {SWAP}: only White may swap, when Black's first stone is the only one"
            )
        cells = np.zeros_like(self.cells)
        cells[mirror_cell(int(self.cells.argmax()), self.size)] = WHITE
        return self.with_stones(cells, -colour)

    def play(self, colour: int, move: int) -> "Position":
        """The position after a stone on the cell `move`, or after swap-pieces for `size * size`."""
        return self.swap(colour) if move == self.size**2 else self.place(colour, move)

    def resign(self, colour: int) -> "Position":
        """The position after `colour` has given up; raises `UsageError` when the game is over."""
        if self.winner:
            raise UsageError("move resign: the game is over")
        return Position(self.size, self.cells, -colour, self.connected, colour, self)

    def with_stones(self, cells: Int8Array, to_move: int) -> "Position":
        """The next position, with the stones `cells`, which must not be changed any more."""
        cells.flags.writeable = False
        stones = empty_stones(1, self.size)
        connected = int(place_all(stones, 0, cells, geometry(self.size)))
        return Position(self.size, cells, to_move, connected, 0, self)


def empty_position(size: int) -> Position:
    """An empty board with Black to move."""
    cells = np.zeros(size * size, np.int8)
    cells.flags.writeable = False
    return Position(size, cells)


def may_swap(cells: Int8Array, colour: int) -> bool:
    """Whether `colour` could answer `cells` int8 `[size*size]` by swap-pieces: White, to Black's
    only stone.
    """
    return colour == WHITE and bool((cells >= 0).all()) and int(np.count_nonzero(cells)) == 1


def read_first_game(path: Path) -> SgfGame:
    """The main line of the first game in `path`; raises `UsageError` if there is none."""
    try:
        return first_game(read_regular(path).decode("utf-8", errors="replace"))
    except OSError as error:
        raise UsageError(f"cannot be read ({error.strerror})") from error


def first_game(text: str) -> SgfGame:
    """The main line of the first game of `text`; raises `UsageError`."""
    game = next(
        iter(read_main_lines(io.StringIO(text, newline=None))), UsageError("no game in SGF")
    )
    if isinstance(game, UsageError):
        raise game
    return game


def replay(game: SgfGame, count: int | None = None) -> Position:
    """The position after the whole main line, or its first `count` moves; raises `UsageError` if
    one is illegal.

    Stones are placed as in the file: colours need not alternate, and stones may be set up between
    moves. After swap-sides the first stone stays; only the people behind the colours change. It is
    the turn of the colour that moves next in the file, or that the file names (`PL`).
    """
    size = check_board(*board_of(game), game.place)
    position = empty_position(size)
    line = steps(game, size, parse_point)
    turns = [(number, step.move.colour) for number, step in enumerate(line) if step.move]
    end, following = len(line), 0 if turns else turn_of(game)
    if count is not None and count < len(turns):
        end, following = turns[count]
    for setup, move, _ in line[:end]:
        position = _with_setup(position, setup) if move is None else _after(position, move)
    return replace(position, to_move=following or position.to_move)


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
    if move.action == PASS:
        return replace(position, to_move=-move.colour)
    return position  # swap-sides


def _with_setup(position: Position, setup: Iterable[tuple[int, int]]) -> Position:
    cells = position.cells.copy()
    for colour, cell in setup:
        cells[cell] = colour
    # Black moves first from an empty board, so with as many stones of either colour it is Black's
    # turn.
    return position.with_stones(
        cells, BLACK if np.count_nonzero(cells > 0) <= np.count_nonzero(cells < 0) else WHITE
    )
