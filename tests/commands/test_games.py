"""`hexlit games`: games in and out, drawn, counted, replayed; mistakes in one line."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hexlit.cli import main
from hexlit.commands import games as games_settings
from hexlit.hex.notation import format_cell
from hexlit.hex.record import Ending
from hexlit.hex.records.formats import FORMATS
from hexlit.selfplay.importing import Duplicates
from hexlit.selfplay.store import SCHEMA, GameStore

SAMPLES = Path(__file__).parents[1] / "samples"
SGF = SAMPLES / "games_5x5.sgf"

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def test_the_words_of_the_settings_are_those_of_the_code() -> None:
    assert tuple(FORMATS) == games_settings.FORMATS
    assert set(games_settings.DUPLICATES) == set(Duplicates)
    assert tuple(Ending) == games_settings.ENDINGS


def test_games_go_into_a_store_once_with_an_account_of_the_rest(capsys: Captured) -> None:
    assert main(["games", "import", f"source={SAMPLES}", "target=store"]) == 0
    out = capsys.readouterr().out
    assert re.match(r"games read  new games  plies  in store +time +games/s\n\d+ +6 +\d+ +6 ", out)
    assert re.search(r"\n\d+  duplicate, such as .*games_5x5\.\w+:\d+\n", out)
    assert "\x1b" not in out
    assert main(["games", "import", f"source=[{SGF},{SAMPLES}]", "target=store", "json=true"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["imported"], again["in_store"]) == (0, 6)
    assert list(again["dropped"]) == ["in the store already"]
    assert (
        json.loads(Path("store/import.json").read_text(encoding="utf-8"))["imports"][1]["imported"]
        == 0
    )


def test_games_go_out_to_the_format_of_the_targets_name_or_to_one_by_name(capsys: Captured) -> None:
    assert main(["games", "import", f"source={SGF}", "target=store"]) == 0
    assert main(["games", "export", "source=store", "target=games.hexworld"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"games written to games.hexworld .*\n6 ", out)
    assert "Not expressed in hexworld" in out
    assert (
        main(
            [
                "games",
                "export",
                "source=store",
                "target=out.txt",
                "format=trmph",
                "ending=connected",
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    assert re.search(r"games written to out.txt .*\n2 ", out)
    assert "Not written" in out
    assert main(["games", "import", "source=games.hexworld", "target=store", "json=true"]) == 0
    assert json.loads(capsys.readouterr().out)["imported"] == 0


def test_a_game_is_drawn_on_the_terminal_and_as_a_picture(capsys: Captured) -> None:
    assert main(["games", "show", f"source={SGF}", "game=2", "ply=3", "svg=pictures/game.svg"]) == 0
    out = capsys.readouterr().out
    assert "X rollouts 64 (2) – O rollouts 64\n" in out
    assert " 1 . . . O(X)1\n" in out  # the swapped stone of a4 on d1, the last move on e1
    assert "  1 [a4]    2 swap    3 e1" in out
    assert "11 moves · Black connects (3 of 11 moves shown)" in out
    assert f"source  {SGF}:2" in out
    assert Path("pictures/game.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_game_that_cannot_be_read_is_named_and_counted(capsys: Captured) -> None:
    Path("games.wolve").write_text("b a1,w a1,B\nb a1,oops\nb a1,w a2,B\n")
    assert main(["games", "show", "source=games.wolve"]) == 2
    assert "game=1: games.wolve:1:1: ply 2, a1: the cell is taken" in capsys.readouterr().err
    assert main(["games", "show", "source=games.wolve", "game=2"]) == 2
    assert "game=2: games.wolve:2:6: 'oops' is no winner" in capsys.readouterr().err
    assert main(["games", "show", "source=games.wolve", "game=3"]) == 0
    assert "source  games.wolve:3" in capsys.readouterr().out
    assert main(["games", "show", "source=games.wolve", "game=4"]) == 2
    assert "game=4: 3 games are there" in capsys.readouterr().err


def test_stats_are_text_or_json(capsys: Captured) -> None:
    assert main(["games", "stats", f"source={SGF}"]) == 0
    out = capsys.readouterr().out
    for part in (
        "plies a game",
        "5x5 6 (100.0%)",
        "swap-pieces 2",
        "Lengths",
        "Openings",
        "Players (2)",
    ):
        assert part in out
    assert main(["games", "stats", f"source={SGF}", "json=true", "winner=white"]) == 0
    assert json.loads(capsys.readouterr().out)["winners"] == {"black": 0, "white": 3, "unknown": 0}


def test_verify_says_by_its_exit_code_whether_all_is_well(capsys: Captured) -> None:
    assert main(["games", "verify", f"source={SAMPLES}"]) == 0
    assert "all well" in capsys.readouterr().out
    Path("games.wolve").write_text("b a1,w a1,B\nb a1,w a2,B\n")
    assert main(["games", "verify", "source=games.wolve"]) == 1
    out = capsys.readouterr().out
    assert "1 wrong" in out
    assert "games.wolve:1" in out
    assert main(["games", "verify", "source=games.wolve", "json=true"]) == 1
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["fine"], verdict["games"], len(verdict["problems"])) == (False, 1, 1)


@pytest.mark.parametrize("column", [*SCHEMA.names, "moves_text"])
def test_a_changed_byte_of_any_column_is_one_line(column: str, capsys: Captured) -> None:
    assert main(["games", "import", f"source={SGF}", "target=store"]) == 0
    part = Path("store/part-000000.parquet")
    group = pq.ParquetFile(part).metadata.row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    (place,) = (one for one in columns if one.path_in_schema.partition(".")[0] == column)
    changed = bytearray(part.read_bytes())
    first_page = place.dictionary_page_offset or place.data_page_offset
    changed[first_page + place.total_compressed_size - 1] ^= 0x10
    part.write_bytes(changed)
    for action in ("verify", "stats"):
        capsys.readouterr()
        assert main(["games", action, "source=store"]) == 2
        assert re.fullmatch(
            r"hexlit games: .*part-000000\.parquet: cannot be read .*\n", capsys.readouterr().err
        )


def test_a_full_disk_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(GameStore, "append", full)
    assert main(["games", "import", f"source={SGF}", "target=store"]) == 2
    err = capsys.readouterr().err
    assert (
        err == "hexlit games: this machine: cannot be read or written (No space left on device)\n"
    )


def test_puzzles_are_written_as_sgf_and_as_a_page_that_hides_the_solutions(
    checkpoint: Path, capsys: Captured
) -> None:
    assert (
        main(
            [
                "games",
                "puzzles",
                "board=4",
                "count=5",
                f"checkpoint={checkpoint}",
                "target=new",
                "json=true",
            ]
        )
        == 0
    )
    made, page = (
        json.loads(capsys.readouterr().out)["puzzles"],
        Path("new/puzzles.html").read_text(encoding="utf-8"),
    )
    assert (
        len(made)
        == page.count("<details><summary>")
        == Path("new/puzzles.sgf").read_text().count("(;FF")
        == Path("new/puzzles.sgf").read_text().count("TE[1]")
        == 5
    )
    assert main(["solve", "file=new/puzzles.sgf", "move=0", "json=true"]) == 0
    assert json.loads(capsys.readouterr().out)["winning_moves"] == [
        format_cell(made[0]["solution"], 4)
    ]
    assert main(["games", "import", "source=new/puzzles.sgf", "target=store"]) == 0
