"""The classic programs: alpha-beta search over a static evaluation."""

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.geometry import geometry
from hexlit.hex.slices import over_slices
from hexlit.search.alphabeta import alpha_beta_moves
from hexlit.search.static import RESISTANCE, TWO_DISTANCE


class AlphaBetaPlayer:
    """Plays what a search of fixed depth finds best; moves that tie are drawn by seed and position."""

    def __init__(self, evaluation: int, *, depth: int, width: int, seed: int) -> None:
        """Look `depth` moves ahead, at every node at the `width` moves that the `evaluation` likes best."""
        for name, value, least in (("depth", depth, 1), ("width", width, 1), ("seed", seed, 0)):
            if value < least:
                raise UsageError(f"{name}={value}: must be {least} or more")
        self.evaluation, self.depth, self.width, self.seed = evaluation, depth, width, seed

    def choose(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> NDArray[np.int16]:
        """See `Player`."""
        table = geometry(round(cells.shape[1] ** 0.5))
        moves = np.empty(len(cells), np.int16)
        positions, movers = np.ascontiguousarray(cells), np.ascontiguousarray(to_move)
        settings = self.depth, self.width, self.evaluation, self.seed, table

        def think(first: int, last: int) -> None:
            alpha_beta_moves(positions[first:last], movers[first:last], *settings, moves[first:last])

        over_slices(think, len(cells))
        return moves


class TwoDistancePlayer(AlphaBetaPlayer):
    """Alpha-beta over two-distance potentials, as Queenbee played (van Rijswijck 2002)."""

    def __init__(self, *, depth: int = 4, width: int = 8, seed: int = 0) -> None:
        super().__init__(TWO_DISTANCE, depth=depth, width=width, seed=seed)


class ResistancePlayer(AlphaBetaPlayer):
    """Alpha-beta over electrical resistance, as Hexy played (Anshelevich 2002); bridges stand for its H-search."""

    def __init__(self, *, depth: int = 4, width: int = 8, seed: int = 0) -> None:
        super().__init__(RESISTANCE, depth=depth, width=width, seed=seed)
