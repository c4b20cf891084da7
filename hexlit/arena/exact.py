"""Exact answers of the solver within a time limit, interruptible, and moves that it has proved."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from hexlit.arena.thinker import Thinker, Thought
from hexlit.errors import UsageError
from hexlit.hex.solver import Solution, Solver, UnsolvedError

_LOOK = 0.02
"""Seconds between two looks at the clock and at new input."""


def solved(
    solver: Solver,
    cells: NDArray[np.int8],
    colour: int,
    *,
    seconds: float,
    nodes: int | None = None,
    interrupted: Callable[[], bool],
) -> Solution:
    """Solve a position of `colour` to move, see `Solver.solve`, within `seconds` and `nodes`.

    Raises:
        UsageError: a limit was reached, or `interrupted` was true.
    """
    try:
        with _limited(solver, interrupted, seconds):
            return solver.solve(cells, colour, nodes)
    except UnsolvedError as error:
        if interrupted():
            raise UsageError("interrupted") from error
        limits = f"solver_seconds={seconds:g}" + (f" and solver_nodes={nodes}" if nodes is not None else "")
        raise UsageError(f"not solved within {limits}; with more stones it may be") from error


@contextmanager
def _limited(solver: Solver, interrupted: Callable[[], bool], seconds: float) -> Iterator[None]:
    """Stop `solver` after `seconds`, or once `interrupted` is true."""
    deadline, done = time.monotonic() + seconds, threading.Event()

    def watch() -> None:
        while not done.wait(_LOOK):
            if interrupted() or time.monotonic() >= deadline:
                solver.stop()

    watcher = threading.Thread(target=watch, name="solver-limit", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def proved_move(
    solution: Solution | None, thinker: Thinker, cells: NDArray[np.int8], colour: int, *, swap: bool
) -> Thought | None:
    """A winning move of `colour`, the likeliest by the policy of `thinker`; `swap` says whether it may swap.

    None if the position is lost or not solved: search then.
    """
    if solution is None:
        return None
    if solution.winner != colour:
        return Thought(len(cells), 1.0) if swap else None
    policy, _ = thinker.look(cells, colour)
    return Thought(max(solution.winning_moves, key=lambda cell: float(policy[cell])), 1.0)
