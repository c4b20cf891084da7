"""Rules that every search algorithm has to keep."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.symmetry import exchange_colours, exchange_moves
from hexlit.search.config import ALGORITHMS, SearchConfig
from hexlit.search.evaluator import RolloutEvaluator, UniformEvaluator
from hexlit.search.search import LARGEST_BOARD, Search, SearchResult
from tests.hex.reference import Game
from tests.search.positions import KeyedEvaluator, random_games, search_games

pytestmark = pytest.mark.parametrize("algorithm", ALGORITHMS)


def assert_identical(first: SearchResult, second: SearchResult) -> None:
    for name in (field.name for field in fields(SearchResult)):
        assert np.array_equal(getattr(first, name), getattr(second, name)), name


@pytest.mark.row("E5")
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("simulations", [1, 2, 5, 33, 200])
def test_visits_sum_to_the_simulations_and_fall_on_legal_moves(algorithm: str, simulations: int, swap: bool) -> None:
    """And the policy is a distribution over legal moves, the action one that was visited."""
    games = random_games(seed=simulations, count=12, sizes=(4,), swap=swap)
    result = search_games(games, SearchConfig(algorithm, simulations), KeyedEvaluator())
    assert (result.visits.sum(axis=1) == simulations).all()
    assert np.allclose(result.policy.sum(axis=1), 1, atol=1e-5)
    assert (np.abs(result.value) <= 1).all()
    for row, game in enumerate(games):
        illegal = np.setdiff1d(np.arange(16 + swap), game.legal_moves())
        assert not result.visits[row, illegal].any()
        assert not result.policy[row, illegal].any()
        assert result.visits[row, result.action[row]] > 0


@pytest.mark.row("E5")
def test_a_position_and_its_colour_exchanged_mirror_image_have_mirrored_results(algorithm: str) -> None:
    """Exactly, noise at the root included."""
    games = random_games(seed=4, count=20, sizes=(5,))
    cells = np.array([game.cells for game in games], np.int8)
    to_move = np.array([game.to_move for game in games], np.int8)
    search = Search(SearchConfig(algorithm, 50), size=5, games=20)
    plain = search.run(cells, to_move, KeyedEvaluator(), noise=1.0)
    mirrored = search.run(exchange_colours(cells), -to_move, KeyedEvaluator(), noise=1.0)
    there = exchange_moves(np.arange(25), 5)
    assert np.array_equal(mirrored.visits, plain.visits[:, there])
    assert np.array_equal(mirrored.policy, plain.policy[:, there])
    assert np.array_equal(mirrored.action, exchange_moves(plain.action, 5))
    assert np.array_equal(mirrored.value, plain.value)


@pytest.fixture
def all_threads() -> Iterator[int]:
    threads = numba.get_num_threads()
    yield threads
    numba.set_num_threads(threads)


@pytest.mark.row("A25")
def test_the_number_of_threads_changes_nothing(algorithm: str, all_threads: int) -> None:
    if all_threads < 2:
        pytest.skip("one core")
    games = random_games(seed=6, count=24, sizes=(5,))
    results = []
    for threads in (1, 2):
        numba.set_num_threads(threads)
        results.append(search_games(games, SearchConfig(algorithm, 40), RolloutEvaluator(4), noise=1.0, seed=3))
    assert_identical(*results)


@pytest.mark.row("A25")
def test_a_position_does_not_notice_the_others_of_its_batch(algorithm: str) -> None:
    """Alone, in company, in another row and with rows left empty, the search finds the same."""
    games = random_games(seed=7, count=9, sizes=(4,), swap=True)
    config = SearchConfig(algorithm, 40)
    together = search_games(games, config, KeyedEvaluator())
    backwards = search_games(games[::-1], config, KeyedEvaluator(), room=16)
    for row, game in enumerate(games):
        alone = search_games([game], config, KeyedEvaluator(), room=3)
        for name in (field.name for field in fields(SearchResult)):
            assert np.array_equal(getattr(together, name)[row], getattr(alone, name)[0]), name
            assert np.array_equal(getattr(together, name)[row], getattr(backwards, name)[-1 - row]), name


def test_a_search_remembers_nothing_of_the_one_before(algorithm: str) -> None:
    search = Search(SearchConfig(algorithm, 30), size=3, games=2)
    cells, to_move = np.zeros((2, 9), np.int8), np.array([1, -1], np.int8)
    fresh = search.run(cells[:1], to_move[:1], KeyedEvaluator())
    other = cells.copy()
    other[:, 4] = 1
    search.run(other, -to_move, KeyedEvaluator(), noise=1.0)
    assert_identical(search.run(cells[:1], to_move[:1], KeyedEvaluator()), fresh)


def test_noise_comes_from_the_seed(algorithm: str) -> None:
    games = [Game(4)] * 4

    def visits(seed: int, noise: float) -> NDArray[np.int32]:
        return search_games(games, SearchConfig(algorithm, 30), KeyedEvaluator(), noise=noise, seed=seed).visits

    assert np.array_equal(visits(1, 1.0), visits(1, 1.0))
    assert not np.array_equal(visits(1, 1.0), visits(2, 1.0))
    assert not np.array_equal(visits(1, 1.0)[0], visits(1, 1.0)[1])
    assert np.array_equal(visits(1, 0.0), visits(2, 0.0))


def test_a_decided_position_is_refused(algorithm: str) -> None:
    search = Search(SearchConfig(algorithm, 4), size=3, games=2)
    cells = np.array([[0] * 9, [1, 0, 0, 1, -1, -1, 1, 0, 0]], np.int8)
    with pytest.raises(UsageError, match="decided"):
        search.run(cells, np.array([1, -1], np.int8), UniformEvaluator())


@pytest.mark.parametrize("batch", [0, 3])
def test_more_positions_than_there_is_room_for_are_refused(algorithm: str, batch: int) -> None:
    search = Search(SearchConfig(algorithm, 4), size=3, games=2)
    with pytest.raises(UsageError, match=f"^{batch} positions: this search was made for 1 to 2$"):
        search.run(np.zeros((batch, 9), np.int8), np.ones(batch, np.int8), UniformEvaluator())


@pytest.mark.parametrize("size", [1, LARGEST_BOARD + 1])
def test_a_board_too_small_or_too_large_is_refused(algorithm: str, size: int) -> None:
    with pytest.raises(UsageError, match=f"^board={size}: .* 2 to {LARGEST_BOARD} rows$"):
        Search(SearchConfig(algorithm), size=size, games=1)


@pytest.mark.parametrize("size", [2, 19])
def test_the_smallest_and_the_largest_board_are_searched(algorithm: str, size: int) -> None:
    result = search_games([Game(size)], SearchConfig(algorithm, 20), RolloutEvaluator(2))
    assert result.visits.shape == (1, size * size)
    assert result.visits.sum() == 20


@dataclass
class Spoiled(KeyedEvaluator):
    """Answers call number `call` with one number that is none."""

    call: int = 0
    where: str = "value"
    number: float = math.nan

    def evaluate(self, planes: NDArray[np.int8], policy: NDArray[np.float32], value: NDArray[np.float32]) -> None:
        super().evaluate(planes, policy, value)
        self.call -= 1
        if self.call < 0:
            (value if self.where == "value" else policy[:, 0])[1] = self.number


@pytest.mark.parametrize("number", [math.nan, math.inf])
@pytest.mark.parametrize("where", ["value", "policy"])
@pytest.mark.parametrize("call", [0, 1, 20])
def test_a_network_that_answers_with_no_number_is_an_error_and_no_endless_search(
    algorithm: str, call: int, where: str, number: float
) -> None:
    spoiled = Spoiled(call=call, where=where, number=number)
    with pytest.raises(UsageError, match="NaN or infinity"):
        search_games([Game(4)] * 3, SearchConfig(algorithm, 60), spoiled)


@pytest.mark.parametrize(
    ("cells", "to_move", "message"),
    [
        (np.zeros((2, 16), np.int8), np.ones(2, np.int8), "cells (2, 16)"),
        (np.zeros((2, 9), np.int8), np.ones(3, np.int8), "to_move (3,)"),
        (np.zeros((2, 9), np.int8), np.array([1, 0], np.int8), "to_move is 1 or -1"),
        (np.full((2, 9), 2, np.int8), np.ones(2, np.int8), "cells are 1 (Black)"),
    ],
)
def test_positions_that_are_none_are_refused(
    algorithm: str, cells: NDArray[np.int8], to_move: NDArray[np.int8], message: str
) -> None:
    search = Search(SearchConfig(algorithm, 4), size=3, games=4)
    with pytest.raises(UsageError, match=re.escape(message)):
        search.run(cells, to_move, UniformEvaluator())
