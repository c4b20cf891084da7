"""`hexlit solve`: what goes in is checked,
what comes out is the solver's answer as text or JSON.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hexlit.cli import main
from hexlit.hex.openings import solved_openings


def test_text_says_winner_winning_moves_and_effort_and_draws_the_board(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["solve", "board=3"]) == 0
    out = capsys.readouterr().out
    assert "winner         Black, with best play" in out
    assert "winning moves  c1 a2 b2 c2 a3" in out
    assert "nodes" in out
    assert out.startswith("   a b c\n 1 . . * 1\n  2 * * * 2\n   3 * . . 3\n      a b c\n")
    assert "\x1b" not in out


def test_a_network_orders_the_moves_and_changes_no_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        main(["solve", "board=6", "moves=d1", "checkpoint=hexlit:small", "json=true", "threads=1"])
        == 0
    )
    ordered = json.loads(capsys.readouterr().out)
    assert main(["solve", "board=6", "moves=d1", "json=true", "threads=1"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert ordered["winning_moves"] == plain["winning_moves"]
    assert ordered["nodes"] != plain["nodes"], "the network was asked"


@pytest.mark.parametrize("size", [3, 4])
def test_json_names_exactly_the_solved_winning_openings(
    size: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", f"board={size}", "json=true"]) == 0
    answer = json.loads(capsys.readouterr().out)
    wins = [
        f"{chr(97 + cell % size)}{cell // size + 1}"
        for cell, won in enumerate(solved_openings(size))
        if won
    ]
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
    assert main(["solve", "board=4", "openings=true", "output=four", "json=true"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again == json.loads(Path("four/openings.json").read_text())
    assert again["openings"] == "LLLW/LLWL/LWLL/WLLL"


@pytest.fixture
def five(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of solved openings, with a table of positions."""
    assert main(["solve", "board=5", "openings=true", "output=five", "threads=1"]) == 0
    assert len(np.load("five/table.npy")) > 1
    return Path("five")


@pytest.mark.parametrize("lost", ["openings.json", "table.npy"])
def test_openings_go_on_from_either_file(
    lost: str, five: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A process may be killed between writing the two."""
    before = json.loads((five / "openings.json").read_text())
    (five / lost).unlink()
    capsys.readouterr()
    assert main(["solve", "board=5", "openings=true", "output=five", "json=true", "threads=1"]) == 0
    after = json.loads(capsys.readouterr().out)
    assert after["openings"] == before["openings"]
    assert after["nodes"] <= before["nodes"]


def test_a_table_of_another_board_is_refused(
    five: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (five / "openings.json").unlink()
    for size in (4, 6):
        capsys.readouterr()
        assert main(["solve", f"board={size}", "openings=true", "output=five"]) == 2
        error = capsys.readouterr().err
        assert (
            f"five: its openings cannot be read (a table of a board of 5, not of {size})" in error
        )


def forged_tables(whole: bytes) -> list[bytes]:
    value = bytearray(whole)
    value[-48 + 16] ^= 4  # in the numbers of the last row
    huge = re.sub(rb"\(\d+, 6\)", b"(99999999999, 6)", whole, count=1)
    return [
        b"",
        whole[:-1],
        whole[:5],
        bytes(value),
        whole.replace(b"<u8", b"|O8"),
        huge,
    ]


def forged_maps(whole: bytes) -> list[bytes]:
    wrong = [{"board": "x"}, {"openings": None}, {"nodes": []}]
    documents = [json.dumps(json.loads(whole) | one).encode() for one in wrong]
    return [b"", b"[" * 100_000, b"3", b"{}", *documents]


@pytest.mark.parametrize(
    ("name", "forge"), [("table.npy", forged_tables), ("openings.json", forged_maps)]
)
def test_a_forged_file_is_one_line(
    name: str, forge: Any, five: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for content in forge((five / name).read_bytes()):
        (five / name).write_bytes(content)
        capsys.readouterr()
        assert main(["solve", "board=5", "openings=true", "output=five"]) == 2, content[:99]
        error = capsys.readouterr().err
        assert "five: its openings cannot be read" in error
        assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            "board=5 openings=true output=four",
            "four: its openings cannot be read (a board of 4, not of 5)",
        ),
        ("openings=true output=broken", "broken: its openings cannot be read"),
        ("openings=true moves=a1", "openings=true: the empty board"),
        ("output=four", "output=four: the folder of openings=true"),
        ("memory=90000", "memory=90000:"),
        ("checkpoint=hexlit:none", "checkpoint=hexlit:none: no such network comes along"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    arguments: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", "board=4", "openings=true", "output=four"]) == 0
    Path("broken").mkdir()
    Path("broken/openings.json").write_text("[]")
    capsys.readouterr()
    words = arguments.split()
    assert main(["solve", *([] if words[0].startswith("board") else ["board=4"]), *words]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
