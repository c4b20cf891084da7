"""Counting games: sizes, lengths, winners, swaps, openings folded by symmetry, players."""

import numpy as np

from hexlit.hex.record import Ending
from hexlit.selfplay.exporting import Overview
from tests.selfplay.games import record

VALUES = np.zeros(2, np.float32)


def overview(*games: object, plies: int = 2) -> Overview:
    counted = Overview(plies)
    for game in games:
        counted.add(game)  # type: ignore[arg-type]
    return counted


def test_what_is_counted() -> None:
    counted = overview(
        record("b2 a1 b1", winner=1, ending=Ending.RESIGNED, black="Ann", white="Bob"),
        record("b2 swap-pieces", swap=True, winner=-1, ending=Ending.FORFEITED, black="Bob", white="Ann"),
        record("b2 a1", 4, swap=True, black="Ann"),
        record("a1 a2", 4, swap=True, values=VALUES),  # of self-play: the rule was on, nobody swapped
    ).as_json()
    assert (counted["games"], counted["plies"]) == (4, 9)
    assert counted["sizes"] == {"3": 2, "4": 2}
    assert counted["lengths"] == {"2": 3, "3": 1}
    assert counted["winners"] == {"black": 1, "white": 1, "unknown": 2}
    assert counted["endings"] == {"connected": 0, "resigned": 1, "forfeited": 1, "unfinished": 2}
    assert counted["swaps"] == {"none": 2, "swap-pieces": 1, "swap-sides": 1}
    assert counted["different_players"] == 2
    assert counted["players"] == [{"name": "Ann", "games": 3, "won": 2}, {"name": "Bob", "games": 2, "won": 0}]


def test_an_opening_and_the_same_turned_are_one() -> None:
    counted = overview(
        record("a1 b3", winner=1),
        record("c3 b1", winner=-1),
        record("a1 c1"),
        record("a1 b3", 4),
        record("b2"),
        plies=2,
    ).as_json()
    assert counted["different_openings"] == 3
    assert counted["openings"][0] == {"board": 3, "moves": "a1 b3", "games": 2, "black_won": 1}


def test_only_the_most_frequent_are_listed() -> None:
    games = [record("a1"), record("b1"), record("b1"), record("b2")]
    assert [line["moves"] for line in overview(*games, plies=1).as_json(1)["openings"]] == ["b1"]
