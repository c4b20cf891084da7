"""Training and validation games: by game or by opening, independent of the rest of the store."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hexlit.errors import UsageError
from hexlit.hex.record import GameRecord
from hexlit.selfplay.dataset import GamePositions, Split, split_games
from tests.selfplay.recorded_games import content, opened, random_games, save, turned_by_180

SEED = 42


def sides(
    positions: GamePositions, records: list[GameRecord], split: Split
) -> tuple[set[bytes], set[bytes]]:
    """Contents of the games that train, and of those that validate."""
    train, validation = (np.unique(positions.games_of(rows)) for rows in split)
    return {content(records[game]) for game in train}, {
        content(records[game]) for game in validation
    }


def test_no_game_is_on_both_sides_and_every_position_on_one(tmp_path: Path) -> None:
    records = random_games(300, 5)
    positions = opened(save(tmp_path / "store", records), 5)
    split = split_games(positions, seed=SEED)
    train, validation = sides(positions, records, split)
    assert train
    assert validation
    assert not train & validation
    assert np.array_equal(np.sort(np.concatenate(split)), np.arange(len(positions)))
    assert [rows.dtype for rows in split] == [np.int64] * 2


def test_the_side_of_a_game_depends_on_no_other_game(tmp_path: Path) -> None:
    """Nor on their order, nor on the number that the store gives it."""
    records = random_games(200, 5)
    fewer = records[50:150][::-1]
    others = [replace(record, game_id=1000 + number) for number, record in enumerate(fewer)]
    found = []
    for number, kept in enumerate((records, fewer, others)):
        positions = opened(save(tmp_path / str(number) / "store", kept), 5)
        found.append(sides(positions, kept, split_games(positions, seed=SEED)))
    among = {content(record) for record in fewer}
    assert found[1] == tuple(side & among for side in found[0])
    assert found[2] == found[1]


@pytest.mark.parametrize("by", ["game", "opening"])
def test_a_game_and_its_rotation_are_on_one_side(tmp_path: Path, by: str) -> None:
    records = random_games(100, 5, swaps=True)
    both = [
        one for record in records for one in (record, turned_by_180(record, 5000 + record.game_id))
    ]
    positions = opened(save(tmp_path / "store", both), 5, swap=True)
    validates = np.zeros(len(both), np.bool_)
    validates[positions.games_of(split_games(positions, seed=SEED, by=by).validation_rows)] = True
    assert np.array_equal(validates[::2], validates[1::2])
    assert 0 < validates.sum() < len(both)


@pytest.mark.parametrize("plies", [1, 2, 3])
def test_no_opening_is_on_both_sides(tmp_path: Path, plies: int) -> None:
    """Folded by the rotation."""
    records = random_games(400, 4, swaps=True)
    positions = opened(save(tmp_path / "store", records), 4, swap=True)
    split = split_games(positions, seed=SEED, by="opening", opening_plies=plies)
    openings = [
        {
            content(replace(records[game], moves=records[game].moves[:plies]))
            for game in positions.games_of(rows)
        }
        for rows in split
    ]
    assert not openings[0] & openings[1]
    by_game = split_games(positions, seed=SEED)
    mixed = [
        {
            content(replace(records[game], moves=records[game].moves[:plies]))
            for game in positions.games_of(rows)
        }
        for rows in by_game
    ]
    assert mixed[0] & mixed[1]


def test_of_too_many_positions_whole_games_are_taken_from_both_sides(tmp_path: Path) -> None:
    records = random_games(600, 4)
    positions = opened(save(tmp_path / "store", records))
    whole = split_games(positions, seed=SEED)
    most = len(positions) // 3
    fewer = split_games(positions, seed=SEED, most=most)
    assert 0.97 * most < sum(map(len, fewer)) <= most
    for some, rows in zip(fewer, whole, strict=True):
        assert set(some) < set(rows)
        assert abs(len(some) - len(rows) / 3) < 0.12 * len(rows)
        taken = np.unique(positions.games_of(some))
        counts = np.diff(positions.flat.first_row)
        assert counts[taken].sum() == len(some)
    assert [rows.tolist() for rows in split_games(positions, seed=SEED, most=len(positions))] == [
        rows.tolist() for rows in whole
    ]


def test_the_seed_decides(tmp_path: Path) -> None:
    """Trials of a sweep share one validation set."""
    positions = opened(save(tmp_path / "store", random_games(100)))

    held_out = [split_games(positions, seed=seed).validation_rows.tolist() for seed in (1, 1, 2)]
    assert held_out[0] == held_out[1]
    assert held_out[0] != held_out[2]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"share": 1e-9}, "none of 10 games is left for validation"),
        ({"share": 1 - 1e-9}, "none of 10 games is left for training"),
    ],
)
def test_what_cannot_be_split_is_refused(
    tmp_path: Path, settings: dict[str, float | int | str], said: str
) -> None:
    positions = opened(save(tmp_path / "store", random_games(10)))
    with pytest.raises(UsageError, match=said) as error:
        split_games(positions, seed=SEED, **settings)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)
