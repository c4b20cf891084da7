"""Plain Monte Carlo tree search."""

import numpy as np
from numpy.typing import NDArray

from hexlit.arena.players import Judgement, reply_by_value
from hexlit.errors import UsageError
from hexlit.hex.geometry import geometry
from hexlit.hex.slices import over_slices
from hexlit.search.uct import uct_moves


class RolloutPlayer:
    """Plays the most visited move of UCT with uniformly random rollouts, drawn by seed and position."""

    def __init__(self, *, simulations: int = 1000, rollouts: int = 1, exploration: float = 0.3, seed: int = 0) -> None:
        """`rollouts` random games per simulation; `exploration` weighs the width of the confidence bounds."""
        for name, value, least in (("simulations", simulations, 1), ("rollouts", rollouts, 1), ("seed", seed, 0)):
            if value < least:
                raise UsageError(f"{name}={value}: must be {least} or more")
        if not 0 <= exploration < np.inf:
            raise UsageError(f"exploration={exploration}: must be a number from 0 on")
        self.simulations, self.rollouts, self.exploration, self.seed = simulations, rollouts, exploration, seed

    def choose(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> NDArray[np.int16]:
        """See `Player`."""
        return self.judge(cells, to_move).action

    def reply(self, cells: NDArray[np.int8]) -> NDArray[np.int16]:
        """See `Player`: by the searched value."""
        return reply_by_value(self, cells)

    def judge(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> Judgement:
        """See `Judge`."""
        table = geometry(round(cells.shape[1] ** 0.5))
        moves, values = np.empty(len(cells), np.int16), np.empty(len(cells))
        positions, movers = np.ascontiguousarray(cells), np.ascontiguousarray(to_move)
        settings = self.simulations, self.rollouts, float(self.exploration), self.seed, table

        def think(first: int, last: int) -> None:
            rows = slice(first, last)
            uct_moves(positions[rows], movers[rows], *settings, moves[rows], values[rows])

        over_slices(think, len(cells))
        return Judgement(moves, values.astype(np.float32))
