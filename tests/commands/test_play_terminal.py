"""A game on the terminal, line by line."""

import io
import sys
from pathlib import Path

import pytest

from hexlit.commands import play
from hexlit.tasks.hex import packaged


def play_lines(
    lines: str, *overrides: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    monkeypatch.setattr(packaged, "FOLDER", Path("/no/networks"))
    assert play.main(["terminal=true", "rollouts=1", "search.simulations=8", *overrides]) == 0
    return capsys.readouterr().out


def test_a_game_of_two_people(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "b2\nb2\nz9\nwhat is this\nundo\nb2\nswap\na1\na3\nc3\nc1\n"
    out = play_lines(
        lines, "board=3", "you=both", "swap=true", monkeypatch=monkeypatch, capsys=capsys
    )
    assert "the cell is taken" in out
    assert "move 'z9'" in out
    assert "'what is this': a move such as a3 is needed" in out
    assert out.endswith("White wins\n")  # a3, b2 by the swap, c1


def test_it_needs_no_package_of_the_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for package in ("fastapi", "uvicorn", "websockets"):
        monkeypatch.setitem(sys.modules, package, None)
    assert "to move" in play_lines(
        "b2\n", "board=3", "you=both", monkeypatch=monkeypatch, capsys=capsys
    )


@pytest.mark.parametrize("you", ["black", "white", "none"])
def test_a_game_against_a_player(
    you: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = "".join(f"{cell}\n" for cell in ("b2", "a1", "b1", "c1", "a2", "c2", "a3", "b3", "c3"))
    out = play_lines(
        cells, "board=3", f"you={you}", "against=random", monkeypatch=monkeypatch, capsys=capsys
    )
    assert out.splitlines()[1].startswith("X Black, top to bottom")
    assert out.rstrip().endswith("wins")
    assert ("to move" in out) == (you != "none")


def test_resigning_and_leaving(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = play_lines("undo\nresign\n", "board=3", monkeypatch=monkeypatch, capsys=capsys)
    assert "undo: you have not moved yet" in out
    assert "White wins by resignation" in out
    assert "wins" not in play_lines(
        "help\nb2\n", "board=3", "you=both", monkeypatch=monkeypatch, capsys=capsys
    )
