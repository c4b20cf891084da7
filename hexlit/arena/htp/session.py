"""What a program at the table remembers between two commands, and how long it thinks about a move."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from hexlit.arena.htp.clock import PlayerTime
from hexlit.arena.htp.config import PlaySettings
from hexlit.arena.position import Position, empty_position
from hexlit.arena.thinker import Thinker, Thought
from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE

if TYPE_CHECKING:
    from hexlit.hex.solver import Solver


def _never() -> bool:
    return False


def _nowhere(text: str) -> None:
    del text


@dataclass
class Session:
    """One program's side of a conversation."""

    thinker: Thinker
    """Prepared for the board."""
    settings: PlaySettings
    simulations: int
    """For a move."""
    position: Position
    clocks: dict[int, PlayerTime] = field(default_factory=lambda: {BLACK: PlayerTime(), WHITE: PlayerTime()})
    game_time: PlayerTime | None = None
    """What each player has when a game starts; None where nobody has said so: then the clocks go on."""
    interrupted: Callable[[], bool] = _never
    """Whether the other side has asked to stop thinking about the command that is carried out."""
    followed: Callable[[], bool] = _never
    """Whether the other side has sent anything since."""
    solver: "Solver | None" = None
    """For exact analyses of boards of its size, once one was asked for."""
    show: Callable[[str], None] = _nowhere
    """Writes what comes before the answer."""

    @property
    def size(self) -> int:
        """Rows of the board."""
        return self.position.size

    def start(self, size: int) -> None:
        """A new game; everything that takes time is done now, not at the first move."""
        self.thinker.prepare(size, swap=self.thinker.swap)
        self.position = empty_position(size)
        if self.game_time is not None:
            self.set_clocks(self.game_time)

    def set_clocks(self, game_time: PlayerTime) -> None:
        """Give both players this time, now and in every game to come."""
        self.game_time = game_time
        self.clocks = {colour: replace(game_time) for colour in (BLACK, WHITE)}

    def think(self, colour: int) -> Thought:
        """Choose a move of `colour`: all simulations, or as many as the time allows."""
        limits = (self.settings.seconds, self.clocks[colour].budget(self.size**2 - self.position.stones))
        seconds = min((limit for limit in limits if limit is not None), default=None)
        until = self.interrupted
        if seconds is not None:
            deadline = time.monotonic() + seconds

            def until() -> bool:
                return self.interrupted() or time.monotonic() >= deadline

        return self.thinker.choose(self.position, colour, simulations=self.simulations, until=until)

    def undecided(self) -> Position:
        """The position; raises `UsageError` when the game is over."""
        if self.position.winner:
            raise UsageError("the game is over")
        return self.position


def new_session(thinker: Thinker, settings: PlaySettings, size: int, *, swap: bool) -> Session:
    """A session that waits for its first command, on an empty board of `size` rows."""
    thinker.prepare(size, swap=swap)
    return Session(thinker, settings, thinker.config.simulations, empty_position(size))


class Command(NamedTuple):
    """What is done for one name of the protocol."""

    run: Callable[[Session, Sequence[str]], str]
    """Carries it out with its arguments and returns the text of the answer; raises `UsageError` with nothing done."""
    least: int = 0
    most: int = 0
    """Arguments it takes, at least and at most."""
    takes: str = ""
    """Their names."""
