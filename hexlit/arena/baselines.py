"""Players without a network or a tree search: alpha-beta over two-distance, and the exact solver."""

import logging
import math

import numpy as np

from hexlit.arena.players import Player
from hexlit.hex.arrays import Int8Array, Int16Array
from hexlit.hex.engine import empty_stones, place_all, winning_cells
from hexlit.hex.frame import frame_action, frame_map
from hexlit.hex.geometry import WHITE, geometry
from hexlit.hex.jit import over_slices
from hexlit.hex.solver import ExactSolver, UnsolvedError
from hexlit.search.classic import MovesAndValues, alpha_beta_moves
from hexlit.settings import check_numbers

_log = logging.getLogger(__name__)

_LOST, _UNSOLVED = -1, -2
"""Stand-ins for a winning move: there is none, and none is known."""
_PERFECT = 7  # rows up to which positions are solved in seconds


class TwoDistancePlayer(Player):
    """Plays the best move of an alpha-beta search of fixed depth, as Queenbee did (van Rijswijck
    2002).

    Ties are drawn by seed and position.
    """

    def __init__(self, *, depth: int = 4, width: int = 8, seed: int = 0) -> None:
        """Search `depth` moves deep, at every node the `width` moves with the best potentials."""
        check_numbers("[1, inf)", depth=depth, width=width)
        check_numbers("[0, inf)", seed=seed)
        self.depth = depth
        self.width = width
        self.seed = seed

    def choose(self, cells: Int8Array, to_move: Int8Array) -> Int16Array:
        """See `Player`."""
        return self._search(cells, to_move, self.depth)[0]

    def reply(self, cells: Int8Array) -> Int16Array:
        """See `Player`: it swaps if its value is below 0, the mean over its depth and one more.

        A static evaluation favours the player who moved last, so one depth alone would always swap
        or never.
        """
        white = np.full(len(cells), WHITE, np.int8)
        moves, values = self._search(cells, white, self.depth)
        _, deeper_values = self._search(cells, white, self.depth + 1)
        stands_worse = values + deeper_values < 0
        swap = np.int16(cells.shape[1])
        return np.where(stands_worse, swap, moves)

    def _search(self, cells: Int8Array, to_move: Int8Array, depth: int) -> MovesAndValues:
        table = geometry(math.isqrt(cells.shape[1]))

        def search(first: int, last: int) -> MovesAndValues:
            return alpha_beta_moves(
                cells[first:last], to_move[first:last], depth, self.width, self.seed, table
            )

        parts = over_slices(search, len(cells))
        moves = np.concatenate([part[0] for part in parts])
        values = np.concatenate([part[1] for part in parts])
        return moves, values


class SolverPlayer(Player):
    """Keeps every win that the solver proves, by the winning move that it found first.

    In lost positions it plays the move whose refutation cost the solver most nodes. If all are
    refuted at sight, or if the solver gives up, it plays as `TwoDistancePlayer` does. The solver's
    proofs are kept, so that all this depends on the positions it was asked about before.
    """

    def __init__(
        self, size: int, *, node_limit: int | None = None, seed: int = 0, rows: int | None = None
    ) -> None:
        """For boards of `size` (2 to 8, as the solver).

        A position is given up after `node_limit` nodes. None: it is perfect up to 7×7, and has
        100,000 nodes on 8×8.
        """
        check_numbers("[1, inf)", node_limit=node_limit)
        if node_limit is None and size > _PERFECT:
            node_limit = 100_000
        check_numbers("[0, inf)", seed=seed)
        self._warned = False
        self.node_limit = node_limit
        self.seed = seed
        self._solver = ExactSolver(size, rows)
        self._otherwise = TwoDistancePlayer(seed=seed)

    def choose(self, cells: Int8Array, to_move: Int8Array) -> Int16Array:
        """See `Player`."""
        moves = self._winning_moves(cells, to_move)
        for game in np.flatnonzero(moves == _LOST):
            colour = int(to_move[game])
            size = self._solver.size
            # In the mover's frame, so that both colours play alike.
            costs = frame_map(self._solver.costs(cells[game], colour), colour, size)
            if costs.max() > 1:
                moves[game] = frame_action(int(costs.argmax()), colour, size)
        rest = moves < 0
        if rest.any():
            moves[rest] = self._otherwise.choose(cells[rest], to_move[rest])
        return moves

    def reply(self, cells: Int8Array) -> Int16Array:
        """See `Player`: it swaps in lost positions; if the solver gives up, two-distance
        decides.
        """
        moves = self._winning_moves(cells, np.full(len(cells), WHITE, np.int8))
        moves[moves == _LOST] = cells.shape[1]
        rest = moves == _UNSOLVED
        if rest.any():
            moves[rest] = self._otherwise.reply(cells[rest])
        return moves

    def _winning_moves(self, cells: Int8Array, to_move: Int8Array) -> Int16Array:
        moves = [
            self._winning_move(board, int(colour))
            for board, colour in zip(cells, to_move, strict=True)
        ]
        return np.array(moves, np.int16)

    def _winning_move(self, cells: Int8Array, to_move: int) -> int:
        """A winning move, one that wins at once if there is one; or `_LOST` or `_UNSOLVED`."""
        table = geometry(self._solver.size)
        stones = empty_stones(1, table.size)
        at_once = np.empty(cells.size, np.int16)
        place_all(stones, 0, cells, table)
        winning = at_once[: winning_cells(stones, 0, to_move, table, at_once)].tolist()
        if winning:
            return int(min(winning, key=lambda cell: frame_action(cell, to_move, table.size)))
        try:
            move = self._solver.winning_move(cells, to_move, self.node_limit)
        except UnsolvedError:
            if not self._warned:
                _log.warning(
                    "the solver gives up after %d nodes: two-distance moves instead",
                    self.node_limit,
                )
                self._warned = True
            return _UNSOLVED
        return _LOST if move is None else move
