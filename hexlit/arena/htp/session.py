"""One program's side of a conversation: its state, its worker thread, its time, its answers."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from hexlit.arena.config import PlaySettings
from hexlit.arena.first_stones import Until, never
from hexlit.arena.htp.protocol import (
    COMMANDS,
    QUIT,
    Command,
    Incoming,
    Request,
    format_reply,
    quoted,
)
from hexlit.arena.player_spec import LEVELS
from hexlit.arena.players import drawn_actions
from hexlit.arena.position import Position, empty_position, may_swap
from hexlit.arena.thinker import Thinker, Thought, proved_move, solved, stop_at
from hexlit.arena.wins import virtual_solution
from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.solver import ExactSolver, Solution
from hexlit.hex.solver.bitboard import MAX_SIZE

log = logging.getLogger(__name__)

T = TypeVar("T")

RESERVE = 0.05
"""Seconds of a player's time kept in reserve: answers take a moment to arrive."""

FEWEST_MOVES = 4
"""Least number of further moves in a game's plan; no move takes more than this part of the time."""


@dataclass
class PlayerTime:
    """The time of one player."""

    left: float | None = None
    """Seconds for all further moves, or for the next `moves` of them; None is no limit."""
    moves: int = 0
    """Moves to make in `left`; 0 is the rest of the game."""

    def budget(self, empty: int) -> float | None:
        """Seconds for the next move on a board with `empty` cells; None is no limit.

        Without a number of moves, a quarter of the empty cells is a fair guess of the player's
        further moves.
        """
        if self.left is None:
            return None
        moves = self.moves or max(FEWEST_MOVES, empty // 4)
        return max(0.0, self.left - RESERVE) / moves

    def spend(self, seconds: float) -> None:
        """Subtract the time of a move."""
        if self.left is not None:
            self.left = max(0.0, self.left - seconds)
            self.moves = max(0, self.moves - 1)

    def __str__(self) -> str:
        """The seconds, or the words for no limit."""
        return "no limit" if self.left is None else f"{self.left:.1f}"


class Loaded(NamedTuple):
    """A thinker, not yet prepared for a board."""

    thinker: Thinker
    board: int
    """Rows of the board it suits best."""
    swap: bool
    """Whether it knows the swap rule."""


@dataclass
class HtpSession:
    """One program's side of a conversation.

    The thinker is loaded and prepared in the executor's thread; a command that needs it is carried
    out there.
    """

    load: Callable[[], Loaded]
    """Loads the thinker; called once, at once, in the executor's thread."""
    settings: PlaySettings
    simulations: int
    """Simulations for a move."""
    board: int | None = None
    """Rows of the first board; None takes the best board of the thinker."""
    allow_swap: bool | None = None
    """Whether White may swap; None takes the rule of the thinker."""
    executor: Executor = field(default_factory=lambda: ThreadPoolExecutor(1, "htp-worker"))
    """Has one thread: networks, captured graphs and compiled operators are used in the one that
    made them.
    """
    clocks: dict[int, PlayerTime] = field(
        default_factory=lambda: {BLACK: PlayerTime(), WHITE: PlayerTime()}
    )
    game_time: PlayerTime | None = None
    """Time of each player when a game starts; None if it was never set: then the clocks are not
    reset.
    """
    interrupted: Until = never
    """Whether the other side has asked to stop the thinking of the present command."""
    followed: Until = never
    """Whether the other side has sent anything since."""
    show: Callable[[str], object] = lambda text: None
    """Writes text before the answer."""
    level: int = 0
    """Level of `LEVELS` to play at, from 1; 0: at full strength."""
    seed: int = 0
    """Seed of the moves that levels draw."""

    def __post_init__(self) -> None:
        self._solver: ExactSolver | None = None
        self.known_position: Position | None = (
            None if self.board is None else empty_position(self.board)
        )
        """The position, None until the board is known."""
        self.loading = self.executor.submit(self.load)
        self._last: Future[Any] = self.loading

    @property
    def position(self) -> Position:
        """The position; waits for the thinker if no board was named."""
        if self.known_position is None:
            self.known_position = empty_position(self.loading.result().board)
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
            self.allow_swap = self.loading.result().swap
        return self.allow_swap

    @property
    def thinker(self) -> Thinker:
        """The thinker, for commands that think: `in_thought` carries them out."""
        return self.loading.result().thinker

    @property
    def busy(self) -> bool:
        """Whether the executor's thread still works."""
        return not self._last.done()

    def submit(self, call: Callable[[], T]) -> "Future[T]":
        """Run `call` in the executor's thread, after those before it."""
        future = self.executor.submit(call)
        self._last = future
        return future

    def start(self, size: int) -> None:
        """Start a game; the thinker prepares for its board in the background."""
        self.position = empty_position(size)
        self.get_ready()
        if self.game_time is not None:
            self.set_clocks(self.game_time)

    def get_ready(self) -> None:
        """Let the thinker prepare for the present board and forget its tree; returns at once."""
        self.submit(self._prepare_early)

    def in_thought(self, action: Callable[[], str | None]) -> str | None:
        """Carry out `action` in the worker's thread with a thinker that is ready; returns its
        answer.
        """
        size = self.size
        swap = self.swap

        def act() -> str | None:
            if (self.thinker.size, self.thinker.swap) != (size, swap):
                self.thinker.prepare(size, swap=swap)
            return action()

        return self.submit(act).result()

    def set_clocks(self, game_time: PlayerTime) -> None:
        """Give both players this time, now and in all later games."""
        self.game_time = game_time
        self.clocks = {colour: replace(game_time) for colour in (BLACK, WHITE)}

    def think(self, colour: int) -> Thought:
        """Choose a move of `colour`: all simulations, or as many as the time allows; at a level, as
        it plays.
        """
        budget = self.clocks[colour].budget(self.size**2 - self.position.stones)
        limits = [limit for limit in (self.settings.seconds, budget) if limit is not None]
        until = self.interrupted
        if limits:
            until = stop_at(time.monotonic() + min(limits), self.interrupted)
        settled = self.thinker.settled(self.position.cells, colour, until)
        if settled is not None:
            return settled
        level = LEVELS[self.level - 1] if self.level else {}
        if "temperature" in level:
            return self._drawn(colour, float(level["temperature"]))
        if self.settings.solver:
            proved = self._proved(colour, until)
            if proved is not None:
                return proved
        simulations = int(level.get("simulations", self.simulations))
        return self.thinker.choose(
            self.position.cells, colour, simulations=simulations, until=until
        )

    def _drawn(self, colour: int, temperature: float) -> Thought:
        """A move drawn from the policy."""
        position = self.position
        policy, value = self.thinker.look(position.cells, colour)
        swaps = self.swap and self.thinker.searches_swap and may_swap(position.cells, colour)
        actions = policy[None, : position.size**2 + swaps]
        moves = drawn_actions(position.cells[None], actions, temperature, self.seed)
        return Thought(int(moves[0]), value)

    def _proved(self, colour: int, until: Until) -> Thought | None:
        """A winning move, if the solver finds one in time. With the swap rule it solves no empty
        board.
        """
        position = self.position
        if self.swap and position.stones == 0:
            return None
        solution = None
        if position.size > MAX_SIZE:
            solution = virtual_solution(position.cells, colour)
        else:
            with suppress(UsageError):
                solution = self.solve(
                    colour, seconds=self.settings.proof_seconds, interrupted=until
                )
        swap = self.swap and may_swap(position.cells, colour)
        return proved_move(solution, self.thinker, position.cells, colour, swap=swap)

    def solve(self, colour: int, *, seconds: float, interrupted: Until) -> Solution:
        """The exact solution with `colour` to move, see `solved`.

        Proofs are kept for boards of one size.
        """
        if self._solver is None or self._solver.size != self.size:
            self._solver = ExactSolver(self.size)
        cells = self.position.cells
        return solved(self._solver, cells, colour, seconds=seconds, interrupted=interrupted)

    def undecided(self) -> Position:
        """The position; raises `UsageError` when the game is over."""
        if self.position.winner:
            raise UsageError("the game is over")
        return self.position

    def _prepare_early(self) -> None:
        """An error is reported by the first command that thinks, which prepares again."""
        loaded = self.loading.result()
        size = loaded.board if self.known_position is None else self.known_position.size
        loaded.thinker.prepare(
            size, swap=loaded.swap if self.allow_swap is None else self.allow_swap
        )


def serve(incoming: Incoming, write: Callable[[str], None], session: HtpSession) -> bool:
    """Answer commands by `write` until `quit`, or until the input ends; True after `quit`."""
    session.show = write
    for number, request in incoming:
        session.interrupted = partial(incoming.interrupted, number)
        session.followed = partial(incoming.followed, number)
        reply, fine = answer(session, request)
        write(reply)
        if fine and request.name == QUIT:
            return True
    return False


def answer(session: HtpSession, request: Request) -> tuple[str, bool]:
    """The answer to one command, and whether it succeeded; if not, the position is unchanged.

    Raises:
        BrokenPipeError: the other side has gone.
    """
    before = session.known_position
    try:
        command = _command(request)
        action = partial(command.action(), session, *request.arguments)
        text = session.in_thought(action) if command.thinks else action()
    except UsageError as error:
        return format_reply(request, str(error), success=False), False
    except BrokenPipeError:  # the reader of a live analysis has gone: no answer would arrive either
        raise
    except Exception as error:
        # A bug, or too little memory: the game continues from the same position.
        log.exception("%s failed", request.name)
        session.known_position = before
        return format_reply(
            request, f"internal error: {type(error).__name__}", success=False
        ), False
    return format_reply(request, text or "", success=True), True


def _command(request: Request) -> Command:
    """The requested command, if the number of arguments fits; else raises `UsageError`."""
    if not request.name:
        raise UsageError("a command is needed after its number")
    command = COMMANDS.get(request.name)
    if command is None:
        raise UsageError(f"unknown command {quoted(request.name)}")
    given = len(request.arguments)
    if not command.takes_number(given):
        raise UsageError(f"{request.name} takes {command.takes or 'no arguments'}: {given} given")
    return command
