"""Ratings from results, the sequential test, and the rating pool of a run."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from hexlit.arena.config import PoolConfig, SprtConfig
from hexlit.arena.players import Player, RandomPlayer
from hexlit.arena.ratings import (
    ELO,
    PairCounts,
    RatingPool,
    Sprt,
    bradley_terry,
    expected_score,
    rate,
)
from tests.arena.stand_ins import Lowest


def reference(wins: list[list[float]]) -> list[float]:
    """Bradley-Terry by Zermelo's iteration (1929; Hunter 2004), in Elo above player 0."""
    count = len(wins)
    strength = [1.0] * count
    for _ in range(20_000):
        for i in range(count):
            games = [(wins[i][j] + wins[j][i]) / (strength[i] + strength[j]) for j in range(count)]
            strength[i] = sum(wins[i]) / sum(games)
    return [400 * math.log10(value / strength[0]) for value in strength]


@pytest.mark.parametrize("seed", range(4))
def test_the_fit_is_that_of_a_plain_reference(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(2, 6))
    wins = random.integers(1, 30, (count, count)).astype(float)
    np.fill_diagonal(wins, 0)
    assert ELO * bradley_terry(wins, 0) == pytest.approx(reference(wins.tolist()), abs=1e-3)
    stacked = bradley_terry(np.stack([wins, wins.T]), count - 1)
    assert stacked[0] - stacked[0][0] == pytest.approx(bradley_terry(wins, 0), abs=1e-7)
    assert stacked[:, -1].tolist() == [0, 0]


def simulated(
    strengths: Mapping[str, float], pairs: int, seed: int, split: float = 0.0
) -> dict[tuple[str, str], PairCounts]:
    """A round robin; of the openings the share `split`
    gives each of the two a game whoever they are.
    """
    random = np.random.default_rng(seed)
    names = list(strengths)
    results = {}
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            chance = expected_score(strengths[first] - strengths[second])
            won = np.where(random.random(pairs) < split, 1, random.binomial(2, chance, pairs))
            counts = np.bincount(won, minlength=3).tolist()
            results[first, second] = (counts[0], counts[1], counts[2])
    return results


@pytest.mark.parametrize("split", [0.0, 0.6])
def test_intervals_hold_the_truth_as_often_as_they_say(split: float) -> None:
    """Also where most openings decide their games,
    so that the games of a pair are no independent ones.
    """
    held = []
    for seed in range(150):
        results = simulated({"a": 0.0, "b": 60.0, "c": 120.0}, 60, seed, split)
        chance = split / 2 + (1 - split) * expected_score(60)
        truth = ELO * math.log(chance / (1 - chance))
        rating = rate(["a", "b"], {("a", "b"): results["a", "b"]}, "a", seed=seed)[1]
        held.append(rating.low <= truth <= rating.high)
    assert 0.90 <= np.mean(held) <= 0.99


def test_a_perfect_score_is_finite_and_says_that_the_prior_holds_it() -> None:
    few, many = (rate(["a", "b"], {("a", "b"): (0, 0, pairs)}, "b") for pairs in (10, 200))
    assert few[0].elo == pytest.approx(400 * math.log10(2 * 10 + 1))
    assert few[0].elo < many[0].elo < 1500
    assert [rating.bound for rating in few] == ["at least", "at most"]
    assert few[0].low < few[0].elo < few[0].high
    assert few[0].low > 100
    even = rate(["a", "b"], {("a", "b"): (5, 0, 5)}, "b")
    assert even[0].elo == pytest.approx(0, abs=1e-6)
    assert [rating.bound for rating in even] == ["", ""]


def test_players_whom_no_games_connect_are_named() -> None:
    with pytest.raises(ValueError, match="no games connect c, d with the anchor a"):
        rate(
            ["a", "b", "c", "d"],
            {("a", "b"): (1, 2, 3), ("c", "d"): (1, 1, 1), ("a", "c"): (0, 0, 0)},
            "a",
        )
    chain = {("a", "b"): (1, 2, 3), ("c", "d"): (1, 1, 1), ("b", "d"): (0, 1, 0)}
    assert len(rate(["a", "b", "c", "d"], chain, "a")) == 4


