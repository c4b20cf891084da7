"""The rules of the search: their settings, the table of sequential halving, noise at the root."""

import numpy as np
import pytest
from numpy.typing import NDArray

from hexlit.search.config import ALGORITHMS, GumbelConfig, PuctConfig, SearchConfig
from hexlit.search.rule import compiled_params
from hexlit.search.rules.gumbel import halving_row
from hexlit.search.search import TreeSearch
from hexlit.testing.stand_ins import KeyedEvaluator
from tests.hex.reference import Game
from tests.search.positions import random_games, search_games
from tests.search.reference import considered_visits, planes_of


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_setting_reaches_compiled_code(algorithm: str, swap: bool) -> None:
    gumbel = GumbelConfig(considered=3, value_scale=0.7, visit_offset=9.0, rescale=True)
    puct = PuctConfig(c_init=2.0, c_base=7.0, fpu_reduction=0.4, noise_share=0.1, noise_total=3.0)
    settings = SearchConfig(algorithm, 5, gumbel, puct, leaves=2, root_batch=True)
    params = compiled_params(settings, budgets=(5, 2), swap=swap)
    assert (params.root_batch, params.swap) == (True, swap)
    rule = params.rule._asdict()
    if algorithm == "puct":
        assert rule == vars(puct)
        return
    schedule = rule.pop("schedule")
    assert rule == vars(gumbel)
    assert schedule[0, 3].tolist() == list(halving_row(3, 5))
    assert schedule[1, 3, :2].tolist() == list(halving_row(3, 2))


def test_the_schedule_is_that_of_the_paper() -> None:
    """All numbers of considered moves to 64, and of simulations to 200."""
    for considered in range(65):
        for simulations in (*range(1, 66), 100, 128, 200):
            assert list(halving_row(considered, simulations)) == considered_visits(
                considered, simulations
            )


@pytest.mark.parametrize("considered", [1, 2, 5, 16, 40])
@pytest.mark.parametrize("simulations", [1, 7, 16, 50])
def test_visits_of_the_root_follow_the_schedule(considered: int, simulations: int) -> None:
    """The numbers of visits are those of the schedule, whichever moves they fall on."""
    config = SearchConfig("gumbel", simulations, gumbel=GumbelConfig(considered=considered))
    for game in [Game(4), *random_games(seed=considered, count=4)]:
        moves = game.size**2 - len(game.moves)
        expected = [0] * moves
        for wanted in considered_visits(min(considered, moves), simulations):
            expected[expected.index(wanted)] += 1
        visits = search_games([game], config, KeyedEvaluator()).visits[0]
        assert sorted(visits[visits > 0].tolist()) == sorted(n for n in expected if n)


def test_without_noise_the_moves_with_the_highest_priors_are_considered() -> None:
    config = SearchConfig("gumbel", 8, gumbel=GumbelConfig(considered=8))
    game = Game(4, moves=[5])
    evaluator = KeyedEvaluator()
    policy, value = np.zeros((1, 16), np.float32), np.zeros(1, np.float32)
    visits = search_games([game], config, evaluator).visits[0]
    evaluator.evaluate(planes_of(game), policy, value)
    priors = policy.reshape(4, 4).T.ravel()  # White's frame
    priors[5] = 0
    assert set(np.flatnonzero(visits)) == set(np.argsort(priors)[-8:])


GAMES = 400


def root_priors(
    noise: float, share: float = 0.25, total: float = 10.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The root's priors without and with noise after one
    simulation from a 3×3 board with one stone, `[GAMES, 9]`.
    """
    search = TreeSearch(
        SearchConfig("puct", 1, puct=PuctConfig(noise_share=share, noise_total=total)),
        size=3,
        games=GAMES,
    )
    cells = np.zeros((GAMES, 9), np.int8)
    cells[:, 4] = -1
    search.run(cells, np.ones(GAMES, np.int8), KeyedEvaluator(), noise=noise, seed=5)
    noisy = search.tree.policy[:, 0].astype(float)
    child = search.tree.node[:, 1]
    noisy[np.arange(GAMES), child["action"]] = child["prior"]
    return search.tree.root_policy.astype(float), noisy


@pytest.mark.parametrize(("noise", "share"), [(1.0, 0.25), (0.5, 0.25), (1.0, 0.9)])
def test_noise_moves_priors_by_its_share_at_most_and_keeps_their_sum(
    noise: float, share: float
) -> None:
    plain, noisy = root_priors(noise, share)
    assert np.allclose(noisy.sum(axis=1), 1, atol=1e-5)
    assert (noisy >= 0).all()
    assert (noisy[:, 4] == 0).all()
    assert (np.abs(noisy - plain) <= noise * share + 1e-6).all()
    assert np.abs(noisy - plain).max() > noise * share / 4
    assert len(np.unique(noisy.round(6), axis=0)) == GAMES


def test_noise_is_a_dirichlet_with_the_same_mean_and_the_right_spread_for_every_legal_move() -> (
    None
):
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
