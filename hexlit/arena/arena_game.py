"""One game of a match: what is kept of it, and when a move breaks the rules."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.notation import SWAP, format_cell
from hexlit.hex.record import Ending

Opening = tuple[int, ...]
"""Cells that are given at the start of a game, Black's first."""


@dataclass(frozen=True)
class ArenaGame:
    """One game of a match, played without the swap rule."""

    pair: int
    """Number of its opening, which one other game of the two players has, too."""
    black: str
    white: str
    opening: int
    """Moves at the start that were given."""
    moves: tuple[int, ...]
    """Cells (row * size + column), Black's first, the opening included."""
    winner: int
    """+1 Black, -1 White."""
    ending: Ending
    """Connected, resigned or forfeited."""
    note: str = ""
    """Why a game was forfeited."""

    @property
    def won_by(self) -> str:
        """Name of the winner."""
        return self.black if self.winner > 0 else self.white


def illegality(move: int, cells: NDArray[np.int8], size: int) -> str:
    """What is wrong with playing `move` on `cells` int8 `[size*size]`; nothing: an empty text."""
    if move == size * size:
        return f"illegal move: {SWAP}, but the match is played without the swap rule"
    if not 0 <= move < size * size:
        return f"illegal move: {move} is no cell of the board"
    return "" if cells[move] == 0 else f"illegal move: {format_cell(move, size)} is taken"


def position_of(moves: Sequence[int], size: int) -> NDArray[np.int8]:
    """The cells int8 `[size*size]` after `moves`, Black's first."""
    cells = np.zeros(size * size, np.int8)
    cells[list(moves[0::2])] = 1
    cells[list(moves[1::2])] = -1
    return cells


def ended(moves: Sequence[int], opening: int, winner: int, ending: Ending, note: str = "") -> ArenaGame:
    """A game that is over, of players who have no name yet; its first `opening` moves were given."""
    return ArenaGame(0, "", "", opening, tuple(moves), winner, ending, note)
