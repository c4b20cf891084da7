"""Recorded games as a data set: every position before a chosen move,
as the board plays it, and no other.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from hexlit.errors import UsageError
from hexlit.hex.record import Ending
from hexlit.selfplay import dataset, flat_games
from hexlit.selfplay.dataset import GamePositions, GameRows
from hexlit.selfplay.flat_games import ReadOptions
from tests.selfplay import opens_games
from tests.selfplay.recorded_games import (
    expected,
    opened,
    plies_of,
    random_game,
    random_games,
    save,
    seen,
)
from tests.selfplay.test_window import as_drawn
from tests.selfplay.test_window import random_game as searched_game
from tests.selfplay.test_window import rows as rows_of_batch


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("size", "swap"), [(2, True), (3, False), (5, True), (5, False), (10, False)]
)
def test_positions_are_those_of_the_board_with_the_move_played_and_the_result(
    tmp_path: Path, size: int, swap: bool, turned: bool
) -> None:
    """With swaps, openings and resignations, for both players, in the order of play."""
    records = random_games(25, size, swaps=True)
    positions = opened(save(tmp_path / "store", records), size, swap=swap)
    by_plain_board = [
        expected(record, ply, swap=swap, turned=turned)
        for record in records
        for ply in plies_of(record, swap=swap)
    ]
    rows = np.arange(len(positions))
    assert seen(positions, rows, np.full(len(rows), turned)) == by_plain_board
    batch = positions.batch(rows[:1], rows[:1] > 0)
    assert batch.planes.dtype == np.int8
    assert batch.policy.dtype == batch.value.dtype == np.float32
    assert batch.further == {}


def test_no_ply_of_an_opening_is_a_target(tmp_path: Path) -> None:
    """A game that is nothing but its opening has none."""
    records = [replace(random_game(number, 4), opening=3) for number in range(10)]
    records.append(replace(records[3], game_id=99, opening=len(records[3].moves)))
    positions = opened(save(tmp_path / "store", records))
    assert len(positions) == sum(len(record.moves) - 3 for record in records[:10])
    assert positions.left_out == {
        "games without a move to learn from": 1,
        "plies of an opening": 30,
    }


def test_what_is_left_out_is_counted_by_reason(tmp_path: Path) -> None:
    records = random_games(6)
    records += random_games(2, 5, first=10)
    records += [
        replace(random_game(20 + n, 4), ending=Ending.UNFINISHED, opening=0, winner=n - 1)
        for n in range(3)
    ]
    records.append(replace(random_game(31, 4, swaps=True), opening=0))
    folder = save(tmp_path / "store", records)
    opening = sum(record.opening for record in records[:6])
    positions = opened(folder)
    assert positions.left_out == {
        "games on another board": 2,
        "plies before a swap": 2,
        "plies of an opening": opening,
        "unfinished games": 3,
    }
    assert positions.games == 7
    claimed = opened(folder, claimed_results=True)
    assert claimed.left_out.pop("games without a winner") == 1
    assert "unfinished games" not in claimed.left_out
    assert claimed.games == 9
    assert "plies before a swap" not in opened(folder, swap=True).left_out


def test_a_swap_of_sides_is_not_taken_for_a_decision_against_swapping(tmp_path: Path) -> None:
    """It leaves no move: the second one was played by who had begun, and could swap no more."""
    records = [replace(random_game(number, 4), swap=True, opening=0) for number in range(12)]
    folder = save(tmp_path / "store", records)
    for swap, begins in ((True, 2), (False, 1)):
        positions = opened(folder, swap=swap)
        rows = [
            expected(record, ply, swap=swap)
            for record in records
            for ply in range(begins, len(record.moves))
        ]
        assert (
            seen(positions, np.arange(len(positions)), np.zeros(len(positions), np.bool_)) == rows
        )
        assert positions.left_out == {"plies before a swap": 12 * begins}


def test_games_of_self_play_may_be_learned_from_by_the_moves_played(tmp_path: Path) -> None:
    """Their searched policies and values are not read."""
    records = [searched_game(number, 4, swap=True) for number in range(12)]
    store = save(tmp_path / "store", records)
    positions = opened(store, swap=True, targets="played", search_value_share=0.5)
    by_plain_board = [
        expected(record, ply, swap=True) for record in records for ply in range(len(record.moves))
    ]
    assert (
        seen(positions, np.arange(len(positions)), np.zeros(len(positions), np.bool_))
        == by_plain_board
    )


@pytest.mark.parametrize("share", [0.0, 0.25])
@pytest.mark.parametrize(("size", "swap"), [(4, True), (5, False)])
def test_games_of_self_play_teach_what_their_search_found(
    tmp_path: Path, size: int, swap: bool, share: float
) -> None:
    """At the plies whose policy was kept, as the replay window does."""
    records = [searched_game(number, size, swap=swap) for number in range(12)]
    store = save(tmp_path / "store", records, parts=2)
    positions = opened(store, size, swap=swap, search_value_share=share)
    by_part = [*records[::2], *records[1::2]]
    for turned in (False, True):
        expected_rows = [
            as_drawn(record, ply, turned=turned, share=share)
            for record in by_part
            for ply in record.policy_plies.tolist()
        ]
        all_rows = np.arange(len(positions))
        batch = positions.batch(all_rows, np.full(len(all_rows), turned))
        assert rows_of_batch(batch) == expected_rows
    kept = sum(len(record.policy_plies) for record in records)
    moves = sum(len(record.moves) for record in records)
    assert positions.left_out["plies without a searched policy"] == moves - kept


def test_a_game_of_a_search_that_kept_no_policy_is_left_out(tmp_path: Path) -> None:
    records = [searched_game(number, 4, swap=False) for number in range(4)]
    none = np.zeros((0, 16), np.float16)
    records[1] = replace(records[1], policy_plies=np.zeros(0, np.int16), policies=none)
    store = save(tmp_path / "store", records)
    assert opened(store).games == 3
    assert opened(store).left_out["games without a move to learn from"] == 1
    assert opened(store, targets="played").games == 4


def test_imported_games_between_those_of_a_run_keep_their_moves(tmp_path: Path) -> None:
    records = [searched_game(number, 4, swap=False) for number in range(6)]
    imported = [replace(game, opening=0) for game in random_games(6, first=100)]
    mixed = [game for pair in zip(records, imported, strict=True) for game in pair]
    positions = opened(save(tmp_path / "store", mixed), search_value_share=0.5)
    batch = positions.batch(np.arange(len(positions)), np.zeros(len(positions), np.bool_))
    expected_rows = []
    for searched, played in zip(records, imported, strict=True):
        for ply in searched.policy_plies.tolist():
            expected_rows.append(as_drawn(searched, ply, turned=False, share=0.5))
        for ply in range(len(played.moves)):
            expected_rows.append(expected(played, ply, swap=False))
    assert rows_of_batch(batch) == expected_rows


def test_a_network_without_the_swap_rule_learns_the_other_moves_among_themselves(
    tmp_path: Path,
) -> None:
    """A policy of the swap alone says nothing about them: the move played does."""
    cells = np.zeros((3, 10), np.float16)
    cells[0, 4] = 1
    cells[1, [1, 8, 9]] = 0.25, 0.25, 0.5
    cells[2, 9] = 1
    game = replace(
        searched_game(0, 3, swap=False),
        swap=True,
        moves=np.array([0, 1, 3, 2, 6], np.int16),
        winner=1,
        values=np.zeros(5, np.float32),
        simulations=np.zeros(5, np.int16),
        policy_plies=np.array([0, 1, 2], np.int16),
        policies=cells,
    )
    positions = opened(save(tmp_path / "store", [game, replace(game, game_id=1)]), 3)
    policy = positions.batch(np.arange(3), np.zeros(3, np.bool_)).policy
    assert policy[0].tolist() == np.eye(9)[4].tolist()
    transposed = policy[1].reshape(3, 3).T
    assert (transposed[0, 1], transposed[2, 2], transposed.sum()) == (0.5, 0.5, 1)
    assert policy[2].tolist() == np.eye(9)[3].tolist()


def test_parts_change_nothing(tmp_path: Path) -> None:
    records = random_games(23, swaps=True)
    whole = opened(save(tmp_path / "whole" / "store", records))
    order = [record for part in range(3) for record in records[part::3]]
    parts = opened(save(tmp_path / "parts" / "store", records, parts=3))
    assert parts.left_out == whole.left_out
    again = opened(save(tmp_path / "again" / "store", order))
    for name, array in again.flat._asdict().items():
        np.testing.assert_array_equal(array, getattr(parts.flat, name), name)


def test_arrays_are_made_once_for_a_state_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not again for the next who asks, but for other settings, and when games have come."""
    built = []
    read = flat_games.read_flat_games

    def counted(parts: list[Path], options: ReadOptions) -> Any:
        built.append(parts)
        return read(parts, options)

    monkeypatch.setattr(dataset, "read_flat_games", counted)
    folder = save(tmp_path / "store", random_games(10))
    first = opened(folder)
    assert len(opened(folder)) == len(first)
    assert len(built) == 1
    opened(folder, swap=True)
    assert len(built) == 2
    save(folder, random_games(5, first=50))
    assert opened(folder).games == 15
    assert len(built) == 3
    assert first.games == 10


