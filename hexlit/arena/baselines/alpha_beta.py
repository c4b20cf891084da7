"""The classic program: alpha-beta search over two-distance potentials."""

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.geometry import WHITE, geometry
from hexlit.hex.slices import over_slices
from hexlit.search.alphabeta import alpha_beta_moves


class TwoDistancePlayer:
    """Plays the best move of an alpha-beta search of fixed depth, as Queenbee did (van Rijswijck 2002).

    Ties are drawn by seed and position.
    """

    def __init__(self, *, depth: int = 4, width: int = 8, seed: int = 0) -> None:
        """Search `depth` moves deep, at every node the `width` moves with the best potentials."""
        for name, value, least in (("depth", depth, 1), ("width", width, 1), ("seed", seed, 0)):
            if value < least:
                raise UsageError(f"{name}={value}: must be {least} or more")
        self.depth, self.width, self.seed = depth, width, seed

    def choose(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> NDArray[np.int16]:
        """See `Player`."""
        return self._search(cells, to_move, self.depth)[0]

    def reply(self, cells: NDArray[np.int8]) -> NDArray[np.int16]:
        """See `Player`: it swaps if its own value is below 0, the mean over its depth and one more.

        A static evaluation favours the player who moved last, so one depth alone would always swap or never.
        """
        white = np.full(len(cells), WHITE, np.int8)
        moves, values = self._search(cells, white, self.depth)
        deeper = self._search(cells, white, self.depth + 1)[1]
        return np.where(values + deeper < 0, np.int16(cells.shape[1]), moves)

    def _search(
        self, cells: NDArray[np.int8], to_move: NDArray[np.int8], depth: int
    ) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
        """Best moves `[B]`, and their values for the players who move."""
        table = geometry(round(cells.shape[1] ** 0.5))
        moves, values = np.empty(len(cells), np.int16), np.empty(len(cells))
        positions, movers = np.ascontiguousarray(cells), np.ascontiguousarray(to_move)
        settings = depth, self.width, self.seed, table

        def think(first: int, last: int) -> None:
            rows = slice(first, last)
            alpha_beta_moves(positions[rows], movers[rows], *settings, moves[rows], values[rows])

        over_slices(think, len(cells))
        return moves, values
