"""A game judged position by position: by a player who searches, or by the exact solver."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from hexlit.arena.exact import solved
from hexlit.arena.thinker import Thinker
from hexlit.errors import UsageError
from hexlit.hex.board import Board
from hexlit.hex.geometry import WHITE
from hexlit.hex.solver import Solver
from hexlit.hex.solver.bitboard import MAX_SIZE


@dataclass(frozen=True)
class Judgement:
    """Review of one position of a game."""

    ply: int
    """Moves before the position."""
    value: float
    """For Black, in [-1, 1]."""
    best: int | None
    """The best move (cell, or `size*size` for the swap), None where the game is over or every move loses."""
    expected: tuple[int, ...] = ()
    """The line that is expected, beginning with `best`."""
    cost: float = 0.0
    """Winning chance that the move played next gives away, 0 to 1."""


def review(thinker: Thinker, board: Board, simulations: int, until: Callable[[], bool]) -> Iterator[Judgement]:
    """Every position of the game on `board`, in order; ends early where `until` says so.

    A cost is what the best move was worth, less what the next position was worth. An adviser that does not know the
    swap judges the first stone by its map of openings: the nearer to even, the better.
    """
    earlier: Judgement | None = None
    first: dict[int, float] = {}
    for ply in range(len(board.moves) + 1):
        now = Board(board.size, swap=board.swap, moves=board.moves[:ply])
        if opens_fairly(thinker, now):
            first = opening_values(thinker, now.size, until)
            best = fairest(first)
            found = Judgement(ply, -abs(first[best]), best)
        else:
            found = _searched(thinker, now, ply, simulations, until)
        if until():
            return
        if earlier is not None:
            after = -abs(first[board.moves[0]]) if ply == 1 and first else found.value
            lost = (earlier.value - after) / 2 * (1 if ply % 2 else -1)
            yield replace(earlier, cost=max(0.0, lost))
        earlier = found
    assert earlier is not None
    yield earlier


def _searched(thinker: Thinker, board: Board, ply: int, simulations: int, until: Callable[[], bool]) -> Judgement:
    if board.winner:
        return Judgement(ply, float(board.winner), None)
    thought = thinker.study(board.cells, board.to_move, simulations=simulations, until=until)
    value, best = thought.value, thought.action
    line = tuple(thinker.variation())
    if board.may_swap and not thinker.swap and value < 0:  # swap-pieces turns the value's sign
        value, best, line = -value, board.size**2, ()
    return Judgement(ply, value * board.to_move, best, line)


def exact_review(board: Board, seconds: float, until: Callable[[], bool] = lambda: False) -> list[Judgement]:
    """The exact judgement of each position that the solver decides within `seconds`; the others are left out.

    A cost is 1 where a win was given away. It is 0 where the next position is not known. Positions are solved from
    the end, as proofs of later ones help with those before.

    Raises:
        UsageError: the board is too large for the solver.
    """
    if board.size > MAX_SIZE:
        raise UsageError(f"positions are solved on boards of up to {MAX_SIZE} rows; this one has {board.size}")
    solver = Solver(board.size)
    found: list[Judgement] = []
    for ply in reversed(range(len(board.moves) + 1)):
        now = Board(board.size, swap=board.swap, moves=board.moves[:ply])
        judged = _solved(solver, now, ply, seconds, until)
        if judged is None:
            continue
        if found and found[-1].ply == ply + 1 and now.to_move:
            judged = replace(judged, cost=max(0.0, (judged.value - found[-1].value) / 2 * now.to_move))
        found.append(judged)
    return found[::-1]


def _solved(solver: Solver, board: Board, ply: int, seconds: float, until: Callable[[], bool]) -> Judgement | None:
    if board.winner:
        return Judgement(ply, float(board.winner), None)
    if board.swap and not board.moves:
        return None  # a winning stone would be swapped: its worth is no question of the stones alone
    try:
        solution = solved(solver, board.cells, board.to_move, seconds=seconds, interrupted=until)
    except UsageError:
        return None
    if board.may_swap and solution.winner != board.to_move:
        return Judgement(ply, float(board.to_move), board.size**2)
    best = solution.winning_moves[0] if solution.winning_moves else None
    if solution.winner == board.to_move and ply < len(board.moves) and board.moves[ply] in solution.winning_moves:
        best = board.moves[ply]
    return Judgement(ply, float(solution.winner), best)


def opening_values(thinker: Thinker, size: int, until: Callable[[], bool]) -> dict[int, float]:
    """Cell -> the value for Black of a first stone there, without search; at least of one cell."""
    values: dict[int, float] = {}
    for cell in range(size * size):
        _, value = thinker.look(Board(size, moves=[cell]).cells, WHITE)
        values[cell] = -value
        if until():
            break
    return values


def opens_fairly(thinker: Thinker, board: Board) -> bool:
    """Whether the first stone may be swapped, and `thinker` does not know of that."""
    return board.swap and not board.moves and not thinker.swap


def fairest(values: Mapping[int, float]) -> int:
    """The first stone that is the nearest to even, of Black's `values` by cell."""
    return min(values, key=lambda cell: abs(values[cell]))
