"""A network against the truth, the worth and speed of each search,
and shares with their intervals.
"""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexlit.arena.measures import (
    Document,
    Thoroughness,
    Variant,
    measure_truth,
    measure_variant,
    quarter_full,
    share_of,
    variants,
)
from hexlit.arena.players import JudgingPlayer, Network, PolicyPlayer, SearchPlayer
from hexlit.arena.positions import game_positions, random_positions
from hexlit.hex.openings import solved_openings
from hexlit.hex.truth import SolvedPositions
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator, RolloutEvaluator, UniformEvaluator
from tests.arena.oracle import Oracle
from tests.hex.reference import winner


@cache
def positions() -> dict[str, SolvedPositions]:
    return {"games": game_positions(4, 48, seed=0), "random": random_positions(4, 40, seed=0)}


def levels_of(
    evaluator: Evaluator, simulations: tuple[int, ...] = (8,), size: int = 4
) -> dict[int, JudgingPlayer]:
    policy: JudgingPlayer = PolicyPlayer(evaluator, size=size, batch=32)
    return {0: policy} | {
        number: SearchPlayer(SearchConfig(simulations=number), evaluator, size=size, batch=32)
        for number in simulations
    }


def measured(evaluator: Evaluator) -> Document:
    return measure_truth(levels_of(evaluator), positions(), size=4, batch=32)


def test_perfect_knowledge_gets_full_marks_without_and_with_search() -> None:
    found = measured(Oracle(4))
    assert [level["simulations"] for level in found["openings"]["levels"]] == [0, 8]
    assert [level["right"] for level in found["openings"]["levels"]] == [16, 16]
    for kind, won in (("games", int(positions()["games"].won.sum())), ("random", 40)):
        for level in found["optimality"][kind]:
            assert (level["all"]["share"], level["all"]["high"], level["all"]["count"]) == (
                1.0,
                1.0,
                won,
            )
            assert sum(share["count"] for share in level["stages"].values()) == won
            assert sum(share["hits"] for share in level["sources"].values()) == won
    raw, searched = found["calibration"]["games"]
    assert raw["brier"] == raw["calibration_error"] == 0.0
    assert raw["sign_accuracy"] == searched["sign_accuracy"] == 1.0
    assert list(found["calibration"]) == ["games"]  # random cells are all won: nothing to calibrate


def test_a_constant_gets_the_base_rates() -> None:
    """The measure can fail. Its likeliest move is the first empty cell in its own frame."""
    found = measured(UniformEvaluator())
    games = positions()["games"]
    kept = []
    for cells, player, wins in zip(games.cells, games.to_move, games.winning_moves, strict=True):
        framed = np.arange(16).reshape(4, 4) if player == 1 else np.arange(16).reshape(4, 4).T
        first = next(cell for cell in framed.ravel() if cells[cell] == 0)
        kept.append(bool(wins[first]))
    won = games.won
    assert found["optimality"]["games"][0]["all"]["hits"] == int(np.array(kept)[won].sum())
    raw = found["calibration"]["games"][0]
    assert raw["brier"] == 0.25
    assert raw["won"] == pytest.approx(won.mean())
    assert raw["sign_accuracy"] == pytest.approx(1 - won.mean())
    assert found["openings"]["levels"][0]["right"] == int((~solved_openings(4)).sum())


def network(evaluator: Evaluator, size: int) -> Network:
    return Network(lambda _: evaluator, size, swap=False)


def test_each_algorithm_meets_the_policy_and_each_way_of_batching_the_same_search() -> None:
    found = list(variants(SearchConfig(leaves=2), [4, 16], [8]))
    shown = [
        (v.config.algorithm, v.config.simulations, v.config.leaves, v.config.root_batch)
        for v in found
    ]
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
    """A search with playouts plays better than the policy
    of an evaluator that knows no move from another.
    """
    config = SearchConfig(simulations=60)
    row = measure_variant(
        Variant(config, None),
        network(RolloutEvaluator(16), 4),
        game_positions(4, 36, seed=0),
        Thoroughness(pairs=20, seed=0, games=16, seconds=0.0),
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
        Thoroughness(pairs=5, seed=0, games=8, seconds=0.0),
    )
    assert row["optimality"]["share"] == 1.0
    assert row["match"]["share"] == 0.5  # under sequential halving root batching changes no tree
    assert (row["leaves"], row["root_batch"], row["opponent"]) == (4, True, "unbatched")
    assert row["one_game"]["leaves_a_call"] > 1


def test_more_leaves_than_games_find_room_and_boards_without_truth_have_no_optimality() -> None:
    config = SearchConfig(simulations=8, leaves=4)
    row = measure_variant(
        Variant(config, None),
        network(UniformEvaluator(), 9),
        None,
        Thoroughness(pairs=1, seed=0, games=2, seconds=0.0),
    )
    assert row["optimality"] is None


@pytest.mark.parametrize("size", [3, 5, 7, 11])
def test_positions_that_are_timed_are_undecided_and_alternate(size: int) -> None:
    cells = quarter_full(size, 20)
    assert [winner(board.tolist(), size) for board in cells] == [0] * 20
    stones = np.count_nonzero(cells, axis=1)
    assert len(set(stones.tolist())) == 1
    assert (cells.sum(1) == stones % 2).all()


def interval(hits: int, count: int) -> tuple[float, float]:
    share = share_of(hits, count)
    return share["low"], share["high"]  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (8, 10, 0.4902, 0.9433),
        (10, 10, 0.7225, 1.0),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_intervals_are_the_published_ones(hits: int, count: int, low: float, high: float) -> None:
    """The last is the example of Newcombe 1998."""
    assert interval(hits, count) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_an_interval_holds_its_share_and_mirrors(counts: tuple[int, int]) -> None:
    hits, count = counts
    low, high = interval(hits, count)
    assert 0 <= low <= hits / count <= high <= 1
    assert interval(count - hits, count) == pytest.approx((1 - high, 1 - low))
