"""The rating pool of a run: networks against earlier ones and fixed players, and a run that is resumed."""

import json
from pathlib import Path

import pytest

from hexlit.arena.config import PoolConfig
from hexlit.arena.players import Player, RandomPlayer
from hexlit.arena.ratings import RatingPool
from hexlit.errors import UsageError
from tests.arena.stand_ins import Lowest


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


def test_a_network_meets_the_fixed_players_and_networks_at_doubling_distances(tmp_path: Path) -> None:
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


def test_a_run_that_is_resumed_goes_on_with_its_pool_and_forgets_what_came_after_its_checkpoint(tmp_path: Path) -> None:
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


def test_a_board_with_fewer_openings_than_pairs_plays_those_it_has(tmp_path: Path) -> None:
    pool = RatingPool(tmp_path, PoolConfig(pairs=16), {"random": RandomPlayer(1)}, RandomPlayer, size=2, seed=0)  # type: ignore[arg-type]
    pool.play(0, RandomPlayer(2), lambda path: None)
    assert sum(pool.results[0].pairs) == 2


def test_ratings_that_cannot_be_read_are_refused_by_their_file(tmp_path: Path) -> None:
    (tmp_path / "ratings.json").write_text('{"results": [{"epoch": 1}]}')
    with pytest.raises(UsageError, match=r"ratings\.json: not the ratings of a run"):
        pool_in(tmp_path).resume(5)


@pytest.mark.parametrize(("key", "value"), [("every_epochs", -1), ("pairs", 0), ("opponents", 0)])
def test_settings_out_of_range_are_refused_by_name(key: str, value: int) -> None:
    with pytest.raises(UsageError, match=f"evaluation.pool.{key}={value}"):
        PoolConfig(**{key: value})
