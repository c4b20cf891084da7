"""`hexlit solve`: what goes in is checked, what comes out is the solver's answer as text or JSON."""

import json
from pathlib import Path

import pytest

from hexlit.cli import main
from hexlit.hex.openings import solved_openings


def test_text_says_winner_winning_moves_and_effort_and_draws_the_board(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "board=3"]) == 0
    out = capsys.readouterr().out
    assert "winner         Black, with best play" in out
    assert "winning moves  c1 a2 b2 c2 a3" in out
    assert "nodes" in out
    assert out.startswith("   a b c\n 1 . . * 1\n  2 * * * 2\n   3 * . . 3\n      a b c\n")
    assert "\x1b" not in out


def test_a_network_orders_the_moves_and_changes_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "board=6", "moves=d1", "checkpoint=hexlit:small", "json=true", "threads=1"]) == 0
    ordered = json.loads(capsys.readouterr().out)
    assert main(["solve", "board=6", "moves=d1", "json=true", "threads=1"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert ordered["winning_moves"] == plain["winning_moves"]
    assert ordered["nodes"] != plain["nodes"], "the network was asked"


@pytest.mark.parametrize("size", [3, 4])
def test_json_names_exactly_the_solved_winning_openings(size: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", f"board={size}", "json=true"]) == 0
    answer = json.loads(capsys.readouterr().out)
    wins = [f"{chr(97 + cell % size)}{cell // size + 1}" for cell, won in enumerate(solved_openings(size)) if won]
    assert answer["winner"] == "black"
    assert answer["to_move"] == "black"
    assert sorted(answer["winning_moves"]) == sorted(wins)
    assert answer["nodes"] > 0 <= answer["seconds"]


GAME = "(;FF[4]GM[11]SZ[3];B[a1];W[b2];B[a3];W[c1])"


def test_a_position_of_a_game_in_sgf(capsys: pytest.CaptureFixture[str]) -> None:
    Path("game.sgf").write_text(GAME)
    assert main(["solve", "file=game.sgf", "move=1", "json=true"]) == 0
    of_file = json.loads(capsys.readouterr().out)
    assert main(["solve", "board=3", "moves=a1", "json=true"]) == 0
    of_moves = json.loads(capsys.readouterr().out)
    assert (of_file["black"], of_file["white"]) == (["a1"], [])
    assert of_moves["moves"] == ["a1"]
    same = ("board", "to_move", "winner", "winning_moves")
    assert [of_file[key] for key in same] == [of_moves[key] for key in same]


def test_all_openings_are_kept_in_a_folder_and_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "board=4", "openings=true", "output=four", "threads=2"]) == 0
    assert "LLLW/LLWL/LWLL/WLLL" in capsys.readouterr().out
    assert main(["solve", "board=4", "openings=true", "resume=four", "json=true"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again == json.loads(Path("four/openings.json").read_text())
    assert again["openings"] == "LLLW/LLWL/LWLL/WLLL"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("openings=true output=four", "four has openings: resume=four"),
        ("openings=true resume=none", "none has no openings yet: output=none"),
        ("board=5 openings=true resume=four", "four holds the openings of a board of 4, not of 5"),
        ("openings=true resume=broken", "broken: its openings cannot be read"),
        ("openings=true moves=a1", "openings=true: the empty board"),
        ("output=four", "output=: the folder of openings=true"),
        ("memory=90000", "memory=90000:"),
        ("checkpoint=hexlit:none", "checkpoint=hexlit:none: no such network comes along"),
    ],
)
def test_a_mistake_is_told_in_one_line(arguments: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "board=4", "openings=true", "output=four"]) == 0
    Path("broken").mkdir()
    Path("broken/openings.json").write_text("[]")
    capsys.readouterr()
    words = arguments.split()
    assert main(["solve", *([] if words[0].startswith("board") else ["board=4"]), *words]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
