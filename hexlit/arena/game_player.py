"""Players of one game at a time, such as foreign programs, and how they give up."""

from collections.abc import Sequence
from typing import Protocol

RESIGN = -1
"""Answer of a player that resigns."""


class Forfeit(Exception):  # noqa: N818 - it ends a game, not the program
    """A player fails and loses the game; the message is the note that says why."""


class GamePlayer(Protocol):
    """A player of one game after another."""

    def begin(self, size: int, *, swap: bool = False) -> None:
        """Start a new game on an empty board of `size` rows, with or without the swap rule; may raise `Forfeit`."""
        ...

    def answer(self, moves: Sequence[int]) -> int:
        """The next move after `moves`, all moves played so far, Black's first, the opening included.

        A cell (row * size + column), `size * size` for swap-pieces, or `RESIGN`; may raise `Forfeit`.
        """
        ...

    def close(self) -> None:
        """Give back what the player holds; no game follows."""
        ...
