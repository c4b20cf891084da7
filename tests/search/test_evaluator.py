"""The evaluators that need no network keep the promises of `Evaluator`."""

from typing import Any

import numpy as np
import pytest

from hexlit.arena.players import PolicyPlayer
from hexlit.hex.encoding import encode
from hexlit.search.evaluator import Evaluator, RolloutEvaluator, UniformEvaluator
from hexlit.testing import EvaluatorConformance
from tests.hex.reference import Game


class TestUniform(EvaluatorConformance):
    def make(self, size: int, swap: bool, batch: int) -> Evaluator:
        return UniformEvaluator()


class TestRollouts(EvaluatorConformance):
    def make(self, size: int, swap: bool, batch: int) -> Evaluator:
        return RolloutEvaluator(4)


EVALUATORS = pytest.mark.parametrize("evaluator", [UniformEvaluator(), RolloutEvaluator(4)])


@EVALUATORS
@pytest.mark.parametrize("swap", [False, True])
def test_policies_are_even_over_the_legal_actions(evaluator: Evaluator, swap: bool) -> None:
    games = [Game(3, swap=swap, moves=moves) for moves in ([], [4], [0, 4], [0, 1, 2, 3, 4])]
    cells = np.array([game.cells for game in games], np.int8)
    may_swap = np.array([swap and len(game.moves) == 1 for game in games])
    planes = encode(cells, np.array([game.to_move for game in games], np.int8), may_swap)
    policy, value = np.full((4, 9 + swap), np.nan, np.float32), np.full(4, np.nan, np.float32)
    evaluator.evaluate(planes, policy, value)
    for game, row in zip(games, policy, strict=True):
        legal = game.legal_moves()
        # Mover's frame: for White, rows and columns change places.
        own = (
            legal
            if game.to_move > 0
            else [move if move == 9 else move % 3 * 3 + move // 3 for move in legal]
        )
        assert np.flatnonzero(row).tolist() == sorted(own)
        assert np.allclose(row[own], 1 / len(legal))


@EVALUATORS
def test_a_policy_player_makes_legal_moves_with_them(evaluator: Evaluator) -> None:
    cells = np.array([[1, -1, 1, -1, 0, 0, 0, 0, 0]], np.int8)
    move = PolicyPlayer(evaluator, size=3, batch=4).choose(cells, np.array([1], np.int8))[0]
    assert cells[0, move] == 0


def test_a_policy_player_draws_by_its_temperature() -> None:
    """In proportion to policy^(1/T), the same again with the same seed;
    the temperature 0 takes the likeliest move.
    """
    chances = np.array([0.6, 0.3, 0.1] + 6 * [0.0], np.float32)
    cells, black = np.zeros((1, 9), np.int8), np.ones(1, np.int8)

    class Fixed(UniformEvaluator):
        def evaluate(self, planes: Any, policy: Any, value: Any) -> None:
            policy[:], value[:] = chances, 0

    def moves(temperature: float) -> list[int]:
        players = [
            PolicyPlayer(Fixed(), size=3, batch=1, temperature=temperature, seed=seed)
            for seed in range(2000)
        ]
        return [int(player.choose(cells, black)[0]) for player in players]

    for temperature in (1.0, 2.0):
        wanted = chances ** (1 / temperature)
        shares = np.bincount(moves(temperature), minlength=9) / 2000
        np.testing.assert_allclose(shares, wanted / wanted.sum(), atol=0.04)
    assert moves(0.5) == moves(0.5)
    assert set(moves(0.0)) == {0}
