"""Exact answers of the solver, within a time and a number of positions, ended by an interrupt."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hexlit.arena.htp.arguments import colour_name, parse_colour
from hexlit.arena.htp.session import Session
from hexlit.errors import UsageError
from hexlit.hex.notation import format_moves
from hexlit.hex.solver import Solution, Solver, UnsolvedError
from hexlit.hex.solver.bitboard import MAX_SIZE

_LOOK = 0.02
"""Seconds between two looks at the clock and at what has arrived."""


def winning_moves(session: Session, arguments: Sequence[str]) -> str:
    """Every winning move, exactly; none where the side to move loses."""
    return format_moves(_solved(session, arguments[0]).winning_moves, session.size)


def winner(session: Session, arguments: Sequence[str]) -> str:
    """The colour that wins with best play."""
    return colour_name(_solved(session, arguments[0]).winner)


def _solved(session: Session, colour_text: str) -> Solution:
    colour, position = parse_colour(colour_text), session.undecided()
    if position.size > MAX_SIZE:
        raise UsageError(f"positions are solved on boards up to {MAX_SIZE}x{MAX_SIZE}")
    if session.solver is None or session.solver.size != position.size:
        session.solver = Solver(position.size)
    nodes, seconds = session.settings.solver_nodes, session.settings.solver_seconds
    try:
        with _limited(session.solver, session, seconds):
            return session.solver.solve(position.cells, colour, nodes)
    except UnsolvedError as error:
        if session.interrupted():
            raise UsageError("interrupted") from error
        limits = f"solver_seconds={seconds:g}" + (f" and solver_nodes={nodes}" if nodes is not None else "")
        raise UsageError(f"not solved within {limits}; with more stones it may be") from error


@contextmanager
def _limited(solver: Solver, session: Session, seconds: float) -> Iterator[None]:
    """Stop what `solver` does after `seconds`, or once the other side interrupts."""
    deadline, done = time.monotonic() + seconds, threading.Event()

    def watch() -> None:
        while not done.wait(_LOOK):
            if session.interrupted() or time.monotonic() >= deadline:
                solver.stop()

    watcher = threading.Thread(target=watch, name="htp-solver-limit", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
