"""One game, move by move, for people and programs that do not need thousands of them."""

from collections.abc import Iterable
from typing import Self

import numpy as np

from hexlit.errors import UsageError
from hexlit.hex.arrays import Int8Array
from hexlit.hex.encoding import encode
from hexlit.hex.engine import empty_stones, play_sequence
from hexlit.hex.geometry import BLACK, WHITE, geometry
from hexlit.hex.notation import check_size, format_cell, format_moves, parse_moves


class GameBoard:
    """A game of Hex from the empty board: play, take back, and look.

    Moves are cell indices (row * size + column). With the swap rule, White's first move may be
    `size * size`, swap-pieces.

    >>> board = Board(3, moves="b2 a1 b1 a2 b3")
    >>> board.winner == BLACK
    True
    """

    def __init__(self, size: int, *, swap: bool = False, moves: str | Iterable[int] = ()) -> None:
        """A board of 2 to 26 rows after `moves` (indices, or text such as `"a3 c4"`)."""
        self.size = check_size(size)
        self.swap = swap
        self._geometry = geometry(size)
        self._stones = empty_stones(1, size)
        self._moves: list[int] = []
        self._won = False
        for move in parse_moves(moves, size) if isinstance(moves, str) else moves:
            self.play(move)

    @property
    def moves(self) -> tuple[int, ...]:
        """The moves so far."""
        return tuple(self._moves)

    @property
    def cells(self) -> Int8Array:
        """The stones, int8 `[size*size]`: +1 black, -1 white, 0 empty (a copy)."""
        return self._stones.cells[0, :-1].copy()

    @property
    def to_move(self) -> int:
        """Colour of the player to move: `BLACK` (+1) or `WHITE` (-1)."""
        return BLACK if len(self._moves) % 2 == 0 else WHITE

    @property
    def winner(self) -> int:
        """Colour of the winner, 0 while the game is open."""
        return -self.to_move if self._won else 0

    @property
    def may_swap(self) -> bool:
        """Whether the player to move may swap now."""
        return self.swap and len(self._moves) == 1

    def legal_moves(self) -> list[int]:
        """Moves that may be played now, in rising order; none after the end."""
        if self._won:
            return []
        cells = [int(cell) for cell in np.flatnonzero(self._stones.cells[0, :-1] == 0)]
        return [*cells, self.size**2] if self.may_swap else cells

    def play(self, move: int) -> Self:
        """Play `move` for the player to move; raises `UsageError` when it is not legal."""
        if self._won:
            raise UsageError(f"move {format_cell(move, self.size)}: the game is over")
        if move == self.size**2 and not self.may_swap:
            reason = (
                "only White's first move may be a swap"
                if self.swap
                else "this game is played without swap"
            )
            raise UsageError(f"move {format_cell(move, self.size)}: {reason}")
        name = format_cell(move, self.size)
        if move != self.size**2 and self._stones.cells[0, move] != 0:
            raise UsageError(
                f"move {name}: the cell is taken after {format_moves(self._moves, self.size)}"
            )
        self._moves.append(int(move))
        self._replay()
        return self

    def undo(self) -> int:
        """Take back the last move and return it; raises `UsageError` on the empty board."""
        if not self._moves:
            raise UsageError("undo: no move has been played")
        move = self._moves.pop()
        self._replay()
        return move

    def planes(self) -> Int8Array:
        """The position in the mover's frame, int8 `[1, planes, size, size]` (see
        `hexlit.hex.encoding`).
        """
        return encode(
            self.cells[None], np.array([self.to_move], np.int8), np.array([self.may_swap])
        )

    def __str__(self) -> str:
        """The board as text, a rhombus: X black, O white, . empty."""
        return board_text(self.cells, self.size)

    def _replay(self) -> None:
        self._won = (
            play_sequence(self._stones, 0, np.array(self._moves, np.int16), self._geometry) > 0
        )


def board_text(cells: Int8Array, size: int) -> str:
    """The stones int8 `[size*size]` as text, a rhombus without blank lines: X black, O white, .
    empty.
    """
    letters = " ".join(chr(ord("a") + column) for column in range(size))
    lines = [f"   {letters}"]
    for row in range(size):
        marks = " ".join(".XO"[int(stone)] for stone in cells[row * size : (row + 1) * size])
        lines.append(f"{' ' * row}{row + 1:>2} {marks} {row + 1}")
    return "\n".join([*lines, f"{' ' * (size + 3)}{letters}"])
