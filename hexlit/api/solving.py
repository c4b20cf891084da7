"""The exact solver, with answers that notebooks draw."""

import numpy as np

from hexlit.api.boards import NAMES, Board
from hexlit.api.openings import OpeningMap
from hexlit.errors import UsageError
from hexlit.hex import solver as exact
from hexlit.hex.board import Board as Position
from hexlit.hex.notation import format_cell


class Solver:
    """Solves positions on boards of 2 to 8 rows: the winner with best play, and every winning move.

    Raises:
        UsageError: the game is over, or the board too large.

    >>> import hexlit
    >>> solution = hexlit.Solver().solve(hexlit.Board(5, moves="a2 c3 d4"))
    >>> solution.winner, solution.moves
    ('White', ['c2'])
    """

    def __init__(self) -> None:
        """Keeps what it has proved, for each size of the board."""
        self._solvers: dict[int, exact.Solver] = {}

    def solve(self, board: Position) -> "Solved":
        """Solve the position; raises `UsageError` where the game is over, or the board too large."""
        if board.winner:
            raise UsageError(f"the game is over, {NAMES[board.winner]} has won")
        result = self._of(board.size).solve(board.cells, board.to_move)
        shown = board if isinstance(board, Board) else Board(board.size, swap=board.swap, moves=board.moves)
        return Solved(shown, result)

    def openings(self, size: int) -> OpeningMap:
        """Whether each first move of Black wins; boards of 5 rows take a moment, of 7 half a minute.

        Its `values` are float64 `[size*size]`: 1 where the move wins, -1 where it loses.

        >>> import hexlit
        >>> hexlit.Solver().openings(3).values.tolist()
        [-1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0]
        """
        solver = self._of(size)
        won = [not solver.wins(cells, -1) for cells in np.eye(size * size, dtype=np.int8)]
        return OpeningMap(np.where(won, 1.0, -1.0), "the exact solver")

    def _of(self, size: int) -> exact.Solver:
        if size not in self._solvers:
            self._solvers[size] = exact.Solver(size)
        return self._solvers[size]


class Solved:
    """The exact value of a position; a notebook draws the board with the winning moves in green rings.

    Attributes:
        board: the position.
        solution: the solver's answer, with its effort: `nodes` and `seconds`.
    """

    def __init__(self, board: Board, solution: exact.Solution) -> None:
        """As above."""
        self.board = board
        self.solution = solution

    @property
    def winner(self) -> str:
        """`Black` or `White`."""
        return NAMES[self.solution.winner]

    @property
    def moves(self) -> list[str]:
        """Every winning move of the player to move, by name; none where it loses."""
        return [format_cell(move, self.board.size) for move in self.solution.winning_moves]

    def _repr_svg_(self) -> str:
        mover = NAMES[self.board.to_move]
        moves = f"{len(self.moves)} of {len(self.board.legal_moves())} moves win" if self.moves else "every move loses"
        effort = f"{self.solution.nodes:,} positions in {self.solution.seconds:.3f} s"
        title = f"{self.winner} wins; {mover} to move: {moves}"
        return self.board.picture(marks=self.solution.winning_moves, title=title, caption=f"exact, {effort}").svg
