"""Live analysis: reports of the running search, until the other side stops it."""

import time
from collections.abc import Sequence

from hexlit.arena.htp.arguments import parse_colour
from hexlit.arena.htp.session import Session
from hexlit.hex.notation import format_cell, format_moves


def analyze(session: Session, arguments: Sequence[str]) -> str:
    """Search the position and report on it every `interval` seconds.

    It ends at `# interrupt`, at any other command, at the end of the input, after `live_simulations`, or if the memory
    of the tree is used up. At least one report is given.
    """
    colour, position = parse_colour(arguments[0]), session.undecided()
    session.thinker.study(position, colour, simulations=1)
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


def report(session: Session) -> str:
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
