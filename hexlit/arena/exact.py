"""Exact answers of the solver within a time, and ended early by whoever asked."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.solver import Solution, Solver, UnsolvedError

_LOOK = 0.02
"""Seconds between two looks at the clock and at what has arrived."""


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
        UsageError: the limits were reached, or `interrupted` said so.
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
    """Stop what `solver` does after `seconds`, or once `interrupted` says so."""
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
