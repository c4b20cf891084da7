"""Dirichlet noise in the priors of PUCT's root."""

import numpy as np
import pytest
from numpy.typing import NDArray

from hexlit.search.config import PuctConfig, SearchConfig
from hexlit.search.search import Search
from hexlit.testing.stand_ins import KeyedEvaluator

GAMES = 400


def root_priors(
    noise: float, share: float = 0.25, total: float = 10.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The root's priors without and with noise after one simulation from a 3×3 board with one stone, `[GAMES, 9]`."""
    search = Search(SearchConfig("puct", 1, puct=PuctConfig(noise_share=share, noise_total=total)), size=3, games=GAMES)
    cells = np.zeros((GAMES, 9), np.int8)
    cells[:, 4] = -1
    search.run(cells, np.ones(GAMES, np.int8), KeyedEvaluator(), noise=noise, seed=5)
    noisy = search.tree.policy[:, 0].astype(float)
    child = search.tree.node[:, 1]
    noisy[np.arange(GAMES), child["action"]] = child["prior"]
    return search.tree.root_policy.astype(float), noisy


@pytest.mark.parametrize(("noise", "share"), [(1.0, 0.25), (0.5, 0.25), (1.0, 0.9)])
def test_noise_moves_priors_by_its_share_at_most_and_keeps_their_sum(noise: float, share: float) -> None:
    plain, noisy = root_priors(noise, share)
    assert np.allclose(noisy.sum(axis=1), 1, atol=1e-5)
    assert (noisy >= 0).all()
    assert (noisy[:, 4] == 0).all()
    assert (np.abs(noisy - plain) <= noise * share + 1e-6).all()
    assert np.abs(noisy - plain).max() > noise * share / 4
    assert len(np.unique(noisy.round(6), axis=0)) == GAMES


def test_noise_is_a_dirichlet_with_the_same_mean_and_the_right_spread_for_every_legal_move() -> None:
    plain, noisy = root_priors(1.0)
    noise = ((noisy - 0.75 * plain) / 0.25)[:, [0, 1, 2, 3, 5, 6, 7, 8]]
    # Dirichlet(10/8, ...) over 8 moves: mean 1/8, variance (1/8)(7/8) / 11.
    variance = 1 / 8 * 7 / 8 / 11
    assert np.allclose(noise.mean(axis=0), 1 / 8, atol=5 * np.sqrt(variance / GAMES))
    assert noise.var() == pytest.approx(variance, rel=0.15)


def test_without_noise_the_priors_are_the_evaluators() -> None:
    for noise, share in ((0.0, 0.25), (1.0, 0.0)):
        plain, noisy = root_priors(noise, share)
        assert np.array_equal(noisy, plain)


def test_noise_so_uneven_that_every_draw_vanishes_leaves_the_priors_alone() -> None:
    plain, noisy = root_priors(1.0, total=1e-300)
    assert np.isfinite(noisy).all()
    assert np.allclose(noisy.sum(axis=1), 1, atol=1e-5)
    assert np.array_equal(noisy, plain)
