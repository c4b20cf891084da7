"""Rows that are no games: found by one check on every way in, and told by part and row."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hexlit.errors import UsageError
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.game import RecordError
from hexlit.hex.symmetry import mirror_cell
from hexlit.selfplay.checking import faults_of
from hexlit.selfplay.dataset import GamePositions
from hexlit.selfplay.flat_games import ReadOptions
from hexlit.selfplay.importing import import_games, verify_games
from hexlit.selfplay.store import SCHEMA, read_records, to_table
from tests.selfplay.games import read

FORGED: dict[str, tuple[dict[str, Any], str]] = {
    **{
        f"no {name}": ({name: None}, f"{name} is empty")
        for name in ("winner", "moves", "size", "swap", "ending")
    },
    **{f"winner {value}": ({"winner": value}, f"winner={value}: must be") for value in (5, -128)},
    **{f"size {value}": ({"size": value}, f"size={value}: must be") for value in (0, -3)},
    **{f"opening {value}": ({"opening": value}, f"opening={value}: must be") for value in (-3, 6)},
    "ending": ({"ending": "by magic"}, "ending=by magic: must be"),
    "size 127": ({"size": 127}, "size=127: must be from 2 to 26"),
    "moves far off": ({"moves": [-32768, 1, 2, 3, 4]}, "move 1 is no free cell"),
    "move beyond": ({"moves": [0, 1, 2, 3, 10]}, "move 5 is no free cell"),
    "empty move": ({"moves": [0, None, 2, 3, 4]}, "moves is empty"),
    "taken": ({"moves": [0, 1, 2, 1, 4]}, "move 4 is no free cell"),
    "swap without the rule": ({"moves": [0, 9, 2, 3, 4]}, "move 2 is no free cell"),
    "swap of no stone": ({"moves": [9, 1, 2, 3, 4], "swap": True}, "move 1 is no free cell"),
    "late swap": ({"moves": [0, 1, 9, 3, 4], "swap": True}, "move 3 is no free cell"),
    "stone under the swapped one": (
        {"moves": [1, 9, 3, 4, 5], "swap": True},
        "move 3 is no free cell",
    ),
    "values": ({"values": [0.5]}, "values: must be as many as moves"),
    "nan": ({"values": [0.5, float("nan"), 0, 0, 0]}, "values: each must be from -1.001"),
    "large value": ({"values": [0.5, 30.0, 0, 0, 0]}, "values: each must be from -1.001"),
}
ALONG: dict[str, tuple[dict[str, Any], str]] = {
    "simulations": ({"simulations": [1, 2]}, "simulations: must be as many"),
    "policy of no move": ({"policy_plies": [7], "policies": [0.1] * 9}, "a policy of no move"),
    "short policy": ({"policy_plies": [1], "policies": [0.1] * 8}, "there are 8 numbers"),
    "infinite policy": (
        {"policy_plies": [1], "policies": [0.1] * 8 + [float("inf")]},
        "policies: each must",
    ),
    "policy of weights": (
        {"policy_plies": [1], "policies": [0.5] * 9},
        "policies: each must sum to 1; the sum of 1 of them is not",
    ),
    "policy of a stone": (
        {"policy_plies": [1], "policies": [0.5, 0.5] + [0] * 7},
        "policies: the share of cells with a stone is 0.50, must be 0",
    ),
    "who would resign": ({"would_resign": 9}, "would_resign=9: must be"),
    "no id": ({"game_id": None}, "game_id is empty"),
}
"""Of columns that learning from recorded games does not read."""


HALF = [field.name for field in SCHEMA if field.type == pa.list_(pa.float16())]


def game(number: int, **fields: Any) -> GameRecord:
    moves = np.array([0, 1, 3, 2, 6], np.int16)
    return GameRecord(number, 3, False, moves, 1, Ending.CONNECTED, **fields)


def table_of(number: int, change: dict[str, Any], games: int = 8) -> pa.Table:
    rows = to_table([game(at) for at in range(games)]).to_pylist()
    rows[number].update(change)
    for row in rows:  # pyarrow 18 makes half-precision numbers of NumPy's alone
        row.update(
            {
                name: [np.float16(one) for one in row[name]]
                for name in HALF
                if row.get(name) is not None
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)


def store_of(folder: Path, number: int, change: dict[str, Any]) -> Path:
    folder.mkdir()
    pq.write_table(table_of(0, {}), folder / "part-000000.parquet")
    table = table_of(number, change)
    ids = pa.array(
        [None if row is None else row + 100 for row in table.column("game_id").to_pylist()],
        pa.int64(),
    )
    pq.write_table(
        table.set_column(0, SCHEMA.field("game_id"), ids), folder / "part-000001.parquet"
    )
    return folder


@pytest.mark.parametrize("name", [*FORGED, *ALONG])
def test_a_forged_row_is_found_and_no_other(name: str) -> None:
    change, said = {**FORGED, **ALONG}[name]
    faults = faults_of(table_of(5, change))
    assert list(faults) == [5]
    assert said in faults[5][1]
    assert faults_of(table_of(5, change).slice(4, 3)) == {1: faults[5]}


def test_sound_games_have_no_fault() -> None:
    """The swap moves the first stone from cell 1 to cell 3."""
    policies = np.full((2, 10), 1 / 9, np.float16)
    policies[0, 1] = policies[1, 3] = 0
    found: dict[str, Any] = {
        "values": np.array([1.0005, -1, 0], np.float32),
        "simulations": np.array([0, 4, 4], np.int16),
    }
    found |= {
        "policy_plies": np.array([1, 2], np.int16),
        "policies": policies,
    }
    searched = GameRecord(
        1, 3, True, np.array([1, 9, 4], np.int16), -1, Ending.RESIGNED, opening=3, **found
    )
    assert faults_of(to_table([game(0), searched, game(2)])) == {}
    assert faults_of(to_table([])) == {}


def test_whole_columns_agree_with_one_game_after_the_other() -> None:
    """The moves of random games, some of them illegal, are judged as a replay judges them."""
    random = np.random.default_rng(3)
    records = []
    for number in range(600):
        size = int(random.integers(2, 5))
        plies = int(random.integers(0, size * size))
        moves = random.permutation(size * size)[:plies].astype(np.int16)
        if plies > 1 and random.random() < 0.3:
            moves[1] = size * size
        if plies and random.random() < 0.3:
            moves[random.integers(plies)] = random.integers(-1, size * size + 2)
        swap = bool(random.random() < 0.7)
        records.append(GameRecord(number, size, swap, moves, 0, Ending.UNFINISHED))
    told = {row: said.split()[1] for row, (_, said) in faults_of(to_table(records)).items()}
    replayed = {
        number: str(ply) for number, one in enumerate(records) if (ply := first_illegal(one))
    }
    assert 100 < len(replayed) < 500
    assert told == replayed


def first_illegal(game: GameRecord) -> int:
    """Number of the first illegal move, from 1; 0 without one."""
    cells: set[int] = set()
    for number, move in enumerate(game.moves.tolist(), 1):
        if move == game.size**2 and number == 2 and game.swap:
            cells = {mirror_cell(int(game.moves[0]), game.size)}
        elif 0 <= move < game.size**2 and move not in cells:
            cells.add(move)
        else:
            return number
    return 0


@pytest.mark.parametrize("name", FORGED)
def test_training_on_a_forged_store_names_part_and_row(name: str, tmp_path: Path) -> None:
    change, said = FORGED[name]
    folder = store_of(tmp_path / "store", 2, change)
    with pytest.raises(UsageError) as refused:
        GamePositions.open(folder, ReadOptions(3, False), tmp_path / "cache")
    message = str(refused.value)
    assert f"{folder / 'part-000001.parquet'}, row 3: " in message
    assert said in message
    assert "\n" not in message


@pytest.mark.parametrize("name", [*FORGED, *ALONG])
def test_a_forged_store_is_not_read_as_games_and_verify_finds_it(name: str, tmp_path: Path) -> None:
    change, said = {**FORGED, **ALONG}[name]
    folder = store_of(tmp_path / "store", 2, change)
    with pytest.raises(UsageError, match=r"part-000001\.parquet, row 3: "):
        read_records(folder / "part-000001.parquet")
    verdict = verify_games(read(folder))
    assert sum(verdict.wrong.counts.values()) == 1
    assert verdict.problems[0]["place"] == f"{folder / 'part-000001.parquet'}:3"
    assert said in verdict.problems[0]["message"]


def test_an_import_leaves_forged_rows_out_and_counts_them(tmp_path: Path) -> None:
    folder = store_of(tmp_path / "store", 2, {"winner": 5})
    result = import_games(read(folder), tmp_path / "target")
    assert (result.read, result.imported, result.dropped.counts["winner"]) == (15, 1, 1)
    assert verify_games(read(tmp_path / "target")).fine


@pytest.mark.parametrize("wide", [False, True])
def test_foreign_columns_are_refused_in_one_line(wide: bool, tmp_path: Path) -> None:
    foreign = pa.table({name: pa.array([300 if wide else "x"]) for name in SCHEMA.names})
    pq.write_table(foreign, tmp_path / "part-000000.parquet")
    for way in (
        lambda: read_records(tmp_path / "part-000000.parquet"),
        lambda: GamePositions.open(tmp_path, ReadOptions(3, False), tmp_path / "cache"),
        lambda: list(read(tmp_path)),
    ):
        with pytest.raises(UsageError, match=r"part-000000\.parquet") as refused:
            way()
        assert "\n" not in str(refused.value)


def test_all_rows_are_read_in_order_the_forged_among_them(tmp_path: Path) -> None:
    folder = store_of(tmp_path / "store", 0, {"size": None})
    kinds = [isinstance(row, RecordError) for row in read(folder)]
    assert kinds == [False] * 8 + [True] + [False] * 7
