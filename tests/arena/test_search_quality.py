"""The rows of the table of searches."""

from dataclasses import fields

import numpy as np
import pytest

from hexlit.arena.positions import game_positions
from hexlit.arena.search_quality import Network, Variant, measure_speed, measure_variant, quarter_full, variants
from hexlit.hex.truth import SolvedPositions
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator, RolloutEvaluator, UniformEvaluator
from tests.arena.oracle import Oracle
from tests.hex.reference import winner


def network(evaluator: Evaluator, size: int) -> Network:
    return Network(lambda _: evaluator, size, swap=False)


def test_each_algorithm_meets_the_policy_and_each_way_of_batching_the_same_search() -> None:
    found = list(variants(SearchConfig(leaves=2), [4, 16], [8]))
    shown = [(v.config.algorithm, v.config.simulations, v.config.leaves, v.config.root_batch) for v in found]
    for algorithm, of_it in (("gumbel", shown[:4]), ("puct", shown[4:])):
        assert of_it == [
            (algorithm, 4, 1, False),
            (algorithm, 16, 1, False),
            (algorithm, 16, 8, False),
            (algorithm, 16, 8, True),
        ]
    assert [variant.opponent for variant in found[:2]] == [None, None]
    assert [variant.opponent for variant in found[2:4]] == [found[1].config] * 2


def test_a_row_tells_strength_and_cost() -> None:
    """A search with playouts plays better than the policy of an evaluator that knows no move from another."""
    config = SearchConfig(simulations=60)
    row = measure_variant(
        Variant(config, None),
        network(RolloutEvaluator(16), 4),
        game_positions(4, 36, seed=0),
        pairs=20,
        seed=0,
        games=16,
        seconds=0.0,
    )
    assert (row["algorithm"], row["simulations"], row["opponent"]) == ("gumbel", 60, "policy")
    assert row["match"]["count"] == 40
    assert row["match"]["low"] > 0.5
    assert 0.5 < row["optimality"]["share"] <= 1
    assert (row["one_game"]["games"], row["many_games"]["games"]) == (1, 16)
    for speed in (row["one_game"], row["many_games"]):
        assert speed["milliseconds"] * speed["simulations_per_second"] == pytest.approx(60_000)
        assert 0 < speed["leaves_a_call"] <= 1


def test_perfect_knowledge_is_optimal_however_it_is_searched() -> None:
    plain = SearchConfig(simulations=8)
    batched = SearchConfig(simulations=8, leaves=4, root_batch=True)
    row = measure_variant(
        Variant(batched, plain),
        network(Oracle(4), 4),
        game_positions(4, 24, seed=0),
        pairs=5,
        seed=0,
        games=8,
        seconds=0.0,
    )
    assert row["optimality"]["share"] == 1.0
    assert row["match"]["share"] == 0.5  # under sequential halving root batching changes no tree
    assert (row["leaves"], row["root_batch"], row["opponent"]) == (4, True, "unbatched")
    assert row["one_game"]["leaves_a_call"] > 1


def test_more_leaves_than_games_find_room_and_boards_without_truth_have_no_optimality() -> None:
    config = SearchConfig(simulations=8, leaves=4)
    row = measure_variant(
        Variant(config, None), network(UniformEvaluator(), 9), None, pairs=1, seed=0, games=2, seconds=0.0
    )
    assert row["optimality"] is None


def test_positions_of_which_none_is_won_have_no_optimality() -> None:
    positions = game_positions(4, 24, seed=0)
    row = int(np.flatnonzero(~positions.won)[0])
    lost = SolvedPositions(
        **{f.name: getattr(positions, f.name)[row : row + 1] for f in fields(positions)[:-2]}, sources=(), unsolved=0
    )
    found = measure_variant(
        Variant(SearchConfig(simulations=2), None),
        network(UniformEvaluator(), 4),
        lost,
        pairs=1,
        seed=0,
        games=2,
        seconds=0.0,
    )
    assert found["optimality"] is None


def test_a_speed_is_that_of_a_whole_search() -> None:
    speed = measure_speed(SearchConfig(simulations=5), network(UniformEvaluator(), 5), 3, 0.0)
    assert speed["games"] == 3
    assert speed["simulations_per_second"] == pytest.approx(5000 / speed["milliseconds"])


@pytest.mark.parametrize("size", [3, 5, 7, 11])
def test_positions_that_are_timed_are_undecided_and_alternate(size: int) -> None:
    cells = quarter_full(size, 20)
    assert [winner(board.tolist(), size) for board in cells] == [0] * 20
    stones = np.count_nonzero(cells, axis=1)
    assert len(set(stones.tolist())) == 1
    assert (cells.sum(1) == stones % 2).all()
