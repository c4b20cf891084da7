"""The promises of every search algorithm."""

from dataclasses import fields
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.solver import Solver
from hexlit.hex.symmetry import exchange_colours, exchange_moves
from hexlit.search.evaluator import Evaluator, RolloutEvaluator
from hexlit.search.search import SearchResult
from hexlit.testing.positions import Positions, random_positions
from hexlit.testing.stand_ins import KeyedEvaluator


class BatchSearch(Protocol):
    """The method that the suite calls: `hexlit.search.search.Search.run`."""

    def run(
        self,
        cells: NDArray[np.int8],
        to_move: NDArray[np.int8],
        evaluator: Evaluator,
        *,
        ply: NDArray[np.int16] | None = None,
        noise: float = 0.0,
        seed: int = 0,
    ) -> SearchResult:
        """See `hexlit.search.search.Search.run`."""
        ...


class SearchConformance:
    """The promises of a search over many positions; see `hexlit.testing` for how to run them.

    Attributes:
        simulations: numbers of simulations to try.
        enough: simulations of 16 random playouts each that keep the win where one move ends a game on 4x4.
    """

    simulations: tuple[int, ...] = (1, 2, 5, 33, 200)
    enough = 400

    def make(self, size: int, swap: bool, games: int, simulations: int) -> BatchSearch:
        """A search of `simulations` a move over up to `games` positions on boards of `size`."""
        raise NotImplementedError

    def test_visits_sum_to_the_simulations_and_fall_on_legal_moves(self) -> None:
        """And the policy is a distribution over legal moves, the action one that was visited."""
        for simulations in self.simulations:
            for swap in (False, True):
                positions = random_positions(4, 12, simulations, swap=swap)
                result = _run(self.make(4, swap, 12, simulations), positions)
                illegal = ~positions.legal(16 + swap)
                place = f"{simulations} simulations, swap={swap}"
                assert (result.visits.sum(axis=1) == simulations).all(), f"{place}: visits {result.visits.sum(axis=1)}"
                assert np.allclose(result.policy.sum(axis=1), 1, atol=1e-5), f"{place}: a policy does not sum to 1"
                assert (np.abs(result.value) <= 1).all(), f"{place}: values {result.value}"
                assert not result.visits[illegal].any(), f"{place}: an illegal move was visited"
                assert not result.policy[illegal].any(), f"{place}: an illegal move has a probability"
                visited = result.visits[np.arange(12), result.action]
                assert (visited > 0).all(), f"{place}: the action was never visited"

    def test_a_position_and_its_colour_exchanged_mirror_image_have_mirrored_results(self) -> None:
        """Exactly, noise at the root included."""
        cells, to_move, _ = random_positions(5, 20, 4)
        search = self.make(5, False, 20, 50)
        plain = search.run(cells, to_move, KeyedEvaluator(), noise=1.0)
        mirrored = search.run(exchange_colours(cells), -to_move, KeyedEvaluator(), noise=1.0)
        there = exchange_moves(np.arange(25), 5)
        expected = SearchResult(
            plain.policy[:, there], exchange_moves(plain.action, 5), plain.value, plain.visits[:, there]
        )
        _assert_identical(mirrored, expected, "the mirror image")

    def test_a_position_does_not_notice_the_others_of_its_batch(self) -> None:
        """Alone, in company, in another row and with rows left empty, the search finds the same."""
        positions = random_positions(4, 9, 7, swap=True)
        together = _run(self.make(4, True, 9, 40), positions)
        order = np.arange(9)[::-1]
        backwards = _run(self.make(4, True, 16, 40), positions.rows(order))
        _assert_identical(_rows(backwards, order), together, "in another row")
        single = self.make(4, True, 3, 40)
        for row in range(9):
            rows = np.array([row])
            _assert_identical(_run(single, positions.rows(rows)), _rows(together, rows), "alone")

    def test_a_search_remembers_nothing_of_the_one_before(self) -> None:
        """The same position again, after another one."""
        search = self.make(3, False, 2, 30)
        cells, to_move = np.zeros((2, 9), np.int8), np.array([1, -1], np.int8)
        fresh = search.run(cells[:1], to_move[:1], KeyedEvaluator())
        other = cells.copy()
        other[:, 4] = 1
        search.run(other, -to_move, KeyedEvaluator(), noise=1.0)
        _assert_identical(search.run(cells[:1], to_move[:1], KeyedEvaluator()), fresh, "after another search")

    def test_noise_comes_from_the_seed(self) -> None:
        """One seed gives the same noise again; another seed, or another row, gives another one."""
        cells, to_move = np.zeros((4, 16), np.int8), np.ones(4, np.int8)
        search = self.make(4, False, 4, 30)

        def visits(seed: int, noise: float) -> NDArray[np.int32]:
            return search.run(cells, to_move, KeyedEvaluator(), noise=noise, seed=seed).visits

        assert np.array_equal(visits(1, 1.0), visits(1, 1.0)), "one seed draws different noise"
        assert not np.array_equal(visits(1, 1.0), visits(2, 1.0)), "two seeds draw the same noise"
        assert not np.array_equal(visits(1, 1.0)[0], visits(1, 1.0)[1]), "two rows have the same noise"
        assert np.array_equal(visits(1, 0.0), visits(2, 0.0)), "there is noise at noise=0"

    def test_a_decided_position_is_refused(self) -> None:
        """By a `UsageError`, although another position of the batch can be searched."""
        cells = np.array([[0] * 9, [1, 0, 0, 1, -1, -1, 1, 0, 0]], np.int8)
        said = None
        try:
            self.make(3, False, 2, 4).run(cells, np.array([1, -1], np.int8), KeyedEvaluator())
        except UsageError as refused:
            said = str(refused)
        assert said is not None, "a decided position was searched"
        assert "decided" in said, f"the reason is not told: {said}"

    def test_a_position_one_move_from_its_end_stays_won(self) -> None:
        """By a move that ends it, or by another one that the exact solver knows to win."""
        positions = random_positions(4, 12, 1, before_the_end=True)
        result = _run(self.make(4, False, 12, self.enough), positions, RolloutEvaluator(16))
        solver = Solver(4)
        for board, colour, move in zip(
            positions.cells, positions.to_move.tolist(), result.action.tolist(), strict=True
        ):
            wins = solver.solve(board, colour).winning_moves
            assert move in wins, f"{move} is played, {list(wins)} win"

    def test_values_are_those_of_the_player_to_move(self) -> None:
        """A child's value enters its parent negated, once: White is lost after a stone in the middle of 3x3, and wins
        after one in the sharp corner.
        """
        cells, to_move = np.eye(9, dtype=np.int8)[[0, 4]], np.full(2, -1, np.int8)
        positions = Positions(cells, to_move, np.zeros(2, np.bool_))
        corner, middle = _run(self.make(3, False, 2, self.enough), positions, RolloutEvaluator(16)).value.tolist()
        assert middle < 0 < corner, f"White's value is {corner:.2f} after the corner, {middle:.2f} after the middle"


def _run(search: BatchSearch, positions: Positions, evaluator: Evaluator | None = None) -> SearchResult:
    return search.run(positions.cells, positions.to_move, evaluator or KeyedEvaluator(), ply=positions.ply)


def _rows(result: SearchResult, rows: NDArray[np.integer]) -> SearchResult:
    return SearchResult(*(getattr(result, field.name)[rows] for field in fields(SearchResult)))


def _assert_identical(found: SearchResult, expected: SearchResult, place: str) -> None:
    for name in (field.name for field in fields(SearchResult)):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), f"{place}: another {name}"
