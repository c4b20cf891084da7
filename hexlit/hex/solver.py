"""An exact solver for Hex on boards of 2×2 to 8×8: who wins, and with which moves.

The proof search is in `hexlit.hex.proof`; this is the way in for positions in the absolute frame.
"""

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hexlit.errors import UsageError
from hexlit.hex.bitboard import MAX_SIZE, flood, pack, transpose, unpack
from hexlit.hex.proof import answer, new_work
from hexlit.hex.transposition import UNSOLVED, WON


class UnsolvedError(RuntimeError):
    """The search gave up at its node limit; the position's value is not known."""


@dataclass(frozen=True)
class Solution:
    """The exact value of a position."""

    winner: int  # +1 Black (top-bottom), -1 White (left-right)
    winning_moves: tuple[
        int, ...
    ]  # every winning cell of the side to move, ascending; empty when it loses or all is over
    nodes: int  # positions looked at
    seconds: float  # wall-clock time


class Solver:
    """Solves positions of one board size; what it has proved is kept for the next call.

    Args:
        size: rows and columns, 2 to 8. Everything up to 5×5 is solved at once, the value of 6×6
            too, all its openings in about a minute, larger boards once enough stones stand.
        table_bits: the transposition table has 2**table_bits rows of 32 bytes, filled as needed.
    """

    def __init__(self, size: int, table_bits: int = 22) -> None:
        if not 2 <= size <= MAX_SIZE:
            raise UsageError(f"the solver cannot take size {size}: it takes 2 to {MAX_SIZE}")
        if not 4 <= table_bits <= 30:
            raise UsageError(f"table_bits {table_bits} is out of range: choose 4 to 30")
        self.size = size
        self._work = new_work(size, table_bits)

    def solve(self, cells: npt.NDArray[np.int8], to_move: int, node_limit: int | None = None) -> Solution:
        """The winner and every winning move.

        Args:
            cells: int8 `[size*size]`, +1 black, -1 white, 0 empty; any numbers of stones.
            to_move: +1 or -1.
            node_limit: give up after this many positions.

        Raises:
            UsageError: the position is not one of this board.
            UnsolvedError: `node_limit` was reached. What was proved until then is kept.
        """
        start = time.perf_counter()
        own, opp = self._frame(cells, to_move)
        over = self._finished(own, opp)
        if over:
            return Solution(over * to_move, (), 0, time.perf_counter() - start)
        self._begin(node_limit)
        result, wins = answer(own, opp, True, self._work)
        self._check(result)
        # Only the mover's frame is known here; White's moves are transposed back.
        grid = unpack(int(wins), self.size).reshape(self.size, self.size)
        moves = np.flatnonzero(grid if to_move == 1 else grid.T)
        winner = to_move if result == WON else -to_move
        return Solution(winner, tuple(moves.tolist()), int(self._work.nodes[0]), time.perf_counter() - start)

    def wins(self, cells: npt.NDArray[np.int8], to_move: int, node_limit: int | None = None) -> bool:
        """Whether the side to move wins; as `solve`, but stops at the first winning move."""
        own, opp = self._frame(cells, to_move)
        over = self._finished(own, opp)
        if over:
            return over == 1
        self._begin(node_limit)
        result, _ = answer(own, opp, False, self._work)
        self._check(result)
        return bool(result == WON)

    def _frame(self, cells: npt.NDArray[np.int8], to_move: int) -> tuple[np.uint64, np.uint64]:
        board = np.asarray(cells)
        if board.shape != (self.size * self.size,):
            raise UsageError(f"cells of shape {board.shape} do not fit: the solver wants ({self.size * self.size},)")
        if to_move not in (1, -1):
            raise UsageError(f"to_move is {to_move}: it must be +1 (Black) or -1 (White)")
        if not np.isin(board, (-1, 0, 1)).all():
            raise UsageError("cells hold a value other than +1 (black), -1 (white) and 0 (empty)")
        if to_move == -1:
            board = board.reshape(self.size, self.size).T.ravel()
        return pack(board == to_move, self.size), pack(board == -to_move, self.size)

    def _finished(self, own: np.uint64, opp: np.uint64) -> int:
        """+1 when the mover has already connected, -1 when the opponent has, 0 while the game goes on."""
        bottom = int(self._work.bottom)
        if int(flood(self._work.top, own)) & bottom:
            return 1
        other = np.uint64(transpose(opp))
        return -1 if int(flood(self._work.top, other)) & bottom else 0

    def _begin(self, node_limit: int | None) -> None:
        if node_limit is not None and node_limit < 1:
            raise UsageError(f"node_limit {node_limit} is out of range: it must be at least 1")
        self._work.nodes[0] = 0
        self._work.nodes[1] = np.iinfo(np.int64).max if node_limit is None else node_limit

    def _check(self, result: int) -> None:
        if result == UNSOLVED:
            raise UnsolvedError(f"unsolved after {int(self._work.nodes[1])} nodes")


def winning_moves_batch(
    solver: Solver, cells: npt.NDArray[np.int8], to_move: npt.NDArray[np.int8]
) -> npt.NDArray[np.bool_]:
    """The winning moves of many positions.

    Args:
        cells: int8 `[B, size*size]`.
        to_move: int8 `[B]`.

    Returns:
        bool `[B, size*size]`; a row of False where the side to move loses or the game is over.
    """
    wins = np.zeros(cells.shape, dtype=np.bool_)
    for row, (position, player) in enumerate(zip(cells, to_move.tolist(), strict=True)):
        wins[row, list(solver.solve(position, player).winning_moves)] = True
    return wins