def test_an_epoch_has_every_row_once_in_whole_batches(tmp_path: Path) -> None:
    positions = opened(save(tmp_path / "store", random_games(20)))
    rows = np.arange(len(positions))[5:]
    epoch = GameRows(positions, rows).shuffled(batch=16, seed=1, epoch=0)
    assert len(epoch) == len(rows) // 16
    assert {len(epoch[step].value) for step in range(len(epoch))} == {16}
    one = GameRows(positions, rows[:7]).shuffled(batch=16, seed=1, epoch=0)
    assert len(one) == 1
    assert len(one[0].value) == 7


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (6, r"^data\.path=\S+ board=6: no .* \(5 games on another board\)$"),
        (4, r"data\.claimed_results=true"),
    ],
)
def test_a_store_without_anything_to_learn_is_refused(tmp_path: Path, size: int, said: str) -> None:
    records = [replace(record, ending=Ending.UNFINISHED) for record in random_games(5)]
    with pytest.raises(UsageError, match=said) as error:
        opened(save(tmp_path / "store", records), size)
    assert "\n" not in str(error.value)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [".lock"]


def test_winners_that_the_last_move_refutes_are_refused(tmp_path: Path) -> None:
    games = [game for game in random_games(20) if game.ending == Ending.CONNECTED]
    wrong = [replace(games[0], winner=-games[0].winner), *games[1:]]
    with pytest.raises(UsageError, match="1 games have not their winner"):
        opened(save(tmp_path / "store", wrong))


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    """A file that is no Parquet, and one of other data."""
    folder = save(tmp_path / "store", random_games(5))
    part = folder / "part-000000.parquet"
    whole = part.read_bytes()
    part.write_bytes(whole[:-40])
    with pytest.raises(UsageError, match=r"part-000000.parquet: cannot be read"):
        opened(folder)
    part.write_bytes(whole)
    pq.write_table(pq.read_table(part).select(["size", "moves"]), part)
    with pytest.raises(UsageError, match=r"part-000000.parquet, row 1: swap is empty"):
        opened(folder)


