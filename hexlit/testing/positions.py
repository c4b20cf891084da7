"""Random positions for the suites, the same for every implementation."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.encoding import encode
from hexlit.hex.engine import empty_stones, place_all
from hexlit.hex.geometry import BLACK, WHITE, geometry
from hexlit.hex.playout import random_games
from hexlit.hex.threats import winning_cells


class Positions(NamedTuple):
    """B undecided positions on one board."""

    cells: NDArray[np.int8]
    """+1 black, -1 white, 0 empty, `[B, size*size]`."""
    to_move: NDArray[np.int8]
    """+1 Black, -1 White, `[B]`."""
    may_swap: NDArray[np.bool_]
    """Whether the mover may swap, `[B]`."""

    @property
    def ply(self) -> NDArray[np.int16]:
        """Moves played before, `[B]`."""
        stones: NDArray[np.int16] = np.count_nonzero(self.cells, axis=1).astype(np.int16)
        return stones

    @property
    def planes(self) -> NDArray[np.int8]:
        """Input of an evaluator, `[B, PLANES, size, size]`."""
        return encode(self.cells, self.to_move, self.may_swap)

    def legal(self, actions: int) -> NDArray[np.bool_]:
        """Whether an action of the board is legal, `[B, A]`; the swap, where there is one, comes last."""
        swap = np.tile(self.may_swap[:, None], (1, actions - self.cells.shape[1]))
        return np.concatenate([self.cells == 0, swap], axis=1)

    def rows(self, rows: NDArray[np.integer] | slice) -> "Positions":
        """The positions `rows` alone."""
        return Positions(self.cells[rows], self.to_move[rows], self.may_swap[rows])


def random_positions(
    size: int, count: int, seed: int, *, swap: bool = False, before_the_end: bool = False
) -> Positions:
    """Positions of `count` random games: after any number of moves, or just before the winning one."""
    moves, lengths = np.zeros((count, size * size), np.int16), np.zeros(count, np.int16)
    random_games(count, seed, geometry(size), moves, empty_stones(1, size), lengths)
    random = np.random.default_rng(seed)
    plies = lengths - 1 if before_the_end else random.integers(0, lengths)
    if swap and not before_the_end:
        plies[0] = 1  # so that the swap is open once at least
    cells = np.zeros((count, size * size), np.int8)
    for row, length in enumerate(plies.tolist()):
        cells[row, moves[row, :length]] = [BLACK if ply % 2 == 0 else WHITE for ply in range(length)]
    to_move = np.where(plies % 2 == 0, BLACK, WHITE).astype(np.int8)
    return Positions(cells, to_move, (plies == 1) & swap)


def wins_at_once(cells: NDArray[np.int8], colour: int) -> list[int]:
    """Cells that win at once for `colour` in the position `cells` `[size*size]`."""
    size = round(len(cells) ** 0.5)
    stones, found = empty_stones(1, size), np.zeros(len(cells), np.int16)
    place_all(stones, 0, cells, geometry(size))
    wins: list[int] = found[: winning_cells(stones, 0, colour, geometry(size), found)].tolist()
    return wins
