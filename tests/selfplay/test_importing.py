"""Importing: every game once,
an account of what was dropped and why, and nothing lost in a kill.
"""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexlit.errors import UsageError
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.symmetry import rotate_moves
from hexlit.selfplay import importing
from hexlit.selfplay.importing import Duplicates, game_identity, import_games, verify_games
from hexlit.selfplay.sources import SUMMARY, GameReader
from hexlit.selfplay.store import GameStore, part_files, read_records
from tests.selfplay.games import GAME, OTHER, SAMPLES, TURNED, UNFINISHED, read, record


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two equal games, the same turned, another,
    one unfinished, a line that is none and one that is illegal.
    """
    path = tmp_path / "games.wolve"
    path.write_text(
        GAME + GAME + TURNED + "<<<<<<< HEAD\n" + OTHER + "\n" + "b a1,w a1,B\n" + UNFINISHED
    )
    return path


def counts(
    file: Path, target: Path, rule: str = "symmetric"
) -> tuple[int, int, dict[str, int], dict[str, int]]:
    result = import_games(read(file), target, duplicates=Duplicates(rule))
    return result.read, result.imported, result.dropped.counts, result.noted.counts


WRONG = {"merge-conflict marker": 1, "illegal move": 1}
NOTED = {"unfinished, winner only claimed": 1}


@pytest.mark.parametrize(
    ("rule", "imported", "dropped"),
    [
        ("symmetric", 3, {"duplicate": 1, "duplicate, turned by 180°": 1}),
        ("keep", 5, {}),
    ],
)
def test_equal_games_are_dropped_by_the_rule_and_counted_by_reason(
    rule: str, imported: int, dropped: dict[str, int], file: Path, tmp_path: Path
) -> None:
    assert counts(file, tmp_path / "store", rule) == (5, imported, WRONG | dropped, NOTED)
    assert len(GameStore(tmp_path / "store")) == imported


@pytest.mark.parametrize("rule", list(Duplicates))
def test_the_same_import_again_adds_nothing_and_says_so(
    rule: str, file: Path, tmp_path: Path
) -> None:
    before = counts(file, tmp_path / "store", rule)[1]
    assert counts(file, tmp_path / "store", rule) == (5, 0, WRONG | {"in the store already": 5}, {})
    assert len(GameStore(tmp_path / "store")) == before


def test_games_are_kept_with_result_opening_and_place(file: Path, tmp_path: Path) -> None:
    import_games(read(file), tmp_path / "store")
    first, other, unfinished = GameStore(tmp_path / "store").records()
    assert (first.size, first.winner, first.ending, first.opening) == (10, 1, Ending.CONNECTED, 2)
    assert len(first.moves) == 19
    assert (first.source, other.source) == (f"{file}:1", f"{file}:5")
    assert (unfinished.winner, unfinished.ending) == (1, Ending.UNFINISHED)


def test_the_summary_tells_of_every_import_with_places(file: Path, tmp_path: Path) -> None:
    for _ in range(2):
        import_games(read(file), tmp_path / "store")
    document = json.loads((tmp_path / "store" / SUMMARY).read_text(encoding="utf-8"))
    assert document["duplicates"] == "symmetric"
    first, second = document["imports"]
    assert (first["imported"], second["imported"], second["in_store"]) == (3, 0, 3)
    assert first["dropped"]["illegal move"]["place"] == f"{file}:7:1"
    assert first["dropped"]["duplicate"] == {"count": 1, "place": f"{file}:2", "message": ""}


def test_many_sources_are_one_import_and_files_of_no_format_are_counted(
    file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "folder" / "below"
    folder.mkdir(parents=True)
    (folder / "more.wolve").write_text(OTHER + GAME)
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n")
    result = import_games(read(file, tmp_path / "folder"), tmp_path / "store")
    assert (result.read, result.imported) == (7, 3)
    assert result.dropped.counts["file of no known format"] == 1
    assert result.dropped.counts["duplicate"] == 3


def test_a_store_can_be_imported_into_another(file: Path, tmp_path: Path) -> None:
    import_games(read(file), tmp_path / "one")
    result = import_games(read(tmp_path / "one"), tmp_path / "two")
    assert (result.read, result.imported) == (3, 3)
    ids = [
        [game.game_id for game in GameStore(tmp_path / name).records()] for name in ("one", "two")
    ]
    assert ids[0] == ids[1]


def test_parts_are_of_bounded_size(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "GAMES_AT_ONCE", 1)
    monkeypatch.setattr(importing, "GAMES_OF_A_PART", 2)
    import_games(read(file), tmp_path / "store")
    assert [len(read_records(part)) for part in part_files(tmp_path / "store")] == [2, 1]


def test_a_damaged_part_among_the_sources_costs_no_game_that_came_before(
    file: Path, tmp_path: Path
) -> None:
    damaged = tmp_path / "part-000000.parquet"
    damaged.write_bytes(b"PAR1 and no more")
    with pytest.raises(UsageError, match=r"part-000000\.parquet: cannot be read"):
        import_games(read(file, damaged), tmp_path / "store")
    assert len(GameStore(tmp_path / "store")) == 3
    entry = json.loads((tmp_path / "store" / SUMMARY).read_text(encoding="utf-8"))["imports"][0]
    assert (entry["imported"], entry["stopped"]) == (3, "interrupted")


def test_a_store_of_another_rule_is_refused(file: Path, tmp_path: Path) -> None:
    import_games(read(file), tmp_path / "store")
    with pytest.raises(UsageError, match="imported with duplicates=symmetric"):
        import_games(read(file), tmp_path / "store", duplicates=Duplicates.KEEP)


def test_a_store_of_self_play_is_refused(file: Path, tmp_path: Path) -> None:
    store = GameStore(tmp_path / "store")
    store.append([record("a1 b2", game_id=7)])
    store.close()
    with pytest.raises(UsageError, match="were not imported"):
        import_games(read(file), tmp_path / "store")


@pytest.mark.parametrize("text", ["", "\n\n", "b a1,w a1,B\n", "nothing of the kind\n"])
def test_a_file_without_a_game_is_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "games.wolve").write_text(text)
    with pytest.raises(UsageError, match=r"games\.wolve: there are no games that can be read"):
        import_games(read(tmp_path / "games.wolve"), tmp_path / "store")


def test_a_file_that_contradicts_its_game_is_not_believed_and_noted(tmp_path: Path) -> None:
    (tmp_path / "games.sgf").write_text(
        "(;GM[11]SZ[3]RE[B+];B[b2];W[a1];B[resign])(;GM[11]SZ[3]RE[W+];W[b2];B[a1];W[resign])"
    )
    result = import_games(read(tmp_path / "games.sgf"), tmp_path / "store")
    assert [game.winner for game in GameStore(tmp_path / "store").records()] == [-1]
    assert result.noted.counts == {"the file says another winner": 2}
    assert result.dropped.counts == {"duplicate": 1}


KILLED = """
import sys
from pathlib import Path
from hexlit.selfplay import importing, sources
from hexlit.selfplay.sources import GameReader
importing.GAMES_AT_ONCE = 10
def slow(reader):
    print(reader.games, flush=True)
    import time; time.sleep(0.02)
