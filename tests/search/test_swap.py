"""The swap rule in the tree."""

import numpy as np
import pytest

from hexlit.search.config import ALGORITHMS, SearchConfig
from hexlit.search.evaluator import UniformEvaluator
from hexlit.search.search import TreeSearch
from hexlit.testing.stand_ins import KeyedEvaluator
from tests.hex.reference import Game
from tests.search.positions import search_games

pytestmark = pytest.mark.parametrize("algorithm", ALGORITHMS)
SWAP = 9


def test_the_swap_is_searched_as_the_second_move_and_never_elsewhere(algorithm: str) -> None:
    """However much the evaluator likes it."""
    evaluator = KeyedEvaluator(swap_weight=1000.0)
    games = [
        Game(3, swap=True, moves=moves)
        for moves in ([], [1], [1, 0], [1, SWAP], [4, 0, 8], [2, SWAP, 1])
    ]
    result = search_games(games, SearchConfig(algorithm, 60), evaluator)
    assert (result.visits[:, SWAP] > 0).tolist() == [len(game.moves) == 1 for game in games]
    assert (result.policy[:, SWAP] > 0).tolist() == [len(game.moves) == 1 for game in games]


def test_inside_the_tree_the_swap_is_legal_after_the_first_stone_only(algorithm: str) -> None:
    """From the empty board, the evaluator is asked about swaps where one stone has been played."""
    evaluator = KeyedEvaluator(swap_weight=1000.0)
    search_games([Game(3, swap=True)], SearchConfig(algorithm, 300), evaluator)
    # One stone again after a swap, when nobody may swap; two and more stones, of which some come
    # after a swap.
    assert {(0, False), (1, True), (1, False), (2, False)} <= evaluator.seen
    assert {stones for stones, may_swap in evaluator.seen if may_swap} == {1}


def test_white_swaps_a_winning_opening_and_leaves_a_losing_one(algorithm: str) -> None:
    """On 3×3 the centre wins and a1 loses; the search knows nothing but the rules."""
    games = [Game(3, swap=True, moves=[4]), Game(3, swap=True, moves=[0])]
    result = search_games(games, SearchConfig(algorithm, 2000), UniformEvaluator())
    assert result.action[0] == SWAP
    assert result.action[1] != SWAP
    assert (result.value > 0).all()


def test_without_a_ply_a_lone_white_stone_has_come_by_a_swap(algorithm: str) -> None:
    search = TreeSearch(SearchConfig(algorithm, 40), size=3, games=1, swap=True)
    swapped = Game(3, swap=True, moves=[1, SWAP])
    result = search.run(
        np.array([swapped.cells], np.int8),
        np.array([1], np.int8),
        KeyedEvaluator(swap_weight=1000.0),
    )
    assert result.visits[0, SWAP] == 0
