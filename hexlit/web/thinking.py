"""Questions to players: a move, a study that grows, an opinion, a map of openings, a review of a
game.

Each function is called by the holder of the lock, and passes it on between two evaluations.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from hexlit.arena.first_stones import Until
from hexlit.arena.players import RESIGN, Forfeit
from hexlit.arena.thinker import (
    Thinker,
    proved_move,
    review,
    solved,
    stop_at,
    watching,
)
from hexlit.arena.wins import virtual_solution
from hexlit.errors import UsageError
from hexlit.hex.board import GameBoard
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import SWAP, format_cell
from hexlit.hex.solver import ExactSolver, Solution
from hexlit.hex.solver.bitboard import MAX_SIZE
from hexlit.hex.solver.lines import BOTTOM, TOP, Outlook, outlooks
from hexlit.web import messages
from hexlit.web.config import WebSettings
from hexlit.web.messages import COLOURS, board_of, check_undecided, state_of
from hexlit.web.pages import review_entry
from hexlit.web.players import BrowserPlayers, FairLock, passing

Answer = dict[str, Any]

MOST_SHOWN = 40
"""Candidates in a report of a study."""
MOST_EXPECTED = 16
"""Moves of the line of a candidate."""


class Thinking:
    """Answers the requests of one browser that search."""

    def __init__(
        self, players: BrowserPlayers, lock: FairLock, verdicts: "Verdicts", settings: WebSettings
    ) -> None:
        """`players` are those of the browser; all browsers have one `lock`, and one solver for
        `verdicts`.
        """
        self._players = players
        self._lock = lock
        self._settings = settings
        self._verdicts = verdicts
        self._hurried = threading.Event()

    def hurry(self) -> None:
        """Let the player that searches for a move play its best one so far."""
        self._hurried.set()

    def answers(
        self,
        request: messages.Thinking,
        stopped: Until,
        tell: Callable[[Answer], object] = lambda report: None,
    ) -> Iterator[Answer]:
        """The answers to `request`, see `hexlit.web.messages`; ends early where `stopped` says so.

        `tell` hears of the visits of a search for a move, from time to time.

        Raises:
            UsageError: the request cannot be carried out.
        """
        board = board_of(request.position)
        until = passing(self._lock, stopped)
        match request.do:
            case "ready":
                yield self._ready(request.player, board)
            case "look":
                yield self._look(request.player, board)
            case "openings":
                yield from self._openings(request.player, board, until)
        if isinstance(request, messages.Move):
            yield self._move(request, board, until, stopped, tell)
        elif isinstance(request, messages.Series):
            yield from (self._study if request.do == "study" else self._review)(
                request, board, until
            )

    def _thinker(self, name: str, board: GameBoard) -> Thinker:
        """The player `name`, who searches."""
        return self._players.thinker(name, board.size, swap=board.swap)

    def _ready(self, name: str, board: GameBoard) -> Answer:
        """Have the player `name` loaded and compiled; one without a search needs nothing."""
        if self._players.offer(name).judge is not None:
            self._thinker(name, board)
        return {"type": "ready", "final": True}

    def _move(
        self,
        request: messages.Move,
        board: GameBoard,
        until: Until,
        stopped: Until,
        tell: Callable[[Answer], object],
    ) -> Answer:
        check_undecided(board)
        if self._players.offer(request.player).judge is None:
            return self._move_of_player(request, board, stopped)
        thinker = self._thinker(request.player, board)
        seconds = min(request.seconds or self._settings.seconds, self._settings.seconds)
        self._hurried.clear()
        enough = stop_at(time.monotonic() + seconds, lambda: until() or self._hurried.is_set())
        settled = thinker.settled(board.cells, board.to_move, enough)
        if settled is not None:
            return played(board, settled.action) | {"value": settled.value, "found": None}
        simulations = request.simulations or self._settings.search.simulations
        if self._settings.solver:
            with self._lock.aside():
                solution = self._verdicts.proof(
                    board, min(seconds, self._settings.proof_seconds), stopped
                )
            proved = proved_move(solution, thinker, board.cells, board.to_move, swap=board.may_swap)
            if proved is not None:
                return played(board, proved.action) | {"value": proved.value, "found": None}
        told = time.monotonic()

        def looked() -> bool:
            nonlocal told
            if time.monotonic() - told > self._settings.interval:
                told = time.monotonic()
                visits = thinker.search.visits
                tell({"type": "thinking", "visits": visits, "final": False})
            return enough()

        thought = thinker.study(board.cells, board.to_move, simulations=simulations, until=looked)
        found = _found(thinker, board.size)
        gives_up = (1 + thought.value) / 2 < self._settings.resign
        action = RESIGN if gives_up else thought.action
        return played(board, action) | {"value": thought.value, "found": found}

    def _move_of_player(self, request: messages.Move, board: GameBoard, stopped: Until) -> Answer:
        try:
            with self._alone(request.player, stopped):
                player = self._players.player(request.player, board.size, swap=board.swap)
                (move,) = player.answer([board])
        except Forfeit as forfeit:
            self._players.discard(request.player)
            raise UsageError(f"{request.player} gives no move: {forfeit}") from forfeit
        return played(board, move) | {"value": None, "found": None}

    @contextmanager
    def _alone(self, name: str, stopped: Until) -> Iterator[None]:
        """A player that runs next to others gives the lock back; a foreign one also ends when
        `stopped` says so.
        """
        offer = self._players.offer(name)
        if not offer.in_parallel:
            yield
            return
        if not offer.foreign:
            with self._lock.aside():
                yield
            return
        with watching(stopped, lambda: self._players.abort(name)), self._lock.aside():
            yield

    def _study(self, request: messages.Series, board: GameBoard, until: Until) -> Iterator[Answer]:
        """The reports of a search that grows. A player that never learned to swap gets the rule
        from outside.
        """
        check_undecided(board)
        thinker = self._thinker(request.player, board)
        if not board.moves and thinker.settled(board.cells, board.to_move, until) is not None:
            if not until():
                yield _fair_openings(thinker, board.size)
            return
        most = min(
            request.simulations or self._settings.live_simulations, self._settings.live_simulations
        )
        thought = thinker.study(board.cells, board.to_move, simulations=1, until=until)
        while not until():
            deadline = time.monotonic() + self._settings.interval
            left = most - sum(candidate.visits for candidate in thinker.search.candidates())
            if left > 0 and not thinker.search.full:
                thought = thinker.study_more(left, until=stop_at(deadline, until))
            left = most - sum(candidate.visits for candidate in thinker.search.candidates())
            final = left <= 0 or thinker.search.full
            report = {"value": thought.value} | _found(thinker, board.size)
            if board.may_swap and not thinker.searches_swap:
                worth = thinker.first_stones.value(board.size, board.moves[0], until)
                report = _with_swap(report, worth)
            yield {"type": "study", "full": thinker.search.full, "final": final} | report
            if final:
                return

    def _look(self, name: str, board: GameBoard) -> Answer:
        check_undecided(board)
        thinker = self._thinker(name, board)
        policy, value = thinker.look(board.cells, board.to_move)
        shares = {
            format_cell(action, board.size): float(policy[action])
            for action in board.legal_moves()
            if action < len(policy)
        }
        return {"type": "look", "value": value, "policy": shares, "final": True}

    def _openings(self, name: str, board: GameBoard, until: Until) -> Iterator[Answer]:
        """The values of all first stones; those that have to be searched come one after another."""
        thinker = self._thinker(name, GameBoard(board.size))
        for values in thinker.first_stones.all_values(board.size):
            final = len(values) == board.size**2
            named = {format_cell(cell, board.size): value for cell, value in values.items()}
            yield {"type": "openings", "values": named, "final": final}
            if final or until():
                return

    def _review(self, request: messages.Series, board: GameBoard, until: Until) -> Iterator[Answer]:
        """Every position of the game, see `hexlit.arena.thinker`."""
        thinker = self._thinker(request.player, board)
        simulations = request.simulations or self._settings.search.simulations
        plies = len(board.moves)
        for result in review(thinker, board, simulations, until):
            yield {"type": "review", "plies": plies, "final": result.ply == plies} | review_entry(
                result, board.size
            )


def _fair_openings(thinker: Thinker, size: int) -> Answer:
    """The study of the empty board under the swap rule: the fairer a first stone, the better, as it
    may be swapped.
    """
    values = thinker.first_stones.found(size)
    policy, _ = thinker.look(GameBoard(size).cells, BLACK)
    fair = sorted(values, key=lambda cell: (abs(values[cell]), cell))
    candidates = [
        candidate_entry(cell, 0, -abs(values[cell]), float(policy[cell]), [cell], size)
        for cell in fair[:MOST_SHOWN]
    ]
    best = candidates[0]
    result = {"value": best["value"], "visits": 0, "candidates": candidates}
    return {"type": "study", "full": False, "final": True} | result | {"expected": best["line"]}


def _with_swap(report: Answer, worth: float) -> Answer:
    """The report with the swap among the candidates, at its searched `worth` for the mover; it is
    the best where the first stone wins.
    """
    swap = {"move": SWAP, "visits": 0, "value": worth, "prior": 0.0, "line": [SWAP]}
    candidates = report["candidates"]
    if worth <= 0:
        return report | {"candidates": [*candidates, swap]}
    return report | {"value": worth, "candidates": [swap, *candidates], "expected": [SWAP]}


def played(board: GameBoard, move: int) -> Answer:
    """The answer that names `move`, with the state after it."""
    if move == RESIGN:
        return {"type": "move", "move": "resign", "position": state_of(board), "final": True}
    after = GameBoard(board.size, swap=board.swap, moves=[*board.moves, move])
    return {
        "type": "move",
        "move": format_cell(move, board.size),
        "position": state_of(after),
        "final": True,
    }


def _found(thinker: Thinker, size: int) -> Answer:
    """The findings of the tree for the position: visits, candidates, and the line that is
    expected.
    """
    search = thinker.search
    candidates = search.candidates()
    return {
        "visits": sum(candidate.visits for candidate in candidates),
        "candidates": [
            candidate_entry(
                one.action,
                one.visits,
                one.value,
                one.prior,
                search.principal_variation(one.action),
                size,
            )
            for one in candidates[:MOST_SHOWN]
        ],
        "expected": [format_cell(action, size) for action in search.principal_variation()],
    }


def candidate_entry(
    action: int, visits: int, value: float, prior: float, line: Sequence[int], size: int
) -> dict[str, Any]:
    """A candidate as the page takes it, with the beginning of its `line`."""
    names = [format_cell(move, size) for move in line[:MOST_EXPECTED]]
    return {
        "move": format_cell(action, size),
        "visits": visits,
        "value": value,
        "prior": prior,
        "line": names,
    }


_EDGES = {BLACK: {TOP: "top", BOTTOM: "bottom"}, WHITE: {TOP: "left", BOTTOM: "right"}}
_LOOK = 0.05
"""Seconds between two looks at whether to wait longer for the solver."""


class Verdicts:
    """One solver for all browsers, of the size that was asked for last; it solves one position
    after another.
    """

    def __init__(self, seconds: float) -> None:
        """Each answer may take `seconds`."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._solver: ExactSolver | None = None

    def answer(self, board: GameBoard, stopped: Until) -> dict[str, Any]:
        """The answer to `solve`, see `hexlit.web.messages`.

        Raises:
            UsageError: it is too hard for the time, or the board too large.
        """
        check_undecided(board)
        if board.size > MAX_SIZE:
            raise UsageError(f"positions are solved on boards of up to {MAX_SIZE} rows")
        if board.may_swap:
            board = GameBoard(
                board.size, moves=board.moves
            )  # the verdict is on the stones; the page shows the swap
        seen = outlooks(board.cells, board.size)
        result = self.solve(board, self._seconds, stopped)

        def names(cells: tuple[int, ...]) -> list[str]:
            return [format_cell(cell, board.size) for cell in cells]

        return {
            "type": "solve",
            "winner": COLOURS[result.winner],
            "winning": names(result.winning_moves),
            "must_play": names(seen[-board.to_move].must_play),
            "links": {
                COLOURS[colour]: link_of(seen[colour], colour, board.size)
                for colour in (BLACK, WHITE)
            },
            "nodes": result.nodes,
            "seconds": result.seconds,
            "final": True,
        }

    def solve(self, board: GameBoard, seconds: float, stopped: Until) -> Solution:
        """The solution for the player to move, within `seconds` from when the solver is free and
        compiled.

        Raises:
            UsageError: it is too hard for the time, or `stopped` says so.
        """
        with self._held(stopped):
            if self._solver is None:
                ExactSolver(2).solve(
                    np.zeros(4, np.int8), BLACK
                )  # compiles, which is no part of the time to solve
            if self._solver is None or self._solver.size != board.size:
                self._solver = ExactSolver(board.size)
            return solved(
                self._solver, board.cells, board.to_move, seconds=seconds, interrupted=stopped
            )

    def proof(self, board: GameBoard, seconds: float, stopped: Until) -> Solution | None:
        """As `solve`; None where it takes longer, waiting included. Larger boards: see
        `virtual_solution`.

        With the swap rule there is none for the empty board: a winning stone would be swapped.
        """
        if board.swap and not board.moves:
            return None
        if board.size > MAX_SIZE:
            return virtual_solution(board.cells, board.to_move)
        try:
            return self.solve(board, seconds, stop_at(time.monotonic() + seconds, stopped))
        except UsageError:
            return None

    @contextmanager
    def _held(self, stopped: Until) -> Iterator[None]:
        while not self._lock.acquire(timeout=_LOOK):
            if stopped():
                raise UsageError("interrupted")
        try:
            yield
        finally:
            self._lock.release()


def link_of(seen: Outlook, colour: int, size: int) -> dict[str, Any]:
    """The best virtual connection of a side as the page takes it."""

    def name(place: int) -> str:
        return _EDGES[colour][place] if place < 0 else format_cell(place, size)

    return {
        "strength": seen.strength,
        "carrier": [name(cell) for cell in seen.carrier],
        "key": "" if seen.key is None else name(seen.key),
        "lines": [[name(line.start), name(line.end), line.kind] for line in seen.lines],
    }
