"""The data of a run of Hex, as a run announces it."""

import io
import logging
from pathlib import Path

import pytest
from rich.console import Console

from hexlit.commands.hex_data import show_account
from hexlit.selfplay.flat_games import OTHER_SIZE
from hexlit.tasks.hex.games_account import GamesAccount


def shown(used: int, others: int) -> str:
    console = Console(file=io.StringIO(), width=60)
    show_account(console, GamesAccount(Path("games"), 11, used, {OTHER_SIZE: others}))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert isinstance(text, str)
    return text


def test_games_left_out_are_one_line(caplog: pytest.LogCaptureFixture) -> None:
    line = "data.path=games: 60 of 100 games are used; left out: 40 on another board than 11x11\n"
    assert shown(60, 40) == line
    assert not caplog.records


def test_a_warning_says_that_most_games_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert shown(33, 9861) == ""
    assert "most games are left out" in caplog.text
    assert "33 of 9,894 games are used" in caplog.text
