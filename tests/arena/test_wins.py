"""Wins by virtual connections alone: exact where the solver can tell,
and kept to the end on larger boards.
"""

import numpy as np
import pytest

from hexlit.arena.wins import virtual_solution
from hexlit.hex.board import GameBoard
from hexlit.hex.solver import ExactSolver
from tests.hex.solver.test_solver import random_board


@pytest.mark.parametrize("colour", [1, -1])
@pytest.mark.parametrize("size", [4, 6])
def test_every_win_that_is_seen_wins(size: int, colour: int) -> None:
    rng, solver = np.random.default_rng(size), ExactSolver(size)
    seen = 0
    for _ in range(60):
        cells = random_board(rng, size, int(rng.integers(4, size * size - 2)))
        solution = virtual_solution(cells, colour)
        if solution is not None:
            seen += 1
            assert solution.winner == colour
            assert set(solution.winning_moves) <= set(solver.solve(cells, colour).winning_moves)
    assert 10 < seen < 60


@pytest.mark.parametrize("winner", [1, -1])
@pytest.mark.parametrize("size", [9, 11, 13])
def test_a_win_that_is_seen_is_seen_again_after_every_reply(size: int, winner: int) -> None:
    """The other side plays into it."""
    rng = np.random.default_rng(size)
    board, seen = GameBoard(size, swap=False), 0
    wins: tuple[int, ...] = ()
    while not board.winner:
        empty = np.flatnonzero(board.cells == 0)
        if board.to_move == winner:
            solution = virtual_solution(board.cells, winner)
            wins = solution.winning_moves if solution else ()
            assert wins or not seen
            seen += bool(wins)
            board.play(int(rng.choice(wins or empty)))
        else:
            board.play(int(rng.choice(np.intersect1d(wins, empty) if len(wins) > 1 else empty)))
    assert (board.winner, seen > 1) == (winner, True)
