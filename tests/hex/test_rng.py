"""Draws that depend on their key and on nothing else."""

import itertools
import math

import numpy as np
import pytest

from hexlit.hex.rng import (
    BUDGET,
    MOVE,
    NOISE,
    OPENING,
    PLAYOUT,
    RESIGN,
    SYMMETRY,
    gamma,
    gumbel,
    key,
    uniform,
)

PURPOSES = (MOVE, OPENING, BUDGET, NOISE, RESIGN, PLAYOUT, SYMMETRY)


def key_of(seed: int = 0, game: int = 0, ply: int = 0, purpose: int = MOVE) -> np.uint64:
    return np.uint64(key(seed, game, ply, purpose))


def test_a_draw_does_not_depend_on_the_order_of_work() -> None:
    """The same keys in another order, with other draws between, give the same numbers."""
    wanted = list(itertools.product(range(3), range(10), range(5), range(4)))
    forwards = {case: uniform(key_of(*case[:3]), case[3]) for case in wanted}
    for case in np.random.default_rng(0).permutation(wanted).tolist():
        gamma(key_of(9, 9), 0.3)
        assert uniform(key_of(*case[:3]), case[3]) == forwards[tuple(case)]


def test_no_two_decisions_share_a_key() -> None:
    """Seeds, games, plies and purposes."""
    cases = list(itertools.product((0, 1, 2**31, 2**62), range(40), range(60), PURPOSES))
    assert len({int(key_of(*case)) for case in cases}) == len(cases)


def test_uniform_numbers_are_uniform_whichever_part_of_the_key_moves() -> None:
    count, bins = 20_000, 20
    streams = {
        "draw": [uniform(key_of(5), i) for i in range(count)],
        "seed": [uniform(key_of(seed), 0) for seed in range(count)],
        "game": [uniform(key_of(5, game), 0) for game in range(count)],
        "ply": [uniform(key_of(5, 0, ply), 0) for ply in range(count)],
    }
    for name, numbers in streams.items():
        x = np.array(numbers)
        assert x.min() >= 0
        assert x.max() < 1
        counts = np.histogram(x, bins, (0, 1))[0]
        chi_square = float(((counts - count / bins) ** 2 / (count / bins)).sum())
        assert chi_square < 19 + 5 * math.sqrt(2 * 19), name
        neighbours = float(np.corrcoef(x[:-1], x[1:])[0, 1])
        assert abs(neighbours) < 5 / math.sqrt(count), name


@pytest.mark.parametrize("alpha", [0.05, 0.4, 1.0, 2.5, 30.0])
def test_gamma_variates_have_mean_and_variance_alpha(alpha: float) -> None:
    count = 20_000
    x = np.array([gamma(key_of(3, game, 0, NOISE), alpha) for game in range(count)])
    assert x.min() >= 0
    assert x.mean() == pytest.approx(alpha, abs=5 * math.sqrt(alpha / count))
    assert x.var() == pytest.approx(alpha, abs=5 * math.sqrt((2 * alpha**2 + 6 * alpha) / count))


def test_the_largest_logit_with_gumbel_noise_follows_the_softmax() -> None:
    count = 20_000
    share = np.array([0.5, 0.3, 0.15, 0.05])
    noise = np.array(
        [
            [gumbel(key_of(1, game, 0, NOISE), action) for action in range(4)]
            for game in range(count)
        ]
    )
    chosen = np.bincount((np.log(share) + noise).argmax(1), minlength=4) / count
    assert np.abs(chosen - share).max() < 5 * math.sqrt(0.25 / count)
    assert noise.mean() == pytest.approx(np.euler_gamma, abs=5 * math.pi / math.sqrt(6 * 4 * count))
