"""The measure of strength: full marks for perfect knowledge, bad ones for wrong knowledge."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hexlit.arena.config import EvaluationConfig
from hexlit.arena.strength import SOLVED_SIZES, Figures, Strength
from hexlit.hex.encoding import OPPONENT, OWN
from hexlit.hex.solver import Solver
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import RolloutEvaluator, UniformEvaluator


class Oracle:
    """Policy and value of the exact solver; or, `wrong`, the opposite of everything it says."""

    def __init__(self, size: int, *, wrong: bool = False) -> None:
        self.solver = Solver(size)
        self.wrong = wrong
        self.known: dict[bytes, tuple[float, NDArray[np.float32]]] = {}

    def evaluate(self, planes: NDArray[np.int8], policy: NDArray[np.float32], value: NDArray[np.float32]) -> None:
        policy.fill(0.0)
        for row, position in enumerate(planes):
            cells = (position[OWN] - position[OPPONENT]).ravel()
            key = cells.tobytes()
            if key not in self.known:
                self.known[key] = self.judge(cells)
            value[row], policy[row, : cells.size] = self.known[key]

    def judge(self, cells: NDArray[np.int8]) -> tuple[float, NDArray[np.float32]]:
        solution = self.solver.solve(cells, 1)
        empty = cells == 0
        good = np.zeros(cells.size, np.bool_)
        good[list(solution.winning_moves)] = True
        liked = empty & ~good if self.wrong else good
        weights = np.where(liked if liked.any() else empty, 1.0, 0.0).astype(np.float32)
        return float(-solution.winner if self.wrong else solution.winner), weights / max(weights.sum(), 1)


def measured(size: int, evaluator: object, *, final: bool = True, simulations: int = 8, swap: bool = False) -> Figures:
    config = EvaluationConfig(simulations=simulations, positions=60, quick_positions=20)
    strength = Strength(config, SearchConfig(), size=size, swap=swap, batch=64)
    return strength.measure(evaluator, final=final)  # type: ignore[arg-type]


@pytest.mark.parametrize("swap", [False, True])
def test_perfect_knowledge_gets_full_marks(swap: bool) -> None:
    """E5: all 25 openings and every winning move."""
    figures = measured(5, Oracle(5), swap=swap)
    assert (figures["openings"], figures["openings_right"]) == (25, 25)
    assert figures["search_optimality"] == figures["policy_optimality"] == figures["score"] == 1.0
    assert figures["positions"] == 60


def test_wrong_knowledge_gets_bad_marks() -> None:
    """E5: the measure can fail. In some positions every move wins; there even the worst player is right."""
    figures = measured(5, Oracle(5, wrong=True), simulations=2)
    # Liking only moves that lose, and believing that they win, it finds every opening good for White.
    assert figures["openings_right"] == 12
    assert isinstance(figures["policy_optimality"], float)
    assert figures["policy_optimality"] < 0.4
    assert isinstance(figures["search_optimality"], float)
    assert figures["search_optimality"] < 0.6


def test_little_knowledge_lies_between_and_more_search_helps() -> None:
    """E5."""
    few, many = (measured(4, RolloutEvaluator(8), simulations=simulations) for simulations in (1, 200))
    assert isinstance(few["search_optimality"], float)
    assert isinstance(many["search_optimality"], float)
    assert few["search_optimality"] + 0.1 < many["search_optimality"]
    assert few["policy_optimality"] == many["policy_optimality"]


def test_the_map_of_the_openings_is_seen_from_black() -> None:
    figures = measured(4, Oracle(4))
    values, truth = figures["opening_map"], figures["opening_truth"]
    assert isinstance(values, list)
    assert isinstance(truth, list)
    assert len(values) == len(truth) == 16
    assert [value > 0 for value in values] == truth
    assert any(truth)
    assert not all(truth)


def test_quick_figures_use_fewer_positions() -> None:
    assert measured(4, UniformEvaluator(), final=False)["positions"] == 20


def test_positions_are_kept_between_measurements_and_runs(tmp_path: Path) -> None:
    config = EvaluationConfig(simulations=4, positions=30)
    arguments = {"size": 4, "swap": False, "batch": 16, "cache": tmp_path}
    first = Strength(config, SearchConfig(), **arguments)  # type: ignore[arg-type]
    figures = [first.measure(UniformEvaluator(), final=True) for _ in range(2)]
    again = Strength(config, SearchConfig(), **arguments)  # type: ignore[arg-type]
    assert figures[0] == figures[1] == again.measure(UniformEvaluator(), final=True)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("size", [2, 8])
def test_other_boards_are_measured_by_a_match_against_rollouts(size: int) -> None:
    assert size not in SOLVED_SIZES
    config = EvaluationConfig(simulations=2, rollouts=1, match_pairs=1 if size == 2 else 2)
    figures = Strength(config, SearchConfig(), size=size, swap=False, batch=16).measure(UniformEvaluator(), final=True)
    assert figures["score"] == figures["rollouts_share"]
    assert 0 <= figures["score"] <= 1  # type: ignore[operator]


def test_the_default_settings_work_on_every_board_that_can_be_trained() -> None:
    """E5: also where a board has fewer openings than the match would like."""
    config = EvaluationConfig(simulations=1, rollouts=1)
    strength = Strength(config, SearchConfig(), size=2, swap=False, batch=16)
    assert "score" in strength.measure(UniformEvaluator(), final=True)
