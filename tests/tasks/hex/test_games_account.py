"""The account of a store's games: which are used, and why the others are not."""

from pathlib import Path

import pytest

from hexlit.selfplay.flat_games import OPENING, OTHER_SIZE, UNFINISHED
from hexlit.tasks.hex.games_account import HELD_OUT, GamesAccount
from tests.selfplay.recorded_games import random_games, save
from tests.tasks.hex.test_games_data import data_of


def account(used: int, **left_out: int) -> GamesAccount:
    reasons = {"other": OTHER_SIZE, "unfinished": UNFINISHED, "opening": OPENING, "held_out": HELD_OUT}
    return GamesAccount(Path("games/mine"), 11, used, {reasons[name]: count for name, count in left_out.items()})


def test_the_line_counts_the_games_of_the_store_and_says_why_some_are_left_out() -> None:
    assert account(33, other=9841, unfinished=20, opening=500).line() == (
        "data.path=games/mine: 33 of 9,894 games are used; left out: 9,841 on another board than 11x11, "
        "20 unfinished (data.claimed_results=true takes those with a claimed winner)"
    )


def test_plies_of_an_opening_leave_out_no_game() -> None:
    assert account(1200, opening=500).line() == "data.path=games/mine: all 1,200 games are used"


@pytest.mark.parametrize(("used", "others", "mostly"), [(33, 9841, True), (49, 51, True), (50, 50, False)])
def test_most_games_are_left_out_if_fewer_than_half_are_used(used: int, others: int, mostly: bool) -> None:
    assert account(used, other=others).mostly_left_out is mostly


@pytest.mark.row("D1")
def test_every_game_of_a_store_is_used_or_left_out(tmp_path: Path) -> None:
    records = [*random_games(40, 4), *random_games(60, 5)]
    data = data_of(save(tmp_path / "store", records))
    found, mixed = data.account(), data.account(validates=False)
    assert found.games == mixed.games == len(records)
    assert found.left_out[OTHER_SIZE] == 60
    assert found.mostly_left_out
    assert found.used - mixed.used == mixed.left_out[HELD_OUT] == data.counts()["validation_games"] > 0
