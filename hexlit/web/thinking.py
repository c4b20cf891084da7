"""Questions to players: a move, a study that grows, an opinion, a map of openings, a review of a game.

Each function is called by the holder of the baton, and passes it on between two evaluations.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hexlit.arena.exact import proved_move
from hexlit.arena.game_player import RESIGN, Forfeit
from hexlit.arena.position import Position
from hexlit.arena.thinker import Thinker
from hexlit.errors import UsageError
from hexlit.hex.board import Board
from hexlit.hex.geometry import WHITE
from hexlit.hex.notation import format_cell
from hexlit.web.baton import Baton, passing
from hexlit.web.config import WebSettings
from hexlit.web.positions import board_of, check_undecided, state_of
from hexlit.web.requests import Look, Move, Openings, PositionText, Review, Study
from hexlit.web.roster import Seats, before
from hexlit.web.verdict import Verdicts

Answer = dict[str, Any]

MOST_SHOWN = 40
"""Candidates in a report of a study."""
_LOOK = 0.05
"""Seconds between two looks at whether a foreign player is still wanted."""
MOST_EXPECTED = 16
"""Moves of the line of a candidate."""


class Thinking:
    """Answers the requests of one browser that search."""

    def __init__(self, seats: Seats, baton: Baton, verdicts: Verdicts, settings: WebSettings) -> None:
        """`seats` are those of the browser; all browsers have one `baton`, and one solver for `verdicts`."""
        self._seats = seats
        self._baton = baton
        self._settings = settings
        self._verdicts = verdicts

    def answers(
        self, request: Move | Study | Look | Openings | Review, stopped: Callable[[], bool]
    ) -> Iterator[Answer]:
        """The answers to `request`, see `hexlit.web.requests`; ends early where `stopped` says so.

        Raises:
            UsageError: the request cannot be carried out.
        """
        board = board_of(request.position)
        until = passing(self._baton, stopped)
        match request:
            case Move():
                yield self._move(request, board, until, stopped)
            case Study():
                yield from self._study(request, board, until)
            case Look():
                yield self._look(request.player, board)
            case Openings():
                yield self._openings(request.player, board, until)
            case Review():
                yield from self._review(request, board, until)

    def _thinker(self, name: str, board: Board) -> Thinker:
        """The player `name`, who searches; one that never learned to swap thinks about moves without it."""
        return self._seats.thinker(name, board.size, swap=board.swap and self._seats.knows_swap(name, board.size))

    def _move(self, request: Move, board: Board, until: Callable[[], bool], stopped: Callable[[], bool]) -> Answer:
        check_undecided(board)
        if not self._seats.searches(request.player):
            return self._move_of_player(request, board, stopped)
        thinker = self._thinker(request.player, board)
        seconds = min(request.seconds or self._settings.seconds, self._settings.seconds)
        enough = before(time.monotonic() + seconds, until)
        if opens_fairly(thinker, board):
            values = self._opening_values(thinker, board.size, enough)
            cell = fairest(values)
            return played(request, board, cell) | {"value": -abs(values[cell]), "found": None}
        simulations = request.simulations or self._settings.simulations
        position = seen(board)
        if self._settings.solver:
            with self._baton.aside():
                solution = self._verdicts.proof(board, min(seconds, self._settings.proof_seconds), stopped)
            proved = proved_move(solution, thinker, position, board.to_move, swap=board.may_swap)
            if proved is not None:
                return played(request, board, proved.action) | {"value": proved.value, "found": None}
        thought = thinker.study(position, board.to_move, simulations=simulations, until=enough)
        move = thought.action
        value = thought.value
        if board.may_swap and not thinker.swap and value < 0:  # swap-pieces turns the value's sign
            move, value = board.size**2, -value
        return played(request, board, move) | {"value": value, "found": _found(thinker, board.size)}

    def _move_of_player(self, request: Move, board: Board, stopped: Callable[[], bool]) -> Answer:
        try:
            with self._alone(request.player, stopped):
                player = self._seats.player(request.player, board.size, swap=board.swap)
                move = player.answer(board.moves)
        except Forfeit as forfeit:
            self._seats.dismiss(request.player)
            raise UsageError(f"{request.player} gives no move: {forfeit}") from forfeit
        return played(request, board, move) | {"value": None, "found": None}

    @contextmanager
    def _alone(self, name: str, stopped: Callable[[], bool]) -> Iterator[None]:
        """A foreign player thinks without the baton, and ends when `stopped` says so; any other keeps the baton."""
        if not self._seats.is_foreign(name):
            yield
            return
        done = threading.Event()

        def watch() -> None:
            while not done.wait(_LOOK):
                if stopped():
                    self._seats.abort(name)

        watcher = threading.Thread(target=watch, name="web-foreign", daemon=True)
        watcher.start()
        try:
            with self._baton.aside():
                yield
        finally:
            done.set()
            watcher.join()

    def _study(self, request: Study, board: Board, until: Callable[[], bool]) -> Iterator[Answer]:
        check_undecided(board)
        thinker = self._thinker(request.player, board)
        most = min(request.simulations or self._settings.live_simulations, self._settings.live_simulations)
        thought = thinker.study(seen(board), board.to_move, simulations=1, until=until)
        while not until():
            deadline = time.monotonic() + self._settings.interval
            left = most - sum(candidate.visits for candidate in thinker.candidates())
            if left > 0 and not thinker.full:
                thought = thinker.study_more(left, until=before(deadline, until))
            left = most - sum(candidate.visits for candidate in thinker.candidates())
            final = left <= 0 or thinker.full
            found = _found(thinker, board.size)
            yield {"type": "study", "value": thought.value, "full": thinker.full, "final": final} | found
            if final:
                return

    def _look(self, name: str, board: Board) -> Answer:
        check_undecided(board)
        thinker = self._thinker(name, board)
        policy, value = thinker.look(seen(board), board.to_move)
        shares = {
            format_cell(action, board.size): float(policy[action])
            for action in board.legal_moves()
            if action < len(policy)
        }
        return {"type": "look", "value": value, "policy": shares, "final": True}

    def _openings(self, name: str, board: Board, until: Callable[[], bool]) -> Answer:
        values = self._opening_values(self._thinker(name, Board(board.size)), board.size, until)
        named = {format_cell(cell, board.size): value for cell, value in values.items()}
        return {"type": "openings", "values": named, "final": True}

    def _opening_values(self, thinker: Thinker, size: int, until: Callable[[], bool]) -> dict[int, float]:
        """Cell -> the value for Black of a first stone there, without search; at least of one cell."""
        values: dict[int, float] = {}
        for cell in range(size * size):
            _, value = thinker.look(seen(Board(size, moves=[cell])), WHITE)
            values[cell] = -value
            if until():
                break
        return values

    def _review(self, request: Review, board: Board, until: Callable[[], bool]) -> Iterator[Answer]:
        """Every position of the game: its value for Black, the best move, and the cost of the move that was played.

        A cost is the winning chance that the mover gave away, 0 to 1: what the best move was worth, less what the
        next position was worth. An adviser that does not know the swap judges the first stone by its map of openings:
        the nearer to even, the better.
        """
        moves, simulations = board.moves, request.simulations or self._settings.simulations
        swaps = board.swap
        thinker = self._thinker(request.player, board)
        earlier: Answer | None = None
        first: dict[int, float] = {}
        for ply in range(len(moves) + 1):
            now = Board(board.size, swap=swaps, moves=moves[:ply])
            if opens_fairly(thinker, now):
                first = self._opening_values(thinker, now.size, until)
                best = fairest(first)
                answer: Answer = {"value": -abs(first[best]), "best": format_cell(best, now.size), "expected": []}
            else:
                answer = self._judged(thinker, now, simulations, until)
            if until():
                return
            if earlier is not None:
                after = -abs(first[moves[0]]) if ply == 1 and first else answer["value"]
                lost = (earlier["value"] - after) / 2 * (1 if ply % 2 else -1)
                yield earlier | {"cost": max(0.0, lost), "final": False}
            earlier = {"type": "review", "ply": ply, "plies": len(moves)} | answer
        assert earlier is not None
        yield earlier | {"cost": 0.0, "final": True}

    def _judged(self, thinker: Thinker, board: Board, simulations: int, until: Callable[[], bool]) -> Answer:
        """The value for Black, the best move and the line expected after it."""
        if board.winner:
            return {"value": float(board.winner), "best": "", "expected": []}
        thought = thinker.study(seen(board), board.to_move, simulations=simulations, until=until)
        value, best = thought.value, thought.action
        if board.may_swap and not thinker.swap and value < 0:
            value, best = -value, board.size**2
        line = [format_cell(action, board.size) for action in thinker.variation()] if best == thought.action else []
        return {"value": value * board.to_move, "best": format_cell(best, board.size), "expected": line}


def opens_fairly(thinker: Thinker, board: Board) -> bool:
    """Whether the first stone may be swapped, and `thinker` does not know of that."""
    return board.swap and not board.moves and not thinker.swap


def fairest(values: Mapping[int, float]) -> int:
    """The first stone that is the nearest to even, of Black's `values` by cell."""
    return min(values, key=lambda cell: abs(values[cell]))


def seen(board: Board) -> Position:
    """The position of `board`, without its history."""
    return Position(board.size, board.cells, board.to_move, board.winner)


def played(request: Move, board: Board, move: int) -> Answer:
    """The answer that names `move`, with the state after it."""
    if move == RESIGN:
        return {"type": "move", "move": "resign", "position": state_of(board), "final": True}
    after = board_of(PositionText(size=board.size, swap=board.swap, moves=request.position.moves))
    after.play(move)
    return {"type": "move", "move": format_cell(move, board.size), "position": state_of(after), "final": True}


def _found(thinker: Thinker, size: int) -> Answer:
    """The findings of the tree for the position: visits, candidates, and the line that is expected."""
    candidates = thinker.candidates()
    return {
        "visits": sum(candidate.visits for candidate in candidates),
        "candidates": [
            {
                "move": format_cell(candidate.action, size),
                "visits": candidate.visits,
                "value": candidate.value,
                "prior": candidate.prior,
                "line": [format_cell(action, size) for action in thinker.variation(candidate.action)[:MOST_EXPECTED]],
            }
            for candidate in candidates[:MOST_SHOWN]
        ],
        "expected": [format_cell(action, size) for action in thinker.variation()],
    }
