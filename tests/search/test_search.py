"""Rules that every search algorithm has to keep."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.arrays import FloatArray, Int8Array
from hexlit.hex.geometry import geometry
from hexlit.hex.jit import kernel_threads, restored_threads, use_threads
from hexlit.hex.symmetry import exchange_colours
from hexlit.search.config import ALGORITHMS, SearchConfig
from hexlit.search.evaluator import Evaluator, RolloutEvaluator, UniformEvaluator
from hexlit.search.search import SearchResult, TreeSearch
from hexlit.testing.evaluators import Positions, random_positions
from hexlit.testing.stand_ins import KeyedEvaluator
from tests.hex.reference import Game
from tests.search.positions import assert_identical, random_games, rows_of, search_games

every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)


def made(algorithm: str, size: int, swap: bool, games: int, simulations: int) -> TreeSearch:
    return TreeSearch(SearchConfig(algorithm, simulations), size=size, games=games, swap=swap)


def _run(
    search: TreeSearch, positions: Positions, evaluator: Evaluator | None = None
) -> SearchResult:
    return search.run(
        positions.cells, positions.to_move, evaluator or KeyedEvaluator(), ply=positions.ply
    )


@every_algorithm
def test_visits_sum_to_the_simulations_and_fall_on_legal_moves(algorithm: str) -> None:
    """And the policy is a distribution over legal moves, the action one that was visited."""
    for simulations in (1, 2, 5, 33, 200):
        for swap in (False, True):
            positions = random_positions(4, 12, simulations, swap=swap)
            result = _run(made(algorithm, 4, swap, 12, simulations), positions)
            illegal = ~positions.legal(16 + swap)
            place = f"{simulations} simulations, swap={swap}"
            assert (result.visits.sum(axis=1) == simulations).all(), (
                f"{place}: visits {result.visits.sum(axis=1)}"
            )
            assert np.allclose(result.policy.sum(axis=1), 1, atol=1e-5), (
                f"{place}: a policy does not sum to 1"
            )
            assert (np.abs(result.value) <= 1).all(), f"{place}: values {result.value}"
            assert not result.visits[illegal].any(), f"{place}: an illegal move was visited"
            assert not result.policy[illegal].any(), f"{place}: an illegal move has a probability"
            visited = result.visits[np.arange(12), result.action]
            assert (visited > 0).all(), f"{place}: the action was never visited"


@every_algorithm
def test_a_position_and_its_colour_exchanged_mirror_image_have_mirrored_results(
    algorithm: str,
) -> None:
    """Exactly, noise at the root included."""
    cells, to_move, _ = random_positions(5, 20, 4)
    search = made(algorithm, 5, False, 20, 50)
    plain = search.run(cells, to_move, KeyedEvaluator(), noise=1.0)
    mirrored = search.run(exchange_colours(cells), -to_move, KeyedEvaluator(), noise=1.0)
    there = geometry(5).transposed[np.arange(25)]
    expected = SearchResult(
        plain.policy[:, there],
        geometry(5).transposed[plain.action],
        plain.value,
        plain.visits[:, there],
    )
    assert_identical(mirrored, expected)


@every_algorithm
def test_a_position_does_not_notice_the_others_of_its_batch(algorithm: str) -> None:
    """Alone, in company, in another row and with rows left empty, the search finds the same."""
    positions = random_positions(4, 9, 7, swap=True)

    def some(rows: Any) -> Positions:
        return Positions(*(column[rows] for column in positions))

    together = _run(made(algorithm, 4, True, 9, 40), positions)
    order = np.arange(9)[::-1]
    backwards = _run(made(algorithm, 4, True, 16, 40), some(order))
    assert_identical(rows_of(backwards, order), together)
    single = made(algorithm, 4, True, 3, 40)
    for row in range(9):
        rows = np.array([row])
        assert_identical(_run(single, some(rows)), rows_of(together, rows))


@every_algorithm
def test_a_search_remembers_nothing_of_the_one_before(algorithm: str) -> None:
    """The same position again, after another one."""
    search = made(algorithm, 3, False, 2, 30)
    cells, to_move = np.zeros((2, 9), np.int8), np.array([1, -1], np.int8)
    fresh = search.run(cells[:1], to_move[:1], KeyedEvaluator())
    other = cells.copy()
    other[:, 4] = 1
    search.run(other, -to_move, KeyedEvaluator(), noise=1.0)
    assert_identical(search.run(cells[:1], to_move[:1], KeyedEvaluator()), fresh)


@every_algorithm
def test_noise_comes_from_the_seed(algorithm: str) -> None:
    """One seed gives the same noise again; another seed, or another row, gives another one."""
    cells, to_move = np.zeros((4, 16), np.int8), np.ones(4, np.int8)
    search = made(algorithm, 4, False, 4, 30)

    def visits(seed: int, noise: float) -> NDArray[np.int32]:
        return search.run(cells, to_move, KeyedEvaluator(), noise=noise, seed=seed).visits

    assert np.array_equal(visits(1, 1.0), visits(1, 1.0)), "one seed draws different noise"
    assert not np.array_equal(visits(1, 1.0), visits(2, 1.0)), "two seeds draw the same noise"
    assert not np.array_equal(visits(1, 1.0)[0], visits(1, 1.0)[1]), "two rows have the same noise"
    assert np.array_equal(visits(1, 0.0), visits(2, 0.0)), "there is noise at noise=0"


@every_algorithm
def test_a_decided_position_is_refused(algorithm: str) -> None:
    """By a `UsageError`, although another position of the batch can be searched."""
    cells = np.array([[0] * 9, [1, 0, 0, 1, -1, -1, 1, 0, 0]], np.int8)
    with pytest.raises(UsageError, match="decided"):
        made(algorithm, 3, False, 2, 4).run(cells, np.array([1, -1], np.int8), KeyedEvaluator())


@every_algorithm
def test_values_are_those_of_the_player_to_move(algorithm: str) -> None:
    """A child's value enters its parent negated, once: White is lost after a stone in the middle of
    3x3, and wins after one in the sharp corner.
    """
    cells, to_move = np.eye(9, dtype=np.int8)[[0, 4]], np.full(2, -1, np.int8)
    positions = Positions(cells, to_move, np.zeros(2, np.bool_))
    corner, middle = _run(
        made(algorithm, 3, False, 2, 400), positions, RolloutEvaluator(16)
    ).value.tolist()
    assert middle < 0 < corner, (
        f"White's value is {corner:.2f} after the corner, {middle:.2f} after the middle"
    )


@pytest.fixture
def all_threads() -> Iterator[int]:
    with restored_threads():
        yield kernel_threads()


@every_algorithm
def test_the_number_of_threads_changes_nothing(algorithm: str, all_threads: int) -> None:
    if all_threads < 2:
        pytest.skip("one core")
    games = random_games(seed=6, count=24, sizes=(5,))
    results = []
    for threads in (1, 2):
        use_threads(threads)
        results.append(
            search_games(games, SearchConfig(algorithm, 40), RolloutEvaluator(4), noise=1.0, seed=3)
        )
    assert_identical(*results)


@dataclass
class Spoiled(KeyedEvaluator):
    """Answers call number `call` with one number that is none."""

    call: int = 0
    where: str = "value"
    number: float = math.nan

    def evaluate(self, planes: Int8Array, policy: FloatArray, value: FloatArray) -> None:
        super().evaluate(planes, policy, value)
        self.call -= 1
        if self.call < 0:
            (value if self.where == "value" else policy[:, 0])[1] = self.number


@every_algorithm
@pytest.mark.parametrize(
    ("where", "number"),
    [("value", math.nan), ("value", -1.5), ("policy", math.nan), ("policy", math.inf)],
)
@pytest.mark.parametrize("call", [0, 1, 20])
def test_an_answer_that_is_none_is_an_error_and_no_endless_search(
    algorithm: str, call: int, where: str, number: float
) -> None:
    spoiled = Spoiled(call=call, where=where, number=number)
    with pytest.raises(UsageError, match="the evaluator answers with NaN"):
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
    algorithm: str, cells: Int8Array, to_move: Int8Array, message: str
) -> None:
    search = TreeSearch(SearchConfig(algorithm, 4), size=3, games=4)
    with pytest.raises(UsageError, match=re.escape(message)):
        search.run(cells, to_move, UniformEvaluator())


@pytest.mark.parametrize("moves", [[], [9], [9, 2]])
def test_the_nodes_of_a_tree_have_the_visits_of_the_board_whoever_moves(moves: list[int]) -> None:
    game = Game(4, moves=moves)
    search = made("gumbel", 4, False, 1, 80)
    result = search.run(
        np.array([game.cells], np.int8), np.array([game.to_move], np.int8), RolloutEvaluator()
    )
    root, nodes = search.root(), 1
    assert {child.action: child.visits for child in root.children} == {
        action: count for action, count in enumerate(result.visits[0].tolist()) if count
    }
    waiting = [(child, {*moves, child.action}) for child in root.children]
    while waiting:
        node, taken = waiting.pop()
        nodes += 1
        assert [child.visits for child in node.children] == sorted(
            (c.visits for c in node.children), reverse=True
        )
        assert not taken & {child.action for child in node.children}
        waiting += [(child, taken | {child.action}) for child in node.children]
    assert nodes == int(search.tree.game["nodes"][0])
    best = root.children[0]
    answers = sum(child.value * child.visits for child in best.children)
    assert best.value * best.visits == pytest.approx(
        -answers, abs=1.01
    )  # but for its own evaluation
