"""The game store: what is appended survives any kill, and comes back once."""

import signal
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from hexlit.errors import UsageError
from hexlit.hex.record import Ending, GameRecord
from hexlit.selfplay.store import (
    JOURNAL,
    PART_SCHEMA,
    GameStore,
    read_records,
    read_rows,
    read_table,
)
from tests.commands.preloaded import run_apart


def record(game_id: int, plies: int = 5, *, swap: bool = False) -> GameRecord:
    random = np.random.default_rng(game_id)
    full = np.flatnonzero(random.random(plies) < 0.5).astype(np.int16)
    moves = random.permutation(9)[:plies].astype(np.int16)
    policies = random.dirichlet(np.ones(9 + swap), len(full))
    for policy, ply in zip(policies, full, strict=True):
        policy[moves[:ply]] = 0
        policy /= policy.sum()
    return GameRecord(
        game_id=game_id,
        size=3,
        swap=swap,
        moves=moves,
        winner=1 if game_id % 2 else -1,
        ending=list(Ending)[game_id % 4],
        opening=min(game_id % 3, plies),
        values=random.uniform(-1, 1, plies).astype(np.float32),
        simulations=random.integers(1, 99, plies).astype(np.int16),
        policy_plies=full,
        policies=policies.astype(np.float16),
        network_version=game_id // 3,
        seed=2**62 + game_id,
        search='{"simulations": 8}',
        would_resign=game_id % 3 - 1,
        may_resign=game_id % 2 == 0,
    )


def imported(game_id: int) -> GameRecord:
    """A game without anything searched."""
    return GameRecord(
        game_id,
        size=3,
        swap=True,
        moves=np.array([4, 9], np.int16),
        winner=0,
        ending=Ending.UNFINISHED,
    )


def assert_same(found: list[GameRecord], expected: list[GameRecord]) -> None:
    assert [one.game_id for one in found] == [one.game_id for one in expected]
    for one, other in zip(found, expected, strict=True):
        for name, value in vars(other).items():
            kept = getattr(one, name)
            if isinstance(value, np.ndarray):
                if name == "policies" and value.size == 0:
                    assert kept.size == 0
                    continue
                assert (kept.dtype, kept.shape) == (value.dtype, value.shape), name
                assert np.array_equal(kept, value), name
            else:
                assert kept == value, name
                assert type(kept) is type(value), name


def test_what_is_written_is_read_back_equal(tmp_path: Path) -> None:
    games = [record(0), record(1, swap=True), record(2, plies=0), imported(3), record(4, plies=9)]
    store = GameStore(tmp_path)
    store.append(games[:2])
    store.flush()
    store.append(games[2:4])
    store.append(games[4:])
    store.close()
    assert_same(list(GameStore(tmp_path).records()), games)
    assert len(store) == 5


def test_games_that_are_known_are_passed_over(tmp_path: Path) -> None:
    """None twice, in the journal, in a part, and after opening again."""
    store = GameStore(tmp_path)
    store.append([record(1), record(2)])
    store.append([record(2), record(3)])
    store.flush()
    store.append([record(1), record(4)])
    store.append([record(3)])
    store.close()
    assert len(store) == 4
    again = GameStore(tmp_path)
    again.append([record(game) for game in range(6)])
    again.flush()
    assert [one.game_id for one in again.records()] == [1, 2, 3, 4, 0, 5]


def test_parts_are_plain_parquet_of_the_documented_schema(tmp_path: Path) -> None:
    """Pandas, polars and DuckDB read the games."""
    store = GameStore(tmp_path)
    store.append([record(game) for game in range(5)])
    store.flush()
    (part,) = sorted(tmp_path.glob("part-*.parquet"))
    table = pq.ParquetFile(part).read()
    assert table.schema.equals(PART_SCHEMA)
    columns = table.to_pydict()
    assert columns["game_id"] == list(range(5))
    assert columns["moves"][3] == record(3).moves.tolist()
    assert columns["policies"][3] == pytest.approx(record(3).policies.ravel().tolist())
    assert columns["ending"][1] == "resigned"


