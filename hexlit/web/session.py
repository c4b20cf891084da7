"""One browser at the server: its requests, and the answers to them."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hexlit import __version__
from hexlit.arena.first_stones import Until, never
from hexlit.errors import UsageError
from hexlit.hex.solver.bitboard import MAX_SIZE
from hexlit.web.config import WebSettings
from hexlit.web.messages import (
    GetPosition,
    Hello,
    Hurry,
    Read,
    Solve,
    Stop,
    Write,
    board_of,
    number_of,
    parse,
    state_of,
)
from hexlit.web.players import BrowserPlayers, FairLock, JobQueue, Roster
from hexlit.web.texts import game_of, text_of
from hexlit.web.thinking import Thinking, Verdicts

log = logging.getLogger(__name__)

Answer = dict[str, Any]


@dataclass(frozen=True)
class Shared:
    """The things that all browsers share."""

    settings: WebSettings
    roster: Roster
    board: int
    """Rows of the first board."""
    lock: FairLock
    verdicts: Verdicts
    opponent: str = ""
    """Who plays against a new visitor: a player on offer, or `MY_LEVEL`. Empty: the first one."""


class BrowserSession:
    """Answers one browser; it searches in a thread of its own, and solves in another.

    Args:
        shared: the part that it shares with others.
        send: takes an answer, from any thread; it must not wait.
    """

    def __init__(self, shared: Shared, send: Callable[[Answer], None]) -> None:
        self._shared = shared
        self._send = send
        self._players = BrowserPlayers(shared.roster, shared.settings.tree_megabytes << 20)
        self._thinking = Thinking(self._players, shared.lock, shared.verdicts, shared.settings)
        self._searches, self._solves = JobQueue("web-search"), JobQueue("web-solve")

    def take(self, text: str | bytes) -> None:
        """Answer a message, now or later; waits for no search."""
        try:
            request = parse(text)
        except UsageError as error:
            self._error(number_of(text), error)
            return
        match request:
            case Hello() | GetPosition() | Read() | Write():
                self._attempt(
                    request.id, lambda: self._send({"id": request.id} | self._now(request))
                )
            case Stop():
                if request.work != "solve":
                    self._searches.stop()
                if request.work != "search":
                    self._solves.stop()
                self._stopped(request.id)
            case Hurry():
                self._thinking.hurry()
                self._send({"id": request.id, "type": "hurried", "final": True})
            case Solve():
                self._solves.begin(
                    lambda stopped: self._solve(request, stopped), lambda: self._stopped(request.id)
                )
            case _:
                self._searches.begin(
                    lambda stopped: self._search(request, stopped),
                    lambda: self._stopped(request.id),
                )

    def close(self, timeout: float = 5.0) -> None:
        """End all running work, and release the players' resources."""
        self._searches.close(timeout)
        self._solves.close(timeout)
        self._players.close()

    def _now(self, request: Hello | GetPosition | Read | Write) -> Answer:
        match request:
            case Hello():
                return self._hello()
            case GetPosition():
                return {"type": "position", "final": True} | state_of(board_of(request.position))
            case Read():
                return game_of(request)
            case Write():
                return text_of(request, board_of(request.position))

    def _hello(self) -> Answer:
        offers = self._shared.roster.offers.values()
        players = [
            {
                "name": one.name,
                "title": one.title,
                "about": one.about,
                "largest_board": one.largest_board,
                "studies": one.judge is not None,
            }
            for one in offers
        ]
        settings = self._shared.settings
        return {
            "type": "hello",
            "version": __version__,
            "players": players,
            "board": self._shared.board,
            "simulations": settings.search.simulations,
            "opponent": self._shared.opponent or next(iter(self._shared.roster.offers)),
            "solver_board": MAX_SIZE,
            "final": True,
        }

    def _search(self, request: Any, stopped: Until) -> None:
        def answer() -> None:
            with self._shared.lock.held():
                final = False

                def send(result: Answer) -> None:
                    self._send({"id": request.id} | result)

                for result in () if stopped() else self._thinking.answers(request, stopped, send):
                    if stopped():
                        break
                    final = bool(result["final"])
                    send(result)
            if not final:
                self._stopped(request.id)

        self._attempt(request.id, answer, stopped)

    def _solve(self, request: Solve, stopped: Until) -> None:
        def answer() -> None:
            result = self._shared.verdicts.answer(board_of(request.position), stopped)
            self._send({"id": request.id} | result)

        self._attempt(request.id, answer, stopped)

    def _attempt(self, number: int, answer: Callable[[], None], stopped: Until = never) -> None:
        """Carry out `answer`; report errors of the request number `number`."""
        try:
            answer()
        except UsageError as error:
            if stopped():
                self._stopped(number)
            else:
                self._error(number, error)
        except MemoryError as error:
            self._error(number, UsageError(f"not enough memory: {error}"))
        except Exception as error:  # a bug: the page continues
            log.exception("request %d failed", number)
            self._error(number, UsageError(f"internal error: {type(error).__name__}"))

    def _stopped(self, number: int) -> None:
        self._send({"id": number, "type": "stopped", "final": True})

    def _error(self, number: int | None, error: UsageError) -> None:
        self._send({"id": number, "type": "error", "text": str(error), "final": True})
