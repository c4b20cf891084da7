"""The exact verdict on a position, with what its virtual connections show."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from hexlit.arena.thinker import solved, stop_at
from hexlit.errors import UsageError
from hexlit.hex.board import Board
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell
from hexlit.hex.solver import Solution, Solver
from hexlit.hex.solver.bitboard import MAX_SIZE
from hexlit.hex.solver.lines import BOTTOM, TOP, Outlook, outlooks
from hexlit.web.positions import COLOURS, check_undecided

_EDGES = {BLACK: {TOP: "top", BOTTOM: "bottom"}, WHITE: {TOP: "left", BOTTOM: "right"}}
_LOOK = 0.05
"""Seconds between two looks at whether to wait longer for the solver."""


class Verdicts:
    """One solver for all browsers, of the size that was asked for last; it solves one position after another."""

    def __init__(self, seconds: float) -> None:
        """Each answer may take `seconds`."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._solver: Solver | None = None

    def answer(self, board: Board, stopped: Callable[[], bool]) -> dict[str, Any]:
        """The answer to `solve`, see `hexlit.web.requests`.

        Raises:
            UsageError: it is too hard for the time, or the board too large.
        """
        check_undecided(board)
        if board.size > MAX_SIZE:
            raise UsageError(f"positions are solved on boards of up to {MAX_SIZE} rows")
        if board.may_swap:
            board = Board(board.size, moves=board.moves)  # the verdict is on the stones; the page tells of the swap
        seen = outlooks(board.cells, board.size)
        result = self.solve(board, self._seconds, stopped)

        def names(cells: tuple[int, ...]) -> list[str]:
            return [format_cell(cell, board.size) for cell in cells]

        return {
            "type": "solve",
            "winner": COLOURS[result.winner],
            "winning": names(result.winning_moves),
            "must_play": names(seen[-board.to_move].must_play),
            "links": {COLOURS[colour]: link_of(seen[colour], colour, board.size) for colour in (BLACK, WHITE)},
            "nodes": result.nodes,
            "seconds": result.seconds,
            "final": True,
        }

    def solve(self, board: Board, seconds: float, stopped: Callable[[], bool]) -> Solution:
        """The solution for the player to move, within `seconds` from when the solver is free and compiled.

        Raises:
            UsageError: it is too hard for the time, or `stopped` says so.
        """
        with self._held(stopped):
            if self._solver is None:
                Solver(2).solve(np.zeros(4, np.int8), BLACK)  # compiles, which is no part of the time to solve
            if self._solver is None or self._solver.size != board.size:
                self._solver = Solver(board.size)
            return solved(self._solver, board.cells, board.to_move, seconds=seconds, interrupted=stopped)

    def proof(self, board: Board, seconds: float, stopped: Callable[[], bool]) -> Solution | None:
        """As `solve`; None where it takes longer, waiting included, or the board is too large.

        With the swap rule there is none for the empty board: a winning stone would be swapped.
        """
        if board.size > MAX_SIZE or (board.swap and not board.moves):
            return None
        try:
            return self.solve(board, seconds, stop_at(time.monotonic() + seconds, stopped))
        except UsageError:
            return None

    @contextmanager
    def _held(self, stopped: Callable[[], bool]) -> Iterator[None]:
        while not self._lock.acquire(timeout=_LOOK):
            if stopped():
                raise UsageError("interrupted")
        try:
            yield
        finally:
            self._lock.release()


def link_of(seen: Outlook, colour: int, size: int) -> dict[str, Any]:
    """The best virtual connection of a side as the page takes it."""

    def name(place: int) -> str:
        return _EDGES[colour][place] if place < 0 else format_cell(place, size)

    return {
        "strength": seen.strength,
        "carrier": [name(cell) for cell in seen.carrier],
        "key": "" if seen.key is None else name(seen.key),
        "lines": [[name(line.start), name(line.end), line.kind] for line in seen.lines],
    }