def test_a_store_without_any_game_is_refused(tmp_path: Path) -> None:
    folder = save(tmp_path / "store", random_games(2))
    part = folder / "part-000000.parquet"
    pq.write_table(pq.read_table(part).slice(0, 0), part)
    with pytest.raises(UsageError, match="no position to learn from"):
        opened(folder)


def test_a_copy_for_another_process_maps_the_same_files(tmp_path: Path) -> None:
    """Nothing of the arrays is sent."""
    positions = opened(save(tmp_path / "store", random_games(5)))
    make, arguments = positions.__reduce__()
    assert len(repr(arguments)) < 300
    copy = make(*arguments)
    assert isinstance(copy, GamePositions)
    assert all(
        isinstance(array.base, np.memmap) and not array.flags.writeable for array in copy.flat
    )
    assert len(copy) == len(positions)


PROCESSES = 2


def test_processes_that_start_together_build_the_arrays_once_and_map_the_same_files(
    tmp_path: Path,
) -> None:
    """One copy in memory for all, and the same batches."""
    store, cache = save(tmp_path / "store", random_games(200)), tmp_path / "cache"
    command = [sys.executable, opens_games.__file__, str(store), str(cache), str(time.time() + 2.5)]
    opens = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]
    found = [json.loads(process.communicate(timeout=120)[0]) for process in opens]
    assert sum(one.pop("built") for one in found) == 1
    assert found == [found[0]] * PROCESSES
    assert found[0]["memmap"]
    assert found[0]["mapped"]
    positions = opened(store)
    assert sorted(os.listdir(cache)) == sorted([".lock", positions.folder.name])  # noqa: PTH208
