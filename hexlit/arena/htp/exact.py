"""Exact answers of the solver, within a time and a number of positions, ended by an interrupt."""

from collections.abc import Sequence

from hexlit.arena.exact import solved
from hexlit.arena.htp.arguments import colour_name, parse_colour
from hexlit.arena.htp.session import Session
from hexlit.errors import UsageError
from hexlit.hex.notation import format_moves
from hexlit.hex.solver import Solution, Solver
from hexlit.hex.solver.bitboard import MAX_SIZE


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
    return solved(
        session.solver,
        position.cells,
        colour,
        seconds=session.settings.solver_seconds,
        nodes=session.settings.solver_nodes,
        interrupted=session.interrupted,
    )
