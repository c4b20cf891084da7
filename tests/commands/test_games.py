"""`hexlit games`: games in and out, drawn, counted, replayed; mistakes in one line."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hexlit.cli import main
from hexlit.commands import games as games_settings
from hexlit.hex.record import Ending
from hexlit.hex.records.formats import FORMATS
from hexlit.selfplay.importing import Duplicates
from hexlit.selfplay.store import GameStore

SAMPLES = Path(__file__).parents[1] / "samples"
SGF = SAMPLES / "games_5x5.sgf"

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
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
    assert json.loads(Path("store/import.json").read_text(encoding="utf-8"))["imports"][1]["imported"] == 0


def test_games_go_out_to_the_format_of_the_targets_name_or_to_one_by_name(capsys: Captured) -> None:
    assert main(["games", "import", f"source={SGF}", "target=store"]) == 0
    assert main(["games", "export", "source=store", "target=games.hexworld"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"games written to games.hexworld .*\n6 ", out)
    assert "Not said in hexworld" in out
    assert main(["games", "export", "source=store", "target=out.txt", "format=trmph", "ending=connected"]) == 0
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


def test_stats_are_text_or_json(capsys: Captured) -> None:
    assert main(["games", "stats", f"source={SGF}", "opening_plies=1"]) == 0
    out = capsys.readouterr().out
    for part in ("plies a game", "5x5 6 (100.0%)", "swap-pieces 2", "Lengths", "Openings", "Players (2)"):
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


def test_verify_notices_any_byte_of_a_page_that_has_changed(capsys: Captured) -> None:
    """Ids and values are any numbers, so that only a checksum tells."""
    assert main(["games", "import", f"source={SGF}", "target=store"]) == 0
    part = Path("store/part-000000.parquet")
    ids = pq.ParquetFile(part).metadata.row_group(0).column(0)
    changed = bytearray(part.read_bytes())
    changed[ids.data_page_offset + ids.total_compressed_size - 1] ^= 0x10  # the last byte of the ids
    part.write_bytes(changed)
    capsys.readouterr()
    assert main(["games", "verify", "source=store"]) == 2
    assert "part-000000.parquet: cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "action=: choose one of import, export, show, stats, verify"),
        (["imprt", "source=x"], "action=imprt: choose one of import"),
        (["source=x", "import"], "import"),
        (["import", "target=store"], "source has no value"),
        (["import", "source=[]", "target=store"], "source has no value"),
        (["import", f"source={SGF}"], "target has no value: add target=FOLDER"),
        (["export", f"source={SGF}"], "target has no value: add target=FILE"),
        (["import", "source=nowhere", "target=store"], "source=nowhere: there is no such file or folder"),
        (["import", "source=empty", "target=store"], "source=empty: no file in it has games"),
        (["import", "source=void.sgf", "target=store"], "source=void.sgf: there are no games that can be read"),
        (["import", "source=picture.png", "target=store"], "picture.png: "),
        (["import", f"source={SGF}", "target=picture.png"], "picture.png: "),
        (["import", f"source={SGF}", "target=picture.png/store"], ": Not a directory"),
        (["import", "source=damaged", "target=store"], "part-000000.parquet: cannot be read"),
        (["stats", "source=damaged"], "part-000000.parquet: cannot be read"),
        (["import", f"source={SGF}", "target=damaged"], "part-000000.parquet: cannot be read"),
        (["import", f"source={SGF}", "target=store", "duplicates=no"], "duplicates=no: choose one of symmetric"),
        (["import", f"source={SGF}", "target=store", "on_error=no"], "on_error=no: choose one of skip, stop"),
        (["export", f"source={SGF}", "target=x.pdf"], "target=x.pdf: its name does not tell the format"),
        (["export", f"source={SGF}", "target=x.sgf", "size=7"], "no game fits"),
        (["export", f"source={SGF}", "target=empty"], "target=empty: "),
        (["show", f"source={SGF}", "game=7"], "game=7: 6 games are there"),
        (["show", f"source={SGF}", "game=0"], "game=0: must be 1 or more"),
        (["show", f"source={SGF}", "ply=17"], "ply=17: the game has 16 moves"),
        (["show", f"source={SGF}", "json=true"], "json=true: show draws"),
        (["show", f"source={SGF}", "svg=picture.png/game.svg"], "picture.png"),
        (["stats", f"source={SGF}", "size=9"], "no game in it fits, of 6 read"),
        (["verify", "source=void.sgf"], "there are no games in it"),
        (["stats", f"source={SGF}", "winner=red"], "winner=red: choose one of black, white"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments: list[str], part: str, capsys: Captured) -> None:
    Path("empty").mkdir()
    Path("void.sgf").write_text("")
    Path("picture.png").write_bytes(b"\x89PNG")
    Path("damaged").mkdir()
    Path("damaged/part-000000.parquet").write_bytes(b"PAR1 torn")
    assert main(["games", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert part in captured.err
    assert captured.err.count("\n") == 1


def test_the_first_error_may_end_an_import_and_what_came_before_stays(capsys: Captured) -> None:
    Path("games.wolve").write_text("b a1,w a2,B\nb a1,w a1,B\nb a1,w a3,B\n")
    assert main(["games", "import", "source=games.wolve", "target=store", "on_error=stop"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("hexlit games: games.wolve:2")
    assert captured.err.count("\n") == 1
    assert len(GameStore(Path("store"))) == 1


def test_a_full_disk_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(GameStore, "append", full)
    assert main(["games", "import", f"source={SGF}", "target=store"]) == 2
    assert capsys.readouterr().err == "hexlit games: this machine: No space left on device\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("hexlit games ", "import export show stats verify"),
        ("hexlit games s", "show stats"),
        ("hexlit games import du", "duplicates="),
        ("hexlit games du", ""),
    ],
)
def test_completion_knows_the_actions_and_then_the_settings(
    line: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("COMP_LINE", line)
    assert main(["-sc", "query=bash"]) == 0
    assert capsys.readouterr().out.strip() == expected


def test_help_names_every_action_and_reads_nothing(capsys: Captured) -> None:
    for arguments in (["games", "--help"], ["games", "import", "--help"]):
        assert main(arguments) == 0
        out = capsys.readouterr().out
        for word in ("import", "export", "show", "stats", "verify", "duplicates: symmetric"):
            assert word in out
