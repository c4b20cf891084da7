"""The players' time, and the share of it for a move."""

from dataclasses import dataclass

RESERVE = 0.05
"""Seconds of a player's time kept in reserve: answers take a moment to arrive."""

FEWEST_MOVES = 4
"""Least number of further moves in a game's plan, so that no move takes more than this part of the time."""


@dataclass
class PlayerTime:
    """The time of one player."""

    left: float | None = None
    """Seconds for all further moves, or for the next `moves` of them; None is no limit."""
    moves: int = 0
    """Moves to make in `left`; 0 is the rest of the game."""
    period: float = 0.0
    """Seconds of a further period, which starts when `left` is used up."""
    period_moves: int = 0
    """Moves in each such period; 0 without periods."""

    def budget(self, empty: int) -> float | None:
        """Seconds for the next move on a board with `empty` cells; None is no limit.

        Without a number of moves, a quarter of the empty cells is a fair guess of the player's further moves.
        """
        if self.left is None:
            return None
        moves = self.moves or max(FEWEST_MOVES, empty // 4)
        return max(0.0, self.left - RESERVE) / moves

    def spend(self, seconds: float) -> None:
        """Subtract the time of a move."""
        if self.left is None:
            return
        self.left -= seconds
        self.moves = max(0, self.moves - 1)
        if self.period_moves and (self.left <= 0 or (self.moves == 0 and self.left < self.period)):
            self.left, self.moves = self.period, self.period_moves
        self.left = max(0.0, self.left)

    def __str__(self) -> str:
        """The seconds, or the words for no limit."""
        return "no limit" if self.left is None else f"{self.left:.1f}"


def game_time(main: float, period: float = 0.0, period_moves: int = 0) -> PlayerTime:
    """A player's time for a game from GTP's `time_settings`; a period without moves means no limit."""
    if period > 0 and period_moves == 0:
        return PlayerTime()
    if main > 0 or period_moves == 0:
        return PlayerTime(main, 0, period, period_moves)
    return PlayerTime(period, period_moves, period, period_moves)
