"""Analyses of network, search and solver, for a program that shows them on its board."""

import time
from collections.abc import Callable

import numpy as np

from hexlit.arena.htp.game import colour_name, parse_colour
from hexlit.arena.htp.session import HtpSession
from hexlit.errors import UsageError
from hexlit.hex.notation import format_cell, format_moves
from hexlit.hex.solver import Solution
from hexlit.hex.solver.bitboard import MAX_SIZE
from hexlit.search.live import Candidate


def network_policy(session: HtpSession, colour: str) -> str:
    """The network's own probabilities of moves, in percent."""
    policy, _ = session.thinker.look(session.undecided().cells, parse_colour(colour))
    empty = np.flatnonzero(session.position.cells == 0)
    return _pairs(session, {int(cell): f"{100 * policy[cell]:.1f}" for cell in empty})


def network_map(session: HtpSession, colour: str) -> str:
    """The network's own winning chance after each move, in percent; on the empty board, its map of openings."""
    return _pairs(session, {cell: f"{100 * chance:.0f}" for cell, chance in _chances(session, colour).items()})


def network_influence(session: HtpSession, colour: str) -> str:
    """As the map, as colours."""
    chances = _chances(session, colour)
    spots = " ".join(f"{format_cell(cell, session.size)} {chance:.3f}" for cell, chance in chances.items())
    best = max(chances, key=lambda cell: chances[cell])
    best_name = format_cell(best, session.size)
    return f"INFLUENCE {spots}\nTEXT best after one move: {best_name}, winning chance {chances[best]:.2f}"


def network_value(session: HtpSession, colour: str) -> str:
    """The network's own winning chance of the side to move."""
    _, value = session.thinker.look(session.undecided().cells, parse_colour(colour))
    return f"{(1 + value) / 2:.3f}"


def _chances(session: HtpSession, colour_name: str) -> dict[int, float]:
    """Winning chance of the colour after each of its moves, by the network."""
    position, colour = session.undecided(), parse_colour(colour_name)
    chances = {}
    for cell in np.flatnonzero(position.cells == 0):
        after = position.place(colour, int(cell))
        if not after.winner and session.interrupted():
            raise UsageError("interrupted")
        chances[int(cell)] = 1.0 if after.winner else (1 - session.thinker.look(after.cells, -colour)[1]) / 2
    return chances


def search_visits(session: HtpSession, colour: str) -> str:
    """Visits of the moves that the search has tried."""
    return _of_search(session, colour, lambda candidate: str(candidate.visits))


def search_values(session: HtpSession, colour: str) -> str:
    """Q values of the moves that the search has tried, for the side to move, -1 to 1."""
    return _of_search(session, colour, lambda candidate: f"{candidate.value:.2f}")


def search_winrates(session: HtpSession, colour: str) -> str:
    """The same as winning chances in percent."""
    return _of_search(session, colour, lambda candidate: f"{50 * (1 + candidate.value):.0f}")


def search_priors(session: HtpSession, colour: str) -> str:
    """Priors of the moves that the search has tried, in percent."""
    return _of_search(session, colour, lambda candidate: f"{100 * candidate.prior:.1f}")


def _of_search(session: HtpSession, colour: str, show: Callable[[Candidate], str]) -> str:
    _study(session, colour)
    candidates = session.thinker.candidates()
    return _pairs(session, {candidate.action: show(candidate) for candidate in candidates})


def search_variation(session: HtpSession, colour: str) -> str:
    """The moves that the search expects."""
    _study(session, colour)
    return format_moves(session.thinker.variation(), session.size)


def search_summary(session: HtpSession, colour: str) -> str:
    """Best move, winning chance and simulations of the search."""
    action, value = _study(session, colour)
    visits = sum(candidate.visits for candidate in session.thinker.candidates())
    return f"{format_cell(action, session.size)}, winning chance {(1 + value) / 2:.3f}, {visits} simulations"


def _study(session: HtpSession, colour: str) -> tuple[int, float]:
    """Search the position, unless that has been done."""
    return session.thinker.study(
        session.undecided().cells, parse_colour(colour), simulations=session.simulations, until=session.interrupted
    )


def _pairs(session: HtpSession, values: dict[int, str]) -> str:
    """Cells with their texts; a swap has no cell to show it on."""
    return " ".join(
        f"{format_cell(cell, session.size)} {text}" for cell, text in values.items() if cell < session.size**2
    )


def analyze(session: HtpSession, colour: str) -> str:
    """Search the position and report on it every `interval` seconds.

    It ends at `# interrupt`, at any other command, at the end of the input, after `live_simulations`, or if the memory
    of the tree is used up. At least one report is given.
    """
    session.thinker.study(session.undecided().cells, parse_colour(colour), simulations=1)
    while True:
        deadline = time.monotonic() + session.settings.interval

        def enough() -> bool:
            return session.followed() or time.monotonic() >= deadline  # noqa: B023  # called in this round only

        left = session.settings.live_simulations - sum(candidate.visits for candidate in session.thinker.candidates())
        if left > 0:
            session.thinker.study_more(left, until=enough)
        session.show(report(session))
        if left <= 0 or session.followed() or session.thinker.full:
            return ""


def report(session: HtpSession) -> str:
    """A block of the live analysis with its blank line: the moves, the most visited first, as KataGo writes them."""
    infos = []
    for order, candidate in enumerate(session.thinker.candidates()):
        moves = session.thinker.variation() if order == 0 else [candidate.action]
        infos.append(
            f"info move {format_cell(candidate.action, session.size)} visits {candidate.visits} "
            f"winrate {(1 + candidate.value) / 2:.4f} scoreLead {candidate.value:.4f} order {order} "
            f"prior {candidate.prior:.4f} pv {format_moves(moves, session.size)}"
        )
    return "\n".join(["gogui-gfx:", "kata", " ".join(infos), "\n"])


def winning_moves(session: HtpSession, colour: str) -> str:
    """Every winning move, exactly; none where the side to move loses."""
    return format_moves(_solved(session, colour).winning_moves, session.size)


def winner(session: HtpSession, colour: str) -> str:
    """The colour that wins with best play."""
    return colour_name(_solved(session, colour).winner)


def _solved(session: HtpSession, colour_text: str) -> Solution:
    colour, position = parse_colour(colour_text), session.undecided()
    if position.size > MAX_SIZE:
        raise UsageError(f"positions are solved on boards up to {MAX_SIZE}x{MAX_SIZE}")
    settings = session.settings
    return session.solve(
        colour, seconds=settings.solver_seconds, nodes=settings.solver_nodes, interrupted=session.interrupted
    )
