"""Analyses of network and search, for a program that shows them on its board."""

from collections.abc import Callable, Sequence

import numpy as np

from hexlit.arena.htp.arguments import parse_colour
from hexlit.arena.htp.session import Session
from hexlit.errors import UsageError
from hexlit.hex.notation import format_cell, format_moves
from hexlit.search.live import Candidate


def network_policy(session: Session, arguments: Sequence[str]) -> str:
    """The network's own probabilities of moves, in percent."""
    policy, _ = session.thinker.look(session.undecided(), parse_colour(arguments[0]))
    empty = np.flatnonzero(session.position.cells == 0)
    return _pairs(session, {int(cell): f"{100 * policy[cell]:.1f}" for cell in empty})


def network_map(session: Session, arguments: Sequence[str]) -> str:
    """The network's own winning chance after each move, in percent; on the empty board, its map of openings."""
    return _pairs(session, {cell: f"{100 * chance:.0f}" for cell, chance in _chances(session, arguments[0]).items()})


def network_influence(session: Session, arguments: Sequence[str]) -> str:
    """As the map, as colours."""
    chances = _chances(session, arguments[0])
    spots = " ".join(f"{format_cell(cell, session.size)} {chance:.3f}" for cell, chance in chances.items())
    best = max(chances, key=lambda cell: chances[cell])
    best_name = format_cell(best, session.size)
    return f"INFLUENCE {spots}\nTEXT best after one move: {best_name}, winning chance {chances[best]:.2f}"


def network_value(session: Session, arguments: Sequence[str]) -> str:
    """The network's own winning chance of the side to move."""
    _, value = session.thinker.look(session.undecided(), parse_colour(arguments[0]))
    return f"{(1 + value) / 2:.3f}"


def _chances(session: Session, colour_name: str) -> dict[int, float]:
    """Winning chance of the colour after each of its moves, by the network."""
    position, colour = session.undecided(), parse_colour(colour_name)
    chances = {}
    for cell in np.flatnonzero(position.cells == 0):
        after = position.place(colour, int(cell))
        if not after.winner and session.interrupted():
            raise UsageError("interrupted")
        chances[int(cell)] = 1.0 if after.winner else (1 - session.thinker.look(after, -colour)[1]) / 2
    return chances


def search_visits(session: Session, arguments: Sequence[str]) -> str:
    """Visits of the moves that the search has tried."""
    return _of_search(session, arguments, lambda candidate: str(candidate.visits))


def search_values(session: Session, arguments: Sequence[str]) -> str:
    """Q values of the moves that the search has tried, for the side to move, -1 to 1."""
    return _of_search(session, arguments, lambda candidate: f"{candidate.value:.2f}")


def search_winrates(session: Session, arguments: Sequence[str]) -> str:
    """The same as winning chances in percent."""
    return _of_search(session, arguments, lambda candidate: f"{50 * (1 + candidate.value):.0f}")


def search_priors(session: Session, arguments: Sequence[str]) -> str:
    """Priors of the moves that the search has tried, in percent."""
    return _of_search(session, arguments, lambda candidate: f"{100 * candidate.prior:.1f}")


def _of_search(session: Session, arguments: Sequence[str], show: Callable[[Candidate], str]) -> str:
    _study(session, arguments[0])
    candidates = session.thinker.candidates()
    return _pairs(session, {candidate.action: show(candidate) for candidate in candidates})


def search_variation(session: Session, arguments: Sequence[str]) -> str:
    """The moves that the search expects."""
    _study(session, arguments[0])
    return format_moves(session.thinker.variation(), session.size)


def search_summary(session: Session, arguments: Sequence[str]) -> str:
    """Best move, winning chance and simulations of the search."""
    action, value = _study(session, arguments[0])
    visits = sum(candidate.visits for candidate in session.thinker.candidates())
    return f"{format_cell(action, session.size)}, winning chance {(1 + value) / 2:.3f}, {visits} simulations"


def _study(session: Session, colour: str) -> tuple[int, float]:
    """Search the position, unless that has been done."""
    return session.thinker.study(
        session.undecided(), parse_colour(colour), simulations=session.simulations, until=session.interrupted
    )


def _pairs(session: Session, values: dict[int, str]) -> str:
    """Cells with their texts; a swap has no cell to show it on."""
    return " ".join(
        f"{format_cell(cell, session.size)} {text}" for cell, text in values.items() if cell < session.size**2
    )
