"""State of an HTP program between two commands, and its thinking time for a move."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from hexlit.arena.htp.clock import PlayerTime
from hexlit.arena.htp.config import PlaySettings
from hexlit.arena.htp.worker import Worker
from hexlit.arena.position import Position, empty_position
from hexlit.arena.thinker import Thinker, Thought
from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE

if TYPE_CHECKING:
    from hexlit.arena.exact import ProvedMoves
    from hexlit.hex.solver import Solver

log = logging.getLogger(__name__)


class Loaded(NamedTuple):
    """A thinker, not yet prepared for a board."""

    thinker: Thinker
    board: int
    """Rows of the board it suits best."""
    swap: bool
    """Whether it knows the swap rule."""


def _never() -> bool:
    return False


def _nowhere(text: str) -> None:
    del text


@dataclass
class Session:
    """One program's side of a conversation.

    The thinker is loaded and prepared in the worker's thread; a command that needs it is carried out there.
    """

    load: Callable[[], Loaded]
    """Loads the thinker; called once, in the worker's thread."""
    settings: PlaySettings
    simulations: int
    """Simulations for a move."""
    board: int | None = None
    """Rows of the first board; None takes the best board of the thinker."""
    allow_swap: bool | None = None
    """Whether White may swap; None takes the rule of the thinker."""
    worker: Worker = field(default_factory=Worker)
    clocks: dict[int, PlayerTime] = field(default_factory=lambda: {BLACK: PlayerTime(), WHITE: PlayerTime()})
    game_time: PlayerTime | None = None
    """Time of each player when a game starts; None if it was never set: then the clocks are not reset."""
    interrupted: Callable[[], bool] = _never
    """Whether the other side has asked to stop the thinking of the present command."""
    followed: Callable[[], bool] = _never
    """Whether the other side has sent anything since."""
    solver: "Solver | None" = None
    """For exact analyses of boards of its size; made by the first one."""
    show: Callable[[str], None] = _nowhere
    """Writes text before the answer."""

    def __post_init__(self) -> None:
        self._loaded: Loaded | None = None
        self._proofs: ProvedMoves | None = None
        self.known_position: Position | None = None if self.board is None else empty_position(self.board)
        """The position, None until the board is known."""

    @property
    def position(self) -> Position:
        """The position; waits for the thinker if no board was named."""
        if self.known_position is None:
            self.known_position = empty_position(self.worker.do(self._load).board)
        return self.known_position

    @position.setter
    def position(self, position: Position) -> None:
        self.known_position = position

    @property
    def size(self) -> int:
        """Rows of the board."""
        return self.position.size

    @property
    def swap(self) -> bool:
        """Whether White may swap; waits for the thinker if this was never set."""
        if self.allow_swap is None:
            self.allow_swap = self.worker.do(self._load).swap
        return self.allow_swap

    @property
    def thinker(self) -> Thinker:
        """The thinker, for commands that think."""
        assert self._loaded is not None, "a command that thinks is carried out by `in_thought`"
        return self._loaded.thinker

    def start(self, size: int) -> None:
        """Start a game; the thinker prepares for its board in the background."""
        self.position = empty_position(size)
        self.get_ready()
        if self.game_time is not None:
            self.set_clocks(self.game_time)

    def get_ready(self) -> None:
        """Let the thinker prepare for the present board and forget its tree; returns at once."""
        self.worker.begin(self._prepare_early)

    def in_thought(self, action: Callable[[], str]) -> str:
        """Carry out `action` in the worker's thread with a thinker that is ready; returns its answer."""
        size, swap = self.size, self.swap

        def act() -> str:
            thinker = self._load().thinker
            if (thinker.size, thinker.swap) != (size, swap):
                thinker.prepare(size, swap=swap)
            return action()

        return self.worker.do(act)

    def set_clocks(self, game_time: PlayerTime) -> None:
        """Give both players this time, now and in all later games."""
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

        if self.settings.solver:
            proved = self._proved(colour, until)
            if proved is not None:
                return proved
        return self.thinker.choose(self.position, colour, simulations=self.simulations, until=until)

    def _proved(self, colour: int, until: Callable[[], bool]) -> Thought | None:
        """A winning move, if the solver finds one in time."""
        from hexlit.arena.exact import ProvedMoves, proved_move

        self._proofs = self._proofs or ProvedMoves(self.settings.proof_seconds)
        solution = self._proofs.solve(self.position, colour, swap=self.swap, interrupted=until)
        swap = self.swap and self.position.may_swap(colour)
        return proved_move(solution, self.thinker, self.position, colour, swap=swap)

    def undecided(self) -> Position:
        """The position; raises `UsageError` when the game is over."""
        if self.position.winner:
            raise UsageError("the game is over")
        return self.position

    def _load(self) -> Loaded:
        if self._loaded is None:
            self._loaded = self.load()
        return self._loaded

    def _prepare_early(self) -> None:
        loaded = self._load()
        size = loaded.board if self.known_position is None else self.known_position.size
        try:
            loaded.thinker.prepare(size, swap=loaded.swap if self.allow_swap is None else self.allow_swap)
        except Exception:
            # The first command that thinks prepares again, and its answer states the error.
            log.exception("not ready for %dx%d", size, size)