def accepted(sprt: Sprt, elo: float, split: float, matches: int) -> tuple[float, float]:
    """Share of the matches that accept elo1,
    and their mean length in pairs, where the strengths differ by `elo`.
    """
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
    wrong, length = accepted(sprt, 0, 0.0, 120)
    right, other_length = accepted(sprt, 120, 0.0, 120)
    assert wrong <= 0.11
    assert right >= 0.89
    assert max(length, other_length) < 50


def test_openings_that_decide_their_games_do_not_spoil_the_error_rate() -> None:
    """Most pairs are split: a test that counted single games would see too much noise."""
    sprt = Sprt(SprtConfig(elo0=0, elo1=60, alpha=0.05, beta=0.05))
    wrong, _ = accepted(sprt, 0, 0.8, 100)
    assert wrong <= 0.12


def test_the_ratio_of_even_results_is_that_of_the_binomial_distribution() -> None:
    """Pairs won or lost as a whole are coin tosses, whose likelihood has a closed form."""
    sprt = Sprt(SprtConfig(elo0=0, elo1=100))
    better = expected_score(100)
    expected = 30 * math.log(better / 0.5) + 20 * math.log((1 - better) / 0.5)
    assert sprt.ratio((20, 0, 30)) == pytest.approx(expected, abs=0.01)
    assert sprt.ratio((0, 0, 0)) == 0
    assert sprt.ratio((30, 0, 20)) < 0 < sprt.ratio((5, 0, 45))


def pool_in(folder: Path, **settings: int) -> RatingPool:
    fixed: dict[str, Player] = {"random": RandomPlayer(1), "low": Lowest()}

    def restored(path: Path) -> Player:
        return RandomPlayer(int(path.read_text()))

    return RatingPool(folder, PoolConfig(pairs=4, **settings), fixed, restored, size=4, seed=9)


def play(pool: RatingPool, *epochs: int) -> None:
    for epoch in epochs:

        def save(path: Path, text: str = f"{epoch}") -> None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

        assert pool.play(epoch, RandomPlayer(epoch), save).name == f"epoch {epoch}"


def test_a_network_meets_the_fixed_players_and_networks_at_doubling_distances(
    tmp_path: Path,
) -> None:
    pool = pool_in(tmp_path)
    play(pool, 1, 3, 5, 7, 9, 11)
    opponents = [result.opponent for result in pool.results if result.epoch == 11]
    assert opponents == ["random", "low", "epoch 9", "epoch 7", "epoch 3"]
    assert all(sum(result.pairs) == 4 for result in pool.results)
    assert [rating.name for rating in pool.ratings[:3]] == ["random", "low", "epoch 1"]
    assert pool.ratings[0].elo == 0
    document = json.loads((tmp_path / "ratings.json").read_text())
    assert document["anchor"] == "random"
    assert len(document["results"]) == len(pool.results) == 2 + 3 + 4 + 4 + 5 + 5
    assert [row["name"] for row in document["ratings"]] == [rating.name for rating in pool.ratings]


def test_a_run_that_is_resumed_goes_on_with_its_pool_and_forgets_what_came_after_its_checkpoint(
    tmp_path: Path,
) -> None:
    whole = pool_in(tmp_path / "whole")
    play(whole, 0, 1, 2, 3)
    play(pool_in(tmp_path / "killed"), 0, 1, 2)
    resumed = pool_in(tmp_path / "killed")
    resumed.resume(2)
    assert {result.epoch for result in resumed.results} == {0, 1}
    assert [path.name for path in sorted(resumed.networks.iterdir())] == ["000000.pt", "000001.pt"]
    play(resumed, 2, 3)
    assert resumed.results == whole.results
    assert resumed.ratings == whole.ratings
    anew = pool_in(tmp_path / "killed")
    anew.resume(0)
    assert (anew.results, anew.ratings, list(anew.networks.iterdir())) == ([], [], [])
