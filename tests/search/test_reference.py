"""The compiled searches against the plain Python ones: the same trees, visit by visit."""

from dataclasses import replace

import numpy as np
import pytest

from hexlit.hex.rng import NOISE, gumbel, key
from hexlit.search.config import ALGORITHMS, SearchConfig
from hexlit.testing.stand_ins import KeyedEvaluator
from tests.hex.reference import Game
from tests.search import reference
from tests.search.positions import VARIANTS, random_games, search_games


def assert_same(game: Game, config: SearchConfig, seed: int | None = None) -> None:
    """One position, searched both ways; with root noise drawn from `seed` when there is one."""
    evaluator = KeyedEvaluator()
    gumbels = None
    if seed is not None:
        k = np.uint64(key(seed, 0, len(game.moves), NOISE))
        gumbels = np.array([gumbel(k, action) for action in range(game.size**2 + game.swap)])
    expected = reference.search(game, config, evaluator, gumbels)
    found = search_games(
        [game], config, evaluator, noise=0.0 if seed is None else 1.0, seed=seed or 0
    )
    assert found.visits[0].tolist() == expected.visits, (game.size, game.moves, config)
    assert found.action[0] == expected.action
    assert found.policy[0] == pytest.approx(expected.policy, abs=2e-5)
    assert found.value[0] == pytest.approx(expected.value, abs=2e-5)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_compiled_search_visits_what_plain_python_visits(algorithm: str, swap: bool) -> None:
    """Identical visit counts on random positions of sizes 3 to 5,
    1 to 64 simulations, all settings.
    """
    random = np.random.default_rng(len(algorithm))
    for number, game in enumerate(
        random_games(seed=number_of(algorithm, swap), count=120, swap=swap)
    ):
        variant = VARIANTS[algorithm][number % len(VARIANTS[algorithm])]
        assert_same(game, replace(variant, simulations=int(random.integers(1, 65))))


def number_of(algorithm: str, swap: bool) -> int:
    return 2 * ALGORITHMS.index(algorithm) + swap


def test_gumbel_noise_at_the_root_is_that_of_the_key() -> None:
    """Sequential halving with noise, the draws being those of (seed, index, ply)."""
    for seed, game in enumerate(random_games(seed=9, count=40, swap=True)):
        assert_same(game, SearchConfig("gumbel", simulations=20 + seed), seed=seed + 100)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_small_boards_searched_through_to_the_end_agree_too(algorithm: str) -> None:
    """Trees with many fully tried nodes and many decided games."""
    for game in [
        Game(2),
        Game(2, swap=True),
        Game(2, moves=[1]),
        Game(3, moves=[4, 0]),
        Game(3, swap=True, moves=[4]),
    ]:
        assert_same(game, SearchConfig(algorithm, simulations=150))
