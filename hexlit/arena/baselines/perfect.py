"""Perfect play, within the reach of the exact solver."""

import logging

import numpy as np
from numpy.typing import NDArray

from hexlit.arena.baselines.alpha_beta import TwoDistancePlayer
from hexlit.arena.match import Player
from hexlit.errors import UsageError
from hexlit.hex.engine import empty_stones, place_all
from hexlit.hex.geometry import WHITE, geometry
from hexlit.hex.rng import MOVE, draw
from hexlit.hex.solver import Solver, UnsolvedError
from hexlit.hex.threats import winning_cells
from hexlit.search.root import position_key, to_mover

_log = logging.getLogger(__name__)


_LOST, _UNSOLVED = -1, -2
"""Stand-ins for a winning move: there is none, and none is known."""


class SolverPlayer:
    """Keeps every win that the solver proves: one of the winning moves, drawn by seed and position.

    In lost positions, and if the solver gives up, it plays as `TwoDistancePlayer` does. The solver's proofs are kept,
    so its reach within its limit depends on the positions it was asked about before.
    """

    def __init__(self, size: int, *, node_limit: int = 100_000, seed: int = 0, table_bits: int | None = None) -> None:
        """For boards of `size` (2 to 8, as the solver); a position is given up after `node_limit` nodes."""
        for name, value, least in (("node_limit", node_limit, 1), ("seed", seed, 0)):
            if value < least:
                raise UsageError(f"{name}={value}: must be {least} or more")
        self.asked = 0
        """Positions that it had to move in."""
        self.unsolved = 0
        """Those of them that the solver gave up."""
        self.node_limit, self.seed = node_limit, seed
        self._solver = Solver(size, table_bits)
        self._otherwise: Player = TwoDistancePlayer(seed=seed)

    def choose(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> NDArray[np.int16]:
        """See `Player`."""
        moves = self._winning_moves(cells, to_move)
        rest = moves < 0
        if rest.any():
            moves[rest] = self._otherwise.choose(cells[rest], to_move[rest])
        return moves

    def reply(self, cells: NDArray[np.int8]) -> NDArray[np.int16]:
        """See `Player`: it swaps in lost positions; if the solver gives up, two-distance decides."""
        moves = self._winning_moves(cells, np.full(len(cells), WHITE, np.int8))
        moves[moves == _LOST] = cells.shape[1]
        rest = moves == _UNSOLVED
        if rest.any():
            moves[rest] = self._otherwise.reply(cells[rest])
        return moves

    def _winning_moves(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> NDArray[np.int16]:
        found = [self._winning_move(board, int(colour)) for board, colour in zip(cells, to_move, strict=True)]
        return np.array(found, np.int16)

    def _winning_move(self, cells: NDArray[np.int8], to_move: int) -> int:
        """A winning move, one that wins at once if there is one; or `_LOST` or `_UNSOLVED`."""
        self.asked += 1
        table = geometry(self._solver.size)
        stones, at_once = empty_stones(1, table.size), np.empty(cells.size, np.int16)
        place_all(stones, 0, cells, table)
        winning = at_once[: winning_cells(stones, 0, to_move, table, at_once)].tolist()
        if not winning:
            try:
                winning = list(self._solver.solve(cells, to_move, self.node_limit).winning_moves)
            except UnsolvedError:
                if self.unsolved == 0:
                    _log.warning("the solver gives up after %d nodes: two-distance moves instead", self.node_limit)
                self.unsolved += 1
                return _UNSOLVED
        if not winning:
            return _LOST
        # Drawn in the mover's frame, so that both colours play alike.
        order = sorted(winning, key=lambda cell: int(cell if to_move > 0 else table.transposed[cell]))
        key = np.uint64(position_key(to_mover(cells, to_move, table), self.seed, MOVE))
        return int(order[int(draw(key, 0)) % len(order)])
