"""The measure of strength: full marks for perfect knowledge, bad ones for wrong knowledge."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hexlit.arena import strength
from hexlit.arena.config import EvaluationConfig, StrengthTargetConfig
from hexlit.arena.players import SearchPlayer
from hexlit.arena.ratings import macs_to_perfect
from hexlit.arena.strength import (
    SOLVED_SIZES,
    Figures,
    Strength,
    opening_values,
    target_of,
)
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator, RolloutEvaluator, UniformEvaluator
from tests.arena.oracle import Oracle


def measured(
    size: int, evaluator: object, *, final: bool = True, simulations: int = 8, swap: bool = False
) -> Figures:
    config = EvaluationConfig(
        simulations=simulations, positions=60, quick_positions=20, game_positions=12
    )
    strength = Strength(config, SearchConfig(), size=size, swap=swap, batch=64)
    return strength.measure(evaluator, final=final)  # type: ignore[arg-type]


@pytest.mark.parametrize("swap", [False, True])
def test_perfect_knowledge_gets_full_marks(swap: bool) -> None:
    """All 25 openings and every winning move."""
    figures = measured(5, Oracle(5), swap=swap)
    assert (figures["openings"], figures["openings_right"]) == (25, 25)
    assert figures["search_optimality"] == figures["policy_optimality"] == 1.0
    assert figures["score"] == (60 + 25 + 1) / (60 + 25 + 2)
    assert figures["positions"] == 60


def test_a_measurement_that_may_prove_takes_few_positions_until_they_come_near() -> None:
    target = StrengthTargetConfig(enabled=True)
    config = EvaluationConfig(
        simulations=2, positions=60, quick_positions=40, game_positions=12, target=target
    )
    strength = Strength(config, SearchConfig(), size=4, swap=False, batch=64)
    far = strength.measure(UniformEvaluator(), final=False)
    near = strength.measure(Oracle(4), final=False)
    assert (far["positions"], near["positions"]) == (8, 40)
    assert strength.measure(UniformEvaluator(), final=True)["positions"] == 60


def test_the_value_alone_and_positions_from_games_get_full_marks_for_perfect_knowledge() -> None:
    figures = measured(4, Oracle(4))
    assert figures["value_openings_right"] == figures["openings"] == 16
    for name in ("opening_map", "value_opening_map"):  # seen from Black
        assert [value > 0 for value in figures[name]] == figures["opening_truth"]
    assert figures["value_brier"] == figures["value_calibration_error"] == 0.0
    assert figures["value_sign_accuracy"] == 1.0
    assert figures["games_policy_optimality"] == figures["games_search_optimality"] == 1.0
    assert figures["game_positions"] == 12


def test_a_value_that_is_always_wrong_or_always_half_gets_what_it_deserves() -> None:
    """The measure can fail."""
    wrong = measured(4, Oracle(4, wrong=True), simulations=2)
    assert wrong["value_openings_right"] == 0
    assert wrong["value_brier"] == 1.0
    assert wrong["value_sign_accuracy"] == 0.0
    half = measured(4, UniformEvaluator())
    assert half["value_brier"] == 0.25
    assert half["value_log_loss"] == pytest.approx(np.log(2))
    assert (
        half["value_openings_right"] == 16 - 4
    )  # nobody is ahead: not won, which is wrong of the four winners


def test_little_knowledge_lies_between_and_more_search_helps() -> None:
    few, many = (
        measured(4, RolloutEvaluator(8), simulations=simulations) for simulations in (1, 200)
    )
    assert isinstance(few["search_optimality"], float)
    assert isinstance(many["search_optimality"], float)
    assert few["search_optimality"] + 0.1 < many["search_optimality"]
    assert few["policy_optimality"] == many["policy_optimality"]


def test_openings_share_the_batches_of_the_positions() -> None:
    """25 openings and 20 positions in a batch of 64 are one search;
    the policy is asked three times.
    """

    class Counted(UniformEvaluator):
        calls = 0

        def evaluate(self, *arguments: Any) -> None:
            self.calls += 1
            super().evaluate(*arguments)

    evaluator = Counted()
    figures = measured(5, evaluator, final=False)
    assert evaluator.calls <= 1 + 8 + 3
    values = opening_values(
        SearchPlayer(SearchConfig(simulations=8), UniformEvaluator(), size=5, batch=25).judge, 5
    )
    assert figures["opening_map"] == values.tolist()


def test_positions_that_a_run_looks_at_are_not_those_of_its_final_figures(tmp_path: Path) -> None:
    """The positions that end a run and choose its
    best epoch must not be those of the final figures.
    """
    config = EvaluationConfig(simulations=1, positions=60, quick_positions=60, game_positions=12)
    strength = Strength(config, SearchConfig(), size=5, swap=False, batch=16, cache=tmp_path)
    for final in (False, True):
        strength.measure(UniformEvaluator(), final=final)
    seen, judged = (
        {cells.tobytes() for cells in positions.cells if np.count_nonzero(cells) > 2}
        for positions in (strength._random_positions(False), strength._random_positions(True))
    )
    assert len(seen) == len(judged) > 50
    assert not seen & judged, "boards with more than two stones repeat in no draw"
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("target", "every", "size", "expected"),
    [
        (StrengthTargetConfig(), 1, 5, None),
        (StrengthTargetConfig(enabled=True), 0, 5, None),
        (StrengthTargetConfig(enabled=True), 1, 9, None),
        (
            StrengthTargetConfig(enabled=True, policy_optimality=0.9),
            1,
            5,
            {"openings_right": 25.0, "search_optimality": 0.99, "policy_optimality": 0.9},
        ),
    ],
)
def test_a_target_is_all_openings_and_the_two_shares_where_they_can_be_measured(
    target: StrengthTargetConfig, every: int, size: int, expected: dict[str, float] | None
) -> None:
    assert target_of(EvaluationConfig(every_epochs=every, target=target), size) == expected


def test_elo_to_perfect_play_tells_the_perfect_from_others() -> None:
    """Perfect play itself has 0; what knows nothing loses nearly all."""
    found, evaluators = {}, dict[str, Evaluator](oracle=Oracle(4), uniform=UniformEvaluator())
    for name, evaluator in evaluators.items():
        config = EvaluationConfig(
            simulations=8, positions=20, quick_positions=20, game_positions=12, perfect_pairs=30
        )
        strength = Strength(config, SearchConfig(), size=4, swap=False, batch=16)
        found[name] = strength.measure(evaluator, final=False)
    assert found["oracle"]["elo_to_perfect"] == pytest.approx(0, abs=1e-6)
    assert found["uniform"]["elo_to_perfect"] < -150
    for figures in found.values():
        low, high = figures["elo_interval"]
        assert low < figures["elo_to_perfect"] < high


def test_the_way_to_perfect_play_is_measured_at_50_elo_and_estimated_before() -> None:
    assert macs_to_perfect(1e9, -20.0) == macs_to_perfect(1e9, -50.0) == 1e9
    assert macs_to_perfect(1e9, -550.0) == pytest.approx(1e10)


@pytest.mark.parametrize("size", [2, 9])
def test_other_boards_are_measured_by_a_match_against_rollouts(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert size not in SOLVED_SIZES
    monkeypatch.setattr(strength, "MATCH_PAIRS", 1 if size == 2 else 2)
    config = EvaluationConfig(simulations=2)
    figures = Strength(config, SearchConfig(), size=size, swap=False, batch=16).measure(
        UniformEvaluator(), final=True
    )
    assert figures["score"] == figures["rollouts_share"]
    assert 0 <= figures["score"] <= 1
