"""The table of sequential halving."""

import numpy as np
import pytest

from hexlit.search.config import GumbelConfig, SearchConfig
from hexlit.search.gumbel import halving_row, halving_table
from hexlit.testing.stand_ins import KeyedEvaluator
from tests.hex.reference import Game
from tests.search.positions import random_games, search_games
from tests.search.reference import considered_visits, planes_of


@pytest.mark.row("E5")
def test_the_schedule_is_that_of_the_paper() -> None:
    """All numbers of considered moves to 64, and of simulations to 200."""
    for considered in range(65):
        for simulations in (*range(1, 66), 100, 128, 200):
            assert list(halving_row(considered, simulations)) == considered_visits(considered, simulations)


def test_a_schedule_done_by_hand() -> None:
    # 4 moves, 16 simulations, 2 rounds of 8: each of 4 twice, then each of 2 four times.
    assert halving_row(4, 16) == (0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5)
    # Too few simulations for a round: the first moves once each.
    assert halving_row(8, 3) == (0, 0, 0)
    assert halving_row(1, 3) == (0, 1, 2)


def test_the_table_has_a_row_for_every_budget_and_number_of_moves() -> None:
    table = halving_table(5, (12, 3))
    assert table.shape == (2, 6, 12)
    for row, budget in enumerate((12, 3)):
        for considered in range(6):
            assert tuple(table[row, considered, :budget]) == halving_row(considered, budget)


@pytest.mark.row("E5")
@pytest.mark.parametrize("considered", [1, 2, 5, 16, 40])
@pytest.mark.parametrize("simulations", [1, 7, 16, 50])
def test_visits_of_the_root_follow_the_schedule(considered: int, simulations: int) -> None:
    """The numbers of visits are those of the schedule, whichever moves they fall on."""
    config = SearchConfig("gumbel", simulations, gumbel=GumbelConfig(considered=considered))
    for game in [Game(4), *random_games(seed=considered, count=4)]:
        moves = game.size**2 - len(game.moves)
        expected = [0] * moves
        for wanted in considered_visits(min(considered, moves), simulations):
            expected[expected.index(wanted)] += 1
        visits = search_games([game], config, KeyedEvaluator()).visits[0]
        assert sorted(visits[visits > 0].tolist()) == sorted(n for n in expected if n)


def test_without_noise_the_moves_with_the_highest_priors_are_considered() -> None:
    config = SearchConfig("gumbel", 8, gumbel=GumbelConfig(considered=8))
    game = Game(4, moves=[5])
    evaluator = KeyedEvaluator()
    policy, value = np.zeros((1, 16), np.float32), np.zeros(1, np.float32)
    visits = search_games([game], config, evaluator).visits[0]
    evaluator.evaluate(planes_of(game), policy, value)
    priors = policy.reshape(4, 4).T.ravel()  # White's frame
    priors[5] = 0
    assert set(np.flatnonzero(visits)) == set(np.argsort(priors)[-8:])