def test_half_written_parts_are_never_seen_under_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that dies inside a part leaves its journal, and the games come back from it."""
    store = GameStore(tmp_path)
    store.append([record(1)])

    def dies(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("hexlit.selfplay.store.write_described", dies)
        with pytest.raises(OSError, match="no space"):
            store.flush()
    assert store.parts() == []
    del store  # a process that dies lets go of its folder
    again = GameStore(tmp_path)
    assert_same(list(again.records()), [record(1)])
    assert {path.name for path in tmp_path.iterdir()} == {".lock", "part-000000.parquet"}


def test_a_kill_between_the_part_and_the_end_of_its_journal_keeps_games_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = GameStore(tmp_path)
    store.append([record(1), record(2)])
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *_, **__: None)
        store.flush()
    del store
    assert (tmp_path / "journal.arrows").exists()
    assert [one.game_id for one in GameStore(tmp_path).records()] == [1, 2]
    assert not (tmp_path / "journal.arrows").exists()


def test_a_journal_cut_at_any_byte_gives_back_every_whole_batch(tmp_path: Path) -> None:
    """A kill can fall between any two bytes; every third is tried."""
    writer = GameStore(tmp_path / "writer")
    journal = tmp_path / "writer" / "journal.arrows"
    ends = [0]
    batches = [[1], [2, 3]]
    for batch in batches:
        writer.append([record(game, plies=3) for game in batch])
        ends.append(journal.stat().st_size)
    whole = journal.read_bytes()
    expected = {
        cut: [
            game
            for batch, end in zip(batches, ends[1:], strict=True)
            if end <= cut
            for game in batch
        ]
        for cut in range(len(whole) + 1)
    }
    folder = tmp_path / "cut"
    folder.mkdir()
    torn = folder / "journal.arrows"
    for cut, games in list(expected.items())[::3]:
        torn.write_bytes(whole[:cut])
        assert read_table(torn)["game_id"].to_pylist() == games, f"cut after byte {cut} of {ends}"
    # What is read is what a store keeps, which takes much longer: beside the ends of batches, and
    # here and there.
    for cut in sorted(
        {*range(0, len(whole), 397), *(end + beside for end in ends[1:] for beside in (-1, 0, 1))}
    ):
        torn.write_bytes(whole[:cut])
        store = GameStore(folder)
        found = [one.game_id for one in store.records()]
        assert len(store) == len(found)
        store.close()
        for part in store.parts():
            part.unlink()
        assert found == expected[min(cut, len(whole))], f"cut after byte {cut} of {ends}"


@pytest.mark.parametrize("tail", [b"\0" * 200, b"\xff" * 200, bytes(range(256)) * 4])
def test_rubbish_at_the_end_of_a_journal_is_dropped(tmp_path: Path, tail: bytes) -> None:
    """A machine that lost power may leave blocks of zeros or of something else."""
    GameStore(tmp_path).append([record(1), record(2)])
    journal = tmp_path / "journal.arrows"
    journal.write_bytes(journal.read_bytes() + tail)
    assert [one.game_id for one in GameStore(tmp_path).records()] == [1, 2]


KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from hexlit.errors import UsageError
from hexlit.hex.record import Ending, GameRecord
from hexlit.selfplay.store import GameStore
store = GameStore(Path(sys.argv[1]))
for game in range(int(sys.argv[2])):
    moves = np.arange(game % 7, dtype=np.int16)
    policies = np.zeros((0, 9), np.float16)
    store.append([GameRecord(game, 3, False, moves, 1, Ending.CONNECTED, policies=policies)])
    print(game, flush=True)
    if game % 5 == 4:
        store.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("games", [3, 13])
def test_a_killed_process_loses_no_game_it_has_appended(tmp_path: Path, games: int) -> None:
    """Kill -9."""
    run = run_apart(KILLED, str(tmp_path), str(games))
    assert run.returncode == -signal.SIGKILL, run.stderr
    assert run.stdout.split() == [str(game) for game in range(games)]
    store = GameStore(tmp_path)
    assert [one.game_id for one in store.records()] == list(range(games))
    store.append([record(1), record(99)])
    store.close()
    assert [one.game_id for one in GameStore(tmp_path).records()] == [*range(games), 99]


@pytest.mark.parametrize("content", [b"", b"PAR1 torn", b"no parquet at all"])
def test_a_damaged_part_is_named_in_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "part-000000.parquet").write_bytes(content)
    with pytest.raises(UsageError, match=r"part-000000\.parquet: cannot be read") as caught:
        GameStore(tmp_path)
    assert "\n" not in str(caught.value)
    (tmp_path / "part-000000.parquet").unlink()
    GameStore(tmp_path).close()  # the folder is free again


def test_games_are_read_while_another_writes_and_each_once(tmp_path: Path) -> None:
    store = GameStore(tmp_path)
    store.append([record(0), record(1)])
    assert_same(read_records(tmp_path / JOURNAL), [record(0), record(1)])
    journal = (tmp_path / JOURNAL).read_bytes()
    store.flush()
    (tmp_path / JOURNAL).write_bytes(
        journal
    )  # as after a kill between the part and the end of the journal
    assert read_rows(tmp_path / JOURNAL) == []
    assert_same(read_records(tmp_path / "part-000000.parquet"), [record(0), record(1)])


def test_a_store_is_one_processs_from_its_opening_to_its_close(tmp_path: Path) -> None:
    """Before the first game, beside a journal,
    and between two parts; opening tidies up after the dead alone.
    """
    with GameStore(tmp_path) as store:
        for number in range(2):
            with pytest.raises(UsageError, match="is writing games here"):
                GameStore(tmp_path)
            store.append([record(number)])
            with pytest.raises(UsageError, match="is writing games here"):
                GameStore(tmp_path)
            store.flush()
    with GameStore(tmp_path) as again:
        again.append([record(3)])
    assert_same(list(GameStore(tmp_path).records()), [record(0), record(1), record(3)])


def test_opening_a_store_removes_torn_parts_and_no_file_of_others(tmp_path: Path) -> None:
    for name in (".part-000003.parquet.0123abcd.tmp", "thesis.tmp"):
        (tmp_path / name).write_text("text")
    GameStore(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".lock", "thesis.tmp"}
