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
from hexlit.search.config import ALGORITHMS, SearchConfig
from hexlit.search.evaluator import RolloutEvaluator, UniformEvaluator
from hexlit.search.search import LARGEST_BOARD, Search, SearchResult
from hexlit.testing import SearchConformance
from hexlit.testing.stand_ins import KeyedEvaluator
from tests.hex.reference import Game
from tests.search.positions import random_games, search_games

every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)


@pytest.mark.row("A25")
@pytest.mark.row("E5")
class TestGumbel(SearchConformance):
    algorithm = "gumbel"

    def make(self, size: int, swap: bool, games: int, simulations: int) -> Search:
        return Search(SearchConfig(self.algorithm, simulations), size=size, games=games, swap=swap)


class TestPuct(TestGumbel):
    algorithm = "puct"


def test_every_algorithm_keeps_what_a_search_has_to() -> None:
    assert {TestGumbel.algorithm, TestPuct.algorithm} == set(ALGORITHMS)


def assert_identical(first: SearchResult, second: SearchResult) -> None:
    for name in (field.name for field in fields(SearchResult)):
        assert np.array_equal(getattr(first, name), getattr(second, name)), name


@pytest.fixture
def all_threads() -> Iterator[int]:
    threads = numba.get_num_threads()
    yield threads
    numba.set_num_threads(threads)


@every_algorithm
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


@every_algorithm
@pytest.mark.parametrize("batch", [0, 3])
def test_more_positions_than_there_is_room_for_are_refused(algorithm: str, batch: int) -> None:
    search = Search(SearchConfig(algorithm, 4), size=3, games=2)
    with pytest.raises(UsageError, match=f"^{batch} positions: this search was made for 1 to 2$"):
        search.run(np.zeros((batch, 9), np.int8), np.ones(batch, np.int8), UniformEvaluator())


@every_algorithm
@pytest.mark.parametrize("size", [1, LARGEST_BOARD + 1])
def test_a_board_too_small_or_too_large_is_refused(algorithm: str, size: int) -> None:
    with pytest.raises(UsageError, match=f"^board={size}: .* 2 to {LARGEST_BOARD} rows$"):
        Search(SearchConfig(algorithm), size=size, games=1)


@every_algorithm
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


@every_algorithm
@pytest.mark.parametrize("number", [math.nan, math.inf])
@pytest.mark.parametrize("where", ["value", "policy"])
@pytest.mark.parametrize("call", [0, 1, 20])
def test_a_network_that_answers_with_no_number_is_an_error_and_no_endless_search(
    algorithm: str, call: int, where: str, number: float
) -> None:
    spoiled = Spoiled(call=call, where=where, number=number)
    with pytest.raises(UsageError, match="NaN or infinity"):
        search_games([Game(4)] * 3, SearchConfig(algorithm, 60), spoiled)


@every_algorithm
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
