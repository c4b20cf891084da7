"""The choice among moves that a search holds equal, once the game is decided."""

import numpy as np
import pytest

from hexlit.hex.arrays import FloatArray, Int8Array
from hexlit.hex.board import GameBoard
from hexlit.hex.encoding import OPPONENT, OWN
from hexlit.hex.solver import ExactSolver
from hexlit.search import search as module
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import fill_uniform
from hexlit.search.search import TreeSearch

SIZE = 4


class Exact:
    """Knows who wins each position, and nothing of the way."""

    def __init__(self) -> None:
        self.solver = ExactSolver(SIZE)

    def evaluate(self, planes: Int8Array, policy: FloatArray, value: FloatArray) -> None:
        fill_uniform(planes, policy)
        for row, position in enumerate(planes):
            value[row] = (
                0.98 if self.solver.wins((position[OWN] - position[OPPONENT]).ravel(), 1) else -0.98
            )


def plies_of_a_game(seed: int, *, winner: bool) -> int:
    """Length of a game from a random opening between a search and random moves,
    or a search and exact ones.
    """
    search, exact = TreeSearch(SearchConfig(simulations=24), size=SIZE, games=1), Exact()
    random = np.random.default_rng(seed)
    board = GameBoard(SIZE, moves=random.permutation(SIZE * SIZE)[:2].tolist())
    searching = 1 if exact.solver.wins(board.cells, 1) == winner else -1
    while not board.winner:
        result = search.run(board.cells[None], np.array([board.to_move], np.int8), exact)
        move, _ = search.shortest(board.cells, int(result.action[0]), float(result.value[0]))
        if board.to_move != searching:
            others = (
                np.flatnonzero(board.cells == 0)
                if winner
                else exact.solver.solve(board.cells, -searching).winning_moves
            )
            move = int(random.choice(others))
        board = GameBoard(SIZE, moves=[*board.moves, move])
    assert (board.winner == searching) == winner
    return len(board.moves)


@pytest.mark.parametrize("winner", [True, False])
def test_a_decided_game_is_won_sooner_and_lost_later(
    winner: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = [plies_of_a_game(seed, winner=winner) for seed in range(20)]
    monkeypatch.setattr(module, "_DECIDED", 2.0)  # no position is
    drifting = [plies_of_a_game(seed, winner=winner) for seed in range(20)]
    assert (sum(chosen) < sum(drifting)) if winner else (sum(chosen) > sum(drifting))


def test_in_an_open_position_the_move_stays() -> None:
    search = TreeSearch(SearchConfig(simulations=16), size=SIZE, games=1)
    assert search.shortest(np.zeros(SIZE * SIZE, np.int8), 7, 0.5) == (7, 0.5)
