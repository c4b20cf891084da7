"""The sequential test keeps its error rates, and stops soon."""

import math
from typing import Any

import numpy as np
import pytest

from hexlit.arena.config import SprtConfig
from hexlit.arena.sprt import Sprt, expected_score
from hexlit.errors import UsageError


def simulated(sprt: Sprt, elo: float, split: float, matches: int) -> tuple[float, float]:
    """Share of the matches that accept elo1, and their mean length in pairs, where the strengths differ by `elo`."""
    random = np.random.default_rng(2)
    accepted, played = 0, 0
    for _ in range(matches):
        counts = [0, 0, 0]
        while not (decision := sprt.decision((counts[0], counts[1], counts[2]))):
            won = 1 if random.random() < split else random.binomial(2, expected_score(elo))
            counts[won] += 1
        accepted += decision == "elo1"
        played += sum(counts)
    return accepted / matches, played / matches


def test_errors_are_as_rare_as_asked_for() -> None:
    """Over 120 matches each; 6% more than asked for is three standard deviations."""
    sprt = Sprt(SprtConfig(elo0=0, elo1=120, alpha=0.05, beta=0.05))
    wrong, length = simulated(sprt, 0, 0.0, 120)
    right, other_length = simulated(sprt, 120, 0.0, 120)
    assert wrong <= 0.11
    assert right >= 0.89
    assert max(length, other_length) < 50


def test_openings_that_decide_their_games_do_not_spoil_the_error_rate() -> None:
    """Most pairs are split: a test that counted single games would see too much noise."""
    sprt = Sprt(SprtConfig(elo0=0, elo1=60, alpha=0.05, beta=0.05))
    wrong, _ = simulated(sprt, 0, 0.8, 100)
    assert wrong <= 0.12


def test_the_ratio_of_even_results_is_that_of_the_binomial_distribution() -> None:
    """Pairs won or lost as a whole are coin tosses, whose likelihood has a closed form."""
    sprt = Sprt(SprtConfig(elo0=0, elo1=100))
    better = expected_score(100)
    expected = 30 * math.log(better / 0.5) + 20 * math.log((1 - better) / 0.5)
    assert sprt.ratio((20, 0, 30)) == pytest.approx(expected, abs=0.01)
    assert sprt.ratio((0, 0, 0)) == 0
    assert sprt.ratio((30, 0, 20)) < 0 < sprt.ratio((5, 0, 45))


def test_a_match_without_a_loss_is_decided_soon() -> None:
    sprt = Sprt(SprtConfig(elo0=0, elo1=50))
    lengths = [pairs for pairs in range(200) if sprt.decision((0, 0, pairs))]
    assert sprt.decision((0, 0, lengths[0])) == "elo1"
    assert 10 < lengths[0] < 60
    assert sprt.decision((lengths[0], 0, 0)) == "elo0"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"elo0": 5.0, "elo1": 5.0}, "elo0 must be below elo1"),
        ({"elo0": 5.0, "elo1": float("nan")}, "elo0 must be below elo1"),
        ({"elo0": -1e7, "elo1": 0.0}, "both from -2000 to 2000"),
        ({"elo0": 0.0, "elo1": 1e7}, "both from -2000 to 2000"),
        ({"alpha": 0.0}, "sprt.alpha=0"),
        ({"beta": 0.5}, "sprt.beta=0.5"),
        ({"every": 0}, "sprt.every=0"),
    ],
)
def test_settings_that_make_no_test_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        SprtConfig(**settings)
