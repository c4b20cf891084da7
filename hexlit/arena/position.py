"""A position built by a foreign program: stones of any colour in any order, and undo."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.engine import empty_stones, place_all
from hexlit.hex.geometry import BLACK, WHITE, geometry
from hexlit.hex.notation import SWAP, format_cell


@dataclass(frozen=True, eq=False, repr=False)
class Position:
    """Stones on a board, the expected player to move, and the position before; immutable.

    A program that shows a game may play it in any order. After a swap HexGui clears the board and plays every stone
    again, row by row. So colours need not alternate, White may come first, and stones may follow the winning one.
    """

    size: int
    """Rows of the board."""
    cells: NDArray[np.int8]
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

    def may_swap(self, colour: int) -> bool:
        """Whether `colour` could answer by swap-pieces: White, to Black's only stone."""
        return colour == WHITE and self.stones == 1 and bool((self.cells >= 0).all())

    def place(self, colour: int, cell: int) -> "Position":
        """The position after a stone of `colour` on `cell`; raises `UsageError` when the cell is taken."""
        if self.cells[cell] != 0:
            raise UsageError(f"move {format_cell(cell, self.size)}: the cell is taken")
        cells = self.cells.copy()
        cells[cell] = colour
        return self.with_stones(cells, -colour)

    def swap(self, colour: int) -> "Position":
        """The position after swap-pieces of `colour`; raises `UsageError` if a swap is not allowed."""
        if not self.may_swap(colour):
            raise UsageError(f"move {SWAP}: only White may swap, when Black's first stone is the only one")
        cells = np.zeros_like(self.cells)
        cells[geometry(self.size).transposed[self.cells.argmax()]] = WHITE
        return self.with_stones(cells, -colour)

    def resign(self, colour: int) -> "Position":
        """The position after `colour` has given up; raises `UsageError` when the game is over."""
        if self.winner:
            raise UsageError("move resign: the game is over")
        return Position(self.size, self.cells, -colour, self.connected, colour, self)

    def with_stones(self, cells: NDArray[np.int8], to_move: int) -> "Position":
        """The next position, with the stones `cells`, which must not be changed any more."""
        cells.flags.writeable = False
        return Position(self.size, cells, to_move, connected(cells, self.size), 0, self)

    def __str__(self) -> str:
        """The board as text, a rhombus without blank lines: X black, O white, . empty."""
        letters = " ".join(chr(ord("a") + column) for column in range(self.size))
        lines = [f"   {letters}"]
        for row in range(self.size):
            stones = self.cells[row * self.size : (row + 1) * self.size]
            marks = " ".join(".XO"[int(stone)] for stone in stones)
            lines.append(f"{' ' * row}{row + 1:>2} {marks} {row + 1}")
        return "\n".join([*lines, f"{' ' * (self.size + 3)}{letters}"])


def empty_position(size: int) -> Position:
    """An empty board with Black to move."""
    cells = np.zeros(size * size, np.int8)
    cells.flags.writeable = False
    return Position(size, cells)


def connected(cells: NDArray[np.int8], size: int) -> int:
    """Colour that connects its edges with the stones `cells` int8 `[size*size]`: +1, -1, or 0 for neither."""
    return int(place_all(empty_stones(1, size), 0, cells, geometry(size)))
