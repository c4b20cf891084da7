"""The players' time, and how much of it a move may take."""

from dataclasses import dataclass

RESERVE = 0.05
"""Seconds of a player's time that are never planned with: answers take a moment to arrive."""

FEWEST_MOVES = 4
"""A game is taken to last at least so many more moves, so that a move never takes more than this part of the time."""


@dataclass
class PlayerTime:
    """What one player has."""

    left: float | None = None
    """Seconds for all moves to come, or for the next `moves` of them; None is no limit."""
    moves: int = 0
    """Moves that `left` is for; 0 is the rest of the game."""
    period: float = 0.0
    """Seconds of a further period, which starts when `left` is used up."""
    period_moves: int = 0
    """Moves that each such period is for; 0 where there is none."""

    def budget(self, empty: int) -> float | None:
        """Seconds for the next move on a board with `empty` cells; None is no limit.

        Without a number of moves given, a quarter of the empty cells is a fair guess of one's own moves to come.
        """
        if self.left is None:
            return None
        moves = self.moves or max(FEWEST_MOVES, empty // 4)
        return max(0.0, self.left - RESERVE) / moves

    def spend(self, seconds: float) -> None:
        """Take off what a move has taken."""
        if self.left is None:
            return
        self.left -= seconds
        self.moves = max(0, self.moves - 1)
        if self.period_moves and (self.left <= 0 or (self.moves == 0 and self.left < self.period)):
            self.left, self.moves = self.period, self.period_moves
        self.left = max(0.0, self.left)

    def __str__(self) -> str:
        """Seconds, or that there is no limit."""
        return "no limit" if self.left is None else f"{self.left:.1f}"


def game_time(main: float, period: float = 0.0, period_moves: int = 0) -> PlayerTime:
    """A player's time for a game as GTP's `time_settings` gives it; a period without moves means no limit."""
    if period > 0 and period_moves == 0:
        return PlayerTime()
    if main > 0 or period_moves == 0:
        return PlayerTime(main, 0, period, period_moves)
    return PlayerTime(period, period_moves, period, period_moves)
