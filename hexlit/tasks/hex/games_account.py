"""The account of a store's games before training: how many are used, and why the others are left out."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from hexlit.selfplay.flat_games import NO_MOVE, NO_WINNER, OTHER_SIZE, UNFINISHED

BEYOND = "games beyond max_positions"
"""Reason of games that are left out because a run takes no more positions."""

HELD_OUT = "games held out for validation"
"""Reason of games that self-play leaves out of its mix."""

_REASONS = {
    OTHER_SIZE: "on another board than {size}x{size}",
    UNFINISHED: "unfinished (data.claimed_results=true takes those with a claimed winner)",
    NO_WINNER: "without a winner",
    NO_MOVE: "without a move to learn from",
    BEYOND: "beyond data.max_positions",
    HELD_OUT: "held out for validation",
}


class GamesAccount(NamedTuple):
    """Number of games of a store that a run uses, and of those that it leaves out."""

    path: Path
    size: int
    used: int
    left_out: Mapping[str, int]
    """Reason -> games or plies, see `GamePositions.left_out`; plies do not count here."""

    @property
    def games(self) -> int:
        """All games of the store."""
        return self.used + sum(self.left_out.get(reason, 0) for reason in _REASONS)

    @property
    def mostly_left_out(self) -> bool:
        """Whether more than half of the games are left out, which is seldom meant."""
        return 2 * self.used < self.games

    def line(self) -> str:
        """One sentence with the counts and the reasons, the most frequent first."""
        counts = [(self.left_out.get(reason, 0), said.format(size=self.size)) for reason, said in _REASONS.items()]
        reasons = [f"{count:,} {said}" for count, said in sorted(counts, key=lambda one: -one[0]) if count]
        used = f"{self.used:,} of {self.games:,}" if reasons else f"all {self.games:,}"
        left_out = f"; left out: {', '.join(reasons)}" if reasons else ""
        return f"data.path={self.path}: {used} games are used{left_out}"
