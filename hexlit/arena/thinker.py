"""One game, move by move: the choice of moves, exact answers of the solver, and reviews of a whole
game.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from typing import NamedTuple

import numpy as np

from hexlit.arena.first_stones import FirstStones, MakeEvaluator, Until, never
from hexlit.arena.position import may_swap
from hexlit.errors import UsageError
from hexlit.hex.arrays import FloatArray, Int8Array
from hexlit.hex.board import GameBoard
from hexlit.hex.distance import potential_after
from hexlit.hex.encoding import blank_planes, encode
from hexlit.hex.frame import frame_map
from hexlit.hex.geometry import BLACK
from hexlit.hex.solver import ExactSolver, Solution, UnsolvedError
from hexlit.hex.solver.bitboard import MAX_SIZE
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator
from hexlit.search.live import MOST_BYTES, LiveSearch

Cells = Int8Array
"""Stones of a board, `[size*size]`: +1 black, -1 white, 0 empty."""

WARM_UP = 4
"""Simulations on the empty board that prepare everything: kernels are compiled, operators
chosen.
"""

_LOOK = 0.02
"""Seconds between two looks at the clock and at new input."""


class Thought(NamedTuple):
    """Result of a search."""

    action: int
    """Cell, or `size*size` for swap-pieces."""
    value: float
    """Its value for the player to move, in [-1, 1]."""


@dataclass
class Thinker:
    """Searches the positions of a game with one evaluator; the tree is kept from move to move.

    Attributes:
        size: rows of the board, 0 before `prepare`.
        swap: whether White may swap.
        first_stones: by which it opens and swaps, if the evaluator does not know the swap.
        searches_swap: whether the evaluator knows the swap, so that the search decides on it.
        search: the search and its tree, after `prepare`.
    """

    config: SearchConfig
    """The search, and its simulations for a move."""
    make_evaluator: MakeEvaluator
    _: KW_ONLY
    knows_swap: Callable[[int], bool] = lambda size: False
    """Rows of a board -> whether the evaluator's policies have the swap action, as those of a
    network trained with the swap rule.
    """
    shared_stones: FirstStones | None = None
    """The `first_stones` that it shares with others. None: its own."""
    reuse: bool = True
    """Whether a search continues with the tree of the one before; else every move starts with an
    empty tree.
    """
    tree_bytes: int = MOST_BYTES
    """Memory that the tree may take."""

    def __post_init__(self) -> None:
        self.size = 0
        self.swap = False
        self.searches_swap = False
        self.search: LiveSearch
        self._evaluator: Evaluator
        own_stones = FirstStones(self.make_evaluator, knows_swap=self.knows_swap)
        self.first_stones = self.shared_stones or own_stones

    def prepare(self, size: int, *, swap: bool) -> None:
        """Prepare for a new game on a board of `size` rows, so that no move waits for
        compilation.
        """
        if size != self.size:
            has_swap = self.knows_swap(size)
            evaluator = self.make_evaluator(size, has_swap, self.config.leaves)
            search = LiveSearch(
                self.config, evaluator, size=size, swap=has_swap, most_bytes=self.tree_bytes
            )
            search.run(WARM_UP)
            self.search = search
            self.searches_swap = has_swap
            self._evaluator = evaluator
            self.size = size
        self.search.forget()
        self.swap = swap

    def settled(self, cells: Cells, colour: int, until: Until = never) -> Thought | None:
        """The first stone, or swap-pieces as its answer, where the swap rule asks for it and the
        evaluator does not know the rule; None: search.
        """
        if not self.swap or self.searches_swap:
            return None
        answer = self.first_stones.answer(cells, colour, until)
        return None if answer is None else Thought(*answer)

    def choose(
        self, cells: Cells, colour: int, *, simulations: int, until: Until | None = None
    ) -> Thought:
        """The move of `colour` in the undecided position `cells` int8 `[size*size]`; `until` True
        ends it early.
        """
        settled = self.settled(cells, colour, until or never)
        if settled is not None:
            return settled
        if not self.reuse:
            self.search.forget()
        return self.study(cells, colour, simulations=simulations, until=until)

    def study(
        self, cells: Cells, colour: int, *, simulations: int, until: Until | None = None
    ) -> Thought:
        """As `choose`, but always with the present tree, which `search` then describes."""
        # Two plies more where no swap is to be searched.
        plies = plies_before(cells, colour) + (0 if self.swap and self.searches_swap else 2)
        self.search.position(cells, colour, plies)
        return self.study_more(simulations, until=until)

    def study_more(self, simulations: int, *, until: Until | None = None) -> Thought:
        """Search the last position by `simulations` more."""
        result = self.search.run(simulations, until=until)
        return Thought(int(result.action[0]), float(result.value[0]))

    def look(self, cells: Cells, colour: int) -> tuple[FloatArray, float]:
        """The evaluator's answer without search: policy `[A]` over the board's actions, value for
        `colour`.
        """
        rows = self.search.rows
        actions = self.size**2 + self.searches_swap
        colours = np.array([colour], np.int8)
        swaps = self.swap and self.searches_swap and may_swap(cells, colour)
        planes = blank_planes(rows, self.size)
        planes[:] = encode(cells[None], colours, np.array([swaps]))
        policy = np.zeros((rows, actions), np.float32)
        value = np.zeros(rows, np.float32)
        self._evaluator.evaluate(planes, policy, value)
        return frame_map(policy[0], colour, self.size), float(value[0])


def plies_before(cells: Cells, colour: int) -> int:
    """Moves played before the position `cells`, as counted by the search: White may swap only at
    ply 1.

    They are read from the stones, which may have been placed in any order: a swap gives White one
    stone more.
    """
    lead = int(cells.sum())
    plies = int(np.count_nonzero(cells)) + (lead < (0 if colour == BLACK else 1))
    regular = (plies == 0 and colour == BLACK) or may_swap(cells, colour)
    return plies if regular else max(2, plies)


def stop_at(deadline: float, stopped: Until) -> Until:
    """Whether to stop: `stopped` does, or `deadline` (of `time.monotonic`) has come."""
    return lambda: stopped() or time.monotonic() >= deadline


def solved(
    solver: ExactSolver,
    cells: Cells,
    colour: int,
    *,
    seconds: float,
    interrupted: Until,
) -> Solution:
    """Solve a position of `colour` to move, see `ExactSolver.solve`, within `seconds`.

    Raises:
        UsageError: the time is over, or `interrupted` was true.
    """
    try:
        with watching(stop_at(time.monotonic() + seconds, interrupted), solver.stop):
            return solver.solve(cells, colour)
    except UnsolvedError as error:
        if interrupted():
            raise UsageError("interrupted") from error
        raise UsageError(f"not solved within solver_seconds={seconds:g}") from error


@contextmanager
def watching(stopped: Until, end: Callable[[], object]) -> Iterator[None]:
    """Call `end` from another thread once `stopped` is true, again and again."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_LOOK):
            if stopped():
                end()

    watcher = threading.Thread(target=watch, name="watching", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def proved_move(
    solution: Solution | None, thinker: Thinker, cells: Cells, colour: int, *, swap: bool
) -> Thought | None:
    """A winning move of `colour`, of the shortest ones the likeliest; `swap` says whether it may
    swap.

    None if the position is lost or not solved: search then.
    """
    if solution is None:
        return None
    if solution.winner != colour:
        return Thought(len(cells), 1.0) if swap else None
    policy, _ = thinker.look(cells, colour)

    def order(cell: int) -> tuple[int, float]:
        return potential_after(cells, cell, colour, colour), -float(policy[cell])

    return Thought(min(solution.winning_moves, key=order), 1.0)


@dataclass(frozen=True)
class PlyReview:
    """Review of one position of a game."""

    ply: int
    """Moves before the position."""
    value: float
    """For Black, in [-1, 1]."""
    best: int | None
    """The best move (cell, or `size*size` for the swap), None where the game is over or every move
    loses.
    """
    expected: tuple[int, ...] = ()
    """The line that is expected, beginning with `best`."""
    cost: float = 0.0
    """Winning chance that the move played next gives away, 0 to 1."""


def review(
    thinker: Thinker, board: GameBoard, simulations: int, until: Until
) -> Iterator[PlyReview]:
    """Every position of the game on `board`, in order; ends early where `until` is true.

    A cost is what the best move was worth, less what the next position was worth. Where the first
    stone may be swapped, the nearer to even it is, the better.
    """
    earlier: PlyReview | None = None
    for ply in range(len(board.moves) + 1):
        now = GameBoard(board.size, swap=board.swap, moves=board.moves[:ply])
        current = _searched(thinker, now, ply, simulations, until)
        if until():
            return
        if earlier is not None:
            after = current.value
            if ply == 1 and board.swap and not thinker.searches_swap:
                after = -abs(thinker.first_stones.value(board.size, board.moves[0], until))
            yield _costing(earlier, after)
        earlier = current
    assert earlier is not None
    yield earlier


def _costing(current: PlyReview, after: float) -> PlyReview:
    """With the cost of the move that leads to the value `after`."""
    return replace(
        current, cost=max(0.0, (current.value - after) / 2 * (-1 if current.ply % 2 else 1))
    )


def _searched(
    thinker: Thinker, board: GameBoard, ply: int, simulations: int, until: Until
) -> PlyReview:
    if board.winner:
        return PlyReview(ply, float(board.winner), None)
    settled = thinker.settled(board.cells, board.to_move, until)
    if settled is not None:
        return PlyReview(ply, settled.value * board.to_move, settled.action, (settled.action,))
    thought = thinker.study(board.cells, board.to_move, simulations=simulations, until=until)
    line = tuple(thinker.search.principal_variation())
    return PlyReview(ply, thought.value * board.to_move, thought.action, line)


def exact_review(board: GameBoard, seconds: float, until: Until = never) -> list[PlyReview]:
    """The exact judgement of each position that the solver decides within `seconds`; the others are
    left out.

    A cost is 1 where a win was given away. It is 0 where the next position is not known. Positions
    are solved from the end, as proofs of later ones help with those before.

    Raises:
        UsageError: the board is too large for the solver.
    """
    if board.size > MAX_SIZE:
        raise UsageError(
            f"positions are solved on boards of up to {MAX_SIZE} rows; this one has {board.size}"
        )
    solver = ExactSolver(board.size)
    reviews: list[PlyReview] = []
    for ply in reversed(range(len(board.moves) + 1)):
        now = GameBoard(board.size, swap=board.swap, moves=board.moves[:ply])
        current = _solved(solver, now, ply, seconds, until)
        if current is None:
            continue
        if reviews and reviews[-1].ply == ply + 1 and now.to_move:
            current = _costing(current, reviews[-1].value)
        reviews.append(current)
    return reviews[::-1]


def _solved(
    solver: ExactSolver, board: GameBoard, ply: int, seconds: float, until: Until
) -> PlyReview | None:
    if board.winner:
        return PlyReview(ply, float(board.winner), None)
    if board.swap and not board.moves:
        return (
            None  # a winning stone would be swapped: its worth is no question of the stones alone
        )
    try:
        solution = solved(solver, board.cells, board.to_move, seconds=seconds, interrupted=until)
    except UsageError:
        return None
    if board.may_swap and solution.winner != board.to_move:
        return PlyReview(ply, float(board.to_move), board.size**2)
    best = solution.winning_moves[0] if solution.winning_moves else None
    if (
        solution.winner == board.to_move
        and ply < len(board.moves)
        and board.moves[ply] in solution.winning_moves
    ):
        best = board.moves[ply]
    return PlyReview(ply, float(solution.winner), best)
