"""Recorded games as a data module: epochs, validation, and the account of a store's games."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.errors import UsageError
from hexlit.hex.record import GameRecord
from hexlit.tasks.hex.config import DataConfig, HexTrainConfig
from hexlit.tasks.hex.data import GamesDataModule
from tests.selfplay.recorded_games import Position, expected, plies_of, random_games, save

RECORDS = random_games(80, 4)
BATCH = 64


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("games") / "store", RECORDS)


def data_of(store: Path, *, workers: int = 0, epoch: int = 0, **settings: Any) -> GamesDataModule:
    profile = build_profile(
        AcceleratorConfig(
            device="cpu", workers=workers, train_batch=settings.pop("train_batch", BATCH), threads=1
        )
    )
    board, seed = settings.pop("board", 4), settings.pop("seed", 1)
    config = HexTrainConfig(
        board=board, seed=seed, data=DataConfig(source="games", path=str(store), **settings)
    )
    data = GamesDataModule(config, profile, store.parent / "cache")
    data.trainer = SimpleNamespace(current_epoch=epoch)  # type: ignore[assignment]
    return data


def positions(loader: Any) -> list[Position]:
    return [
        (planes.numpy().tobytes(), policy.numpy().tobytes(), float(value))
        for batch in loader
        for planes, policy, value in zip(*batch[:3], strict=True)
    ]


def of_games(records: list[GameRecord]) -> list[Position]:
    return [
        expected(record, ply, swap=False)
        for record in records
        for ply in plies_of(record, swap=False)
    ]


def held_out(data: GamesDataModule) -> tuple[list[GameRecord], list[GameRecord]]:
    games = set(data.positions.games_of(data.validation.rows).tolist())
    train = [record for number, record in enumerate(RECORDS) if number not in games]
    return train, [RECORDS[game] for game in sorted(games)]


def test_an_epoch_shows_every_training_position_once_turned_or_not_and_none_of_the_others(
    store: Path,
) -> None:
    data = data_of(store, train_batch=1)
    train, _ = held_out(data)
    either = {}
    for record in train:
        for ply in plies_of(record, swap=False):
            plain, turned = (expected(record, ply, swap=False, turned=way) for way in (False, True))
            either[plain] = either[turned] = min(plain, turned)
    found = positions(data.train_dataloader())
    assert Counter(either[one] for one in found) == Counter(either[one] for one in of_games(train))
    as_played = set(of_games(train))
    assert 0.3 < sum(one in as_played for one in found) / len(found) < 0.7


def test_each_epoch_has_an_order_of_its_own_which_comes_again(store: Path) -> None:
    """A resumed run continues with the same batches."""
    first = positions(data_of(store).train_dataloader())
    assert positions(data_of(store).train_dataloader()) == first
    assert positions(data_of(store, epoch=1).train_dataloader()) != first
    assert positions(data_of(store, seed=2).train_dataloader()) != first


def test_validation_is_whole_in_order_and_not_turned(store: Path) -> None:
    data = data_of(store, epoch=5)
    _, kept = held_out(data)
    in_order = of_games(kept)
    assert positions(data.val_dataloader()) == in_order
    data.profile = build_profile(AcceleratorConfig(device="cpu", evaluation_batch=50))
    sizes = [len(batch.value) for batch in data.val_dataloader()]
    assert set(sizes[:-1]) == {50}
    assert sizes[-1] == len(in_order) % 50


def test_processes_that_load_change_nothing(store: Path) -> None:
    """Each maps the arrays for itself."""
    found = {
        workers: positions(data_of(store, workers=workers).train_dataloader()) for workers in (0, 2)
    }
    assert found[0] == found[2]


def test_trials_that_differ_in_their_seed_share_the_validation_games(store: Path) -> None:
    kept = [data_of(store, seed=seed).validation.rows.tolist() for seed in (1, 2)]
    assert kept[0] == kept[1]
    assert data_of(store, split_seed=7).validation.rows.tolist() != kept[0]
    assert data_of(store, split="opening").validation.rows.tolist() != kept[0]


@pytest.mark.parametrize(
    "settings", [{"split_seed": 7}, {"validation_share": 0.3}, {"split": "opening"}]
)
def test_a_resumed_run_validates_on_the_games_held_out_from_its_start(
    store: Path, settings: dict[str, Any]
) -> None:
    saved = data_of(store).state_dict()
    data_of(store, seed=5, opening_plies=3).load_state_dict(saved)
    (name,) = settings
    with pytest.raises(UsageError, match=f"data: {name} differs from that of the run"):
        data_of(store, **settings).load_state_dict(saved)


def test_every_game_of_a_store_is_used_or_left_out_and_the_line_says_why(tmp_path: Path) -> None:
    data = data_of(save(tmp_path / "store", [*random_games(40, 4), *random_games(60, 5)]))
    line, mostly = data.account()
    moves = len(data.positions)
    used = f": 40 of 100 games are used, by {moves} moves played"
    assert line.endswith(f"{used}; left out: 60 games on another board")
    assert mostly
    held_out = data.counts()["validation_games"]
    mixed, _ = data.account(validates=False)
    mixed_moves = len(data.training.rows)
    used = f": {40 - held_out} of 100 games are used, by {mixed_moves} moves played"
    assert f"{used}; left out: 60 games on another board" in mixed
    assert mixed.endswith(f", {held_out} games held out for validation")
