"""One game of a match: its record, and the check of a move against the rules."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.geometry import geometry
from hexlit.hex.notation import SWAP, format_cell
from hexlit.hex.record import Ending

Opening = tuple[int, ...]
"""Given cells at the start of a game, Black's first."""


@dataclass(frozen=True)
class ArenaGame:
    """One game of a match, with or without the swap rule."""

    pair: int
    """Number of its opening; one other game of the two players has the same."""
    black: str
    white: str
    opening: int
    """Number of given moves at the start."""
    moves: tuple[int, ...]
    """Cells (row * size + column) or size * size for swap-pieces, Black's first, the opening included."""
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


def swap_is_open(ply: int, *, swap: bool) -> bool:
    """Whether the move after `ply` moves may be a swap, in a match with or without the rule (`swap`)."""
    return swap and ply == 1


def illegality(move: int, cells: NDArray[np.int8], size: int, *, ply: int, swap: bool) -> str:
    """Error of `move` on `cells` int8 `[size*size]` after `ply` moves; empty for a legal move.

    `swap` says whether the match has the swap rule.
    """
    if move == size * size:
        if swap_is_open(ply, swap=swap):
            return ""
        why = "only the answer to the first stone may swap" if swap else "the match is played without the swap rule"
        return f"illegal move: {SWAP}, but {why}"
    if not 0 <= move < size * size:
        return f"illegal move: {move} is no cell of the board"
    return "" if cells[move] == 0 else f"illegal move: {format_cell(move, size)} is taken"


def position_of(moves: Sequence[int], size: int) -> NDArray[np.int8]:
    """The cells int8 `[size*size]` after the legal `moves`, Black's first; `size * size` is swap-pieces."""
    cells = np.zeros(size * size, np.int8)
    for ply, move in enumerate(moves):
        put(move, 1 if ply % 2 == 0 else -1, cells, size)
    return cells


def put(move: int, colour: int, cells: NDArray[np.int8], size: int) -> None:
    """Play the legal `move` of `colour` on `cells` int8 `[size*size]`; a swap mirrors Black's only stone."""
    if move == size * size:
        move = int(geometry(size).transposed[cells.argmax()])
        cells.fill(0)
    cells[move] = colour


def ended(moves: Sequence[int], opening: int, winner: int, ending: Ending, note: str = "") -> ArenaGame:
    """A finished game of players without names so far; its first `opening` moves were given."""
    return ArenaGame(0, "", "", opening, tuple(moves), winner, ending, note)
