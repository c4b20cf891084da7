"""Analyses for a program that shows them on its board: of the network, of the search, and exact ones."""

from collections.abc import Callable, Sequence

import numpy as np

from hexlit.arena.htp.protocol import parse_colour
from hexlit.arena.htp.session import Command, Session
from hexlit.errors import UsageError
from hexlit.hex.notation import format_cell, format_moves
from hexlit.hex.solver import Solver, UnsolvedError
from hexlit.hex.solver.bitboard import MAX_SIZE
from hexlit.search.live import Candidate

SOLVER_TABLE_BITS = 20
"""Room for a million positions, 48 MiB."""


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
    """Winning chance of the colour after each of its moves, as the network sees it."""
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


def winning_moves(session: Session, arguments: Sequence[str]) -> str:
    """Every winning move, exactly; none where the side to move loses."""
    colour, position = parse_colour(arguments[0]), session.undecided()
    if position.size > MAX_SIZE:
        raise UsageError(f"positions are solved on boards up to {MAX_SIZE}x{MAX_SIZE}")
    if session.solver is None or session.solver.size != position.size:
        session.solver = Solver(position.size, SOLVER_TABLE_BITS)
    limit = session.settings.solver_nodes
    try:
        solution = session.solver.solve(position.cells, colour, limit)
    except UnsolvedError as error:
        raise UsageError(f"not solved within solver_nodes={limit} positions; with more stones it may be") from error
    return format_moves(solution.winning_moves, position.size)


def _pairs(session: Session, values: dict[int, str]) -> str:
    """Cells with a text each; a swap has no cell to show it on."""
    return " ".join(
        f"{format_cell(cell, session.size)} {text}" for cell, text in values.items() if cell < session.size**2
    )


MENU = (
    ("gfx", "Live analysis", "gogui-gfx-analyze"),
    ("string", "Search: best move", "hexlit-best"),
    ("pspairs", "Search: winning chances (%)", "hexlit-winrates"),
    ("pspairs", "Search: visits", "hexlit-visits"),
    ("pspairs", "Search: Q values", "hexlit-values"),
    ("pspairs", "Search: priors (%)", "hexlit-priors"),
    ("varc", "Search: expected moves", "hexlit-variation"),
    ("pspairs", "Network: policy (%)", "hexlit-policy"),
    ("pspairs", "Network: chances after each move (%)", "hexlit-map"),
    ("gfx", "Network: influence", "hexlit-influence"),
    ("string", "Network: winning chance", "hexlit-chance"),
    ("plist", "Exact winning moves", "hexlit-winning"),
)
"""Type, label and name of what a program can put into its menu; each takes a colour."""


def analyze_commands(session: Session, arguments: Sequence[str]) -> str:
    """The menu, a line each."""
    del session, arguments
    return "\n".join(f"{kind}/{label}/{name} %c" for kind, label, name in MENU)


ANALYSIS = {
    "hexgui-analyze_commands": Command(analyze_commands),
    "hexlit-best": Command(search_summary, 1, 1, "COLOR"),
    "hexlit-winrates": Command(search_winrates, 1, 1, "COLOR"),
    "hexlit-visits": Command(search_visits, 1, 1, "COLOR"),
    "hexlit-values": Command(search_values, 1, 1, "COLOR"),
    "hexlit-priors": Command(search_priors, 1, 1, "COLOR"),
    "hexlit-variation": Command(search_variation, 1, 1, "COLOR"),
    "hexlit-policy": Command(network_policy, 1, 1, "COLOR"),
    "hexlit-map": Command(network_map, 1, 1, "COLOR"),
    "hexlit-influence": Command(network_influence, 1, 1, "COLOR"),
    "hexlit-chance": Command(network_value, 1, 1, "COLOR"),
    "hexlit-winning": Command(winning_moves, 1, 1, "COLOR"),
}