sources.GAMES_BETWEEN_REPORTS = 10
reader = GameReader([Path(sys.argv[1])])
reader.progress = slow
importing.import_games(reader, Path(sys.argv[2]))
"""


def test_a_kill_in_the_middle_loses_no_finished_game_and_the_same_import_goes_on(
    tmp_path: Path,
) -> None:
    """A game is finished when the next hundred has been reported: it stands in the journal."""
    random = np.random.default_rng(5)
    letters = [f"{chr(97 + column)}{row + 1}" for row in range(10) for column in range(10)]
    lines = [
        "".join(
            f"{'bw'[n % 2]} {letters[cell]}," for n, cell in enumerate(random.permutation(100)[:8])
        )
        for _ in range(600)
    ]
    file = tmp_path / "games.wolve"
    file.write_text("".join(f"{line}B\n" for line in lines))
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(file), str(tmp_path / "store")], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    read_when_killed = [int(process.stdout.readline()) for _ in range(7)][-1]
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = sum(1 for _ in read(tmp_path / "store"))
    assert read_when_killed - 10 <= kept < 600
    result = import_games(read(file), tmp_path / "store")
    assert (result.imported, result.in_store) == (600 - kept, 600)
    assert result.dropped.counts == {"in the store already": kept}


def test_unfinished_games_are_counted_once_as_in_the_store(tmp_path: Path) -> None:
    (tmp_path / "games.wolve").write_text(UNFINISHED + "\n" + UNFINISHED + "\n")
    result = import_games(read(tmp_path / "games.wolve"), tmp_path / "store")
    assert (result.read, result.imported) == (2, 1)
    assert result.noted.counts == verify_games(read(tmp_path / "store")).noted.counts == NOTED
    assert import_games(read(tmp_path / "games.wolve"), tmp_path / "store").noted.counts == {}


def test_the_samples_of_all_formats_are_the_same_games(tmp_path: Path) -> None:
    result = import_games(read(SAMPLES), tmp_path / "store")
    assert result.imported == 6
    assert result.dropped.counts == {"duplicate": result.read - 6}
    endings = [game.ending for game in GameStore(tmp_path / "store").records()]
    assert sorted(endings) == ["connected"] * 4 + ["resigned"] + ["unfinished"]


def test_a_duplicate_with_another_result_is_noted(tmp_path: Path) -> None:
    (tmp_path / "games.trmph").write_text("#3,b2a1\n#3,b2a1 b\n#3,b2c3 b\n#3,b2a1\n")
    result = import_games(read(tmp_path / "games.trmph"), tmp_path / "store")
    assert result.dropped.counts == {"duplicate": 2, "duplicate, turned by 180°": 1}
    assert result.noted.counts["duplicate with another result"] == 2


@st.composite
def games(draw: st.DrawFn) -> GameRecord:
    size = draw(st.integers(2, 13))
    cells = draw(st.permutations(range(size**2)))[: draw(st.integers(0, 12))]
    swap = draw(st.booleans()) and len(cells) > 1
    if swap:
        cells[1] = size**2
    return GameRecord(0, size, swap, np.array(cells, np.int16), 0, Ending.UNFINISHED, source="a:1")


def turned(game: GameRecord) -> GameRecord:
    return GameRecord(
        0, game.size, game.swap, rotate_moves(game.moves, game.size), 0, game.ending, source="b:2"
    )


@given(games())
def test_a_game_and_the_same_turned_have_one_id_of_63_bits_and_one_of_them_is_the_turned_form(
    game: GameRecord,
) -> None:
    one, is_turned = game_identity(game)
    other, other_is_turned = game_identity(turned(game))
    assert one == other
    assert 0 <= one < 2**63
    symmetric = np.array_equal(game.moves, turned(game).moves)
    assert (is_turned != other_is_turned) or symmetric


@pytest.mark.parametrize("place", ["", "games.sgf:1:1"])
def test_another_size_and_another_order_of_moves_are_other_games(place: str) -> None:
    ids = {
        game_identity(game, place)[0]
        for game in (record("a1 b2"), record("b2 a1"), record("a1 b2 c1"))
    }
    same_numbers = GameRecord(0, 4, False, record("a1 b2").moves, 0, Ending.UNFINISHED)
    assert len(ids | {game_identity(same_numbers, place)[0]}) == 4


def test_when_all_are_kept_equal_games_of_a_line_and_of_two_folders_are_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        Path("games.sgf").write_text("(;SZ[5];B[a1];W[b2])(;SZ[5];B[a1];W[b2])")
        for _ in range(2):
            reader = GameReader([Path("games.sgf")])
            result = import_games(reader, tmp_path / "store", duplicates=Duplicates.KEEP)
    assert result.in_store == 4


def test_the_id_of_a_game_is_the_same_in_every_version() -> None:
    """Stores are kept for years: an id that changed would let every game in twice."""
    assert game_identity(record("a1 b2")) == (864679018957366455, False)
