"""Exact ends of self-play games, for `selfplay.exact_ends`: the only way by which the truth enters what learns."""

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.solver import ExactSolver, UnsolvedError
from hexlit.selfplay.play import CONNECTED, PLAYING, RESIGNED, GameArrays

ROWS = 1 << 12
"""Rows of the solver's table. It is cleared before each position, so that a game does not depend on others."""


class ExactEnds:
    """Ends games that the exact solver decides; their losers resign."""

    def __init__(self, size: int, nodes: int) -> None:
        """Positions on boards of `size` are judged within `nodes` each."""
        self._solver, self._nodes = ExactSolver(size, ROWS), nodes
        self._cells = size * size
        self._judged: NDArray[np.void] | None = None  # the games, and the plies up to which they are

    def apply(self, state: GameArrays) -> int:
        """End those games that one of their new positions decides; returns how many of them were going on.

        A game goes on until it has a target to learn from. It may have made several moves since the last call.
        """
        ended, now = 0, state.slot[["game_id", "ply"]].copy()
        before = np.zeros_like(now) if self._judged is None else self._judged
        self._judged = now
        for g in np.flatnonzero(now != before).tolist():
            slot, (game, judged), (same, ply) = state.slot[g], before[g], now[g]
            first = max(int(judged) if game == same else 0, int(slot["opening"])) + 1
            for at in range(first, ply + (slot["state"] != CONNECTED)):
                if state.full[g, :at].any() and (winner := self._winner(state.moves[g, :at])):
                    ended += int(slot["state"] == PLAYING)
                    slot["state"], slot["winner"], slot["ply"] = RESIGNED, winner, at
                    break
        return ended

    def _winner(self, moves: NDArray[np.int16]) -> int:
        """The winner after `moves` if it is decided, else 0."""
        cells, to_move = np.zeros(self._cells, np.int8), 1 - 2 * (len(moves) % 2)
        cells[moves[::2]], cells[moves[1::2]] = 1, -1
        self._solver.forget()
        with suppress(UnsolvedError):
            return to_move if self._solver.wins(cells, to_move, self._nodes) else -to_move
        return 0
