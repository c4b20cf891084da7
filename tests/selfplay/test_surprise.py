"""Sampling by policy surprise."""

import math
from collections import Counter

import numpy as np
import pytest

from hexlit.hex.jit import kernel
from hexlit.selfplay.surprise import divergence, drawn_by_weight, surprise_weights


@kernel
def _divergence(policy: np.ndarray, prior: np.ndarray) -> float:
    return divergence(policy, prior)


@pytest.mark.parametrize("seed", range(5))
def test_the_divergence_is_that_of_its_definition(seed: int) -> None:
    random = np.random.default_rng(seed)
    policy, prior = (random.dirichlet(np.full(9, 0.3)).astype(np.float32) for _ in range(2))
    policy[seed] = 0
    prior[8] = policy[8] = 0
    policy /= policy.sum()
    pairs = zip(policy.tolist(), prior.tolist(), strict=True)
    expected = sum(p * math.log(p / q) for p, q in pairs if p)
    assert _divergence(policy, prior) == pytest.approx(max(0.0, expected), rel=1e-4)
    assert _divergence(policy, policy) == pytest.approx(0.0, abs=1e-6)


def test_a_share_of_the_draws_follows_the_surprise_and_the_rest_is_even() -> None:
    weights = surprise_weights(np.array([0, 1, 3, 0], np.float32), 0.5)
    assert weights.tolist() == [0.5, 1.0, 2.0, 0.5]
    assert surprise_weights(np.array([0, 1, 3, 0], np.float32), 1.0).tolist() == [0, 1, 3, 0]
    assert surprise_weights(np.zeros(3, np.float32), 0.5).tolist() == [1, 1, 1]


@pytest.mark.parametrize("draws", [1, 7, 100, 1001])
def test_every_row_comes_as_often_as_its_weight_says_give_or_take_one(draws: int) -> None:
    random = np.random.default_rng(3)
    weights = np.append(random.exponential(size=60), 0.0)
    found = drawn_by_weight(random, weights, draws)
    counts = Counter(found.tolist())
    assert len(found) == draws
    assert counts[60] == 0
    expected = draws * weights / weights.sum()
    assert all(abs(counts[row] - expected[row]) < 1 for row in range(61))


def test_over_many_epochs_the_shares_are_those_of_the_weights() -> None:
    """A row of weight 1/8 among 4 draws comes in half of the epochs."""
    random = np.random.default_rng(0)
    weights = np.array([1.0, 3.0, 2.0, 2.0])
    total = sum(np.bincount(drawn_by_weight(random, weights, 4), minlength=4) for _ in range(4000))
    assert total / 16000 == pytest.approx(weights / 8, abs=0.01)


def test_the_order_of_the_draws_does_not_follow_the_rows() -> None:
    found = drawn_by_weight(np.random.default_rng(1), np.ones(1000), 1000)
    assert sorted(found.tolist()) == list(range(1000))
    assert abs(np.corrcoef(found, np.arange(1000))[0, 1]) < 0.15
