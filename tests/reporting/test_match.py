"""A match: ratings with their intervals, scores,
forfeits, the test, games, and progress with its end.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hexlit.commands.report_files import games_of
from hexlit.hex.notation import parse_moves
from hexlit.hex.record import Ending, GameRecord
from hexlit.reporting.html import render
from hexlit.reporting.match import closest_games, match_page, ratings
from hexlit.reporting.text import as_rows
from tests.reporting.documents import NASTY, checked, make_match, match_document, shown


def player(
    name: str, elo: float, low: float, high: float, wins: int, bound: str = ""
) -> dict[str, Any]:
    games = {"games": 80, "wins": wins, "score": wins / 80, "played": None}
    return {"name": name, "elo": elo, "low": low, "high": high, "bound": bound, **games}


def document(**changes: Any) -> dict[str, Any]:
    players = [
        player("deep", 612.4, 480.2, 951.0, 80, "at least"),
        player("random", 0.0, 0.0, 0.0, 24),
        player("worse", -70.6, -138.0, -9.0, 16),
    ]
    cross = {
        "deep": {"random": {"games": 40, "wins": 40}, "worse": {"games": 40, "wins": 40}},
        "random": {"deep": {"games": 40, "wins": 0}, "worse": {"games": 40, "wins": 24}},
        "worse": {"deep": {"games": 40, "wins": 0}, "random": {"games": 40, "wins": 16}},
    }
    counts = {
        "board": 5,
        "games": 120,
        "pairs": 60,
        "split_pairs": 15,
        "black_wins": 66,
        "games_per_second": 10.0,
    }
    return match_document() | counts | {"players": players, "cross": cross, "specs": {}} | changes


def printed(width: int = 140, **changes: Any) -> str:
    return shown(match_page(document(**changes)), width)


def test_a_row_shows_rating_interval_games_score_and_a_picture_of_the_interval() -> None:
    lines = printed().splitlines()
    deep, random, worse = (
        next(line for line in lines if line.startswith(name))
        for name in ("deep", "random", "worse")
    )
    assert deep.split()[:9] == ["deep", "≥", "+612", "+480", "to", "+951", "80", "80", "100.0%"]
    assert random.split()[:3] == ["random", "+0", "anchor"]
    assert worse.split()[:6] == ["worse", "-71", "-138", "to", "-9", "80"]
    assert deep.count("●") == random.count("●") == worse.count("●") == 1
    assert worse.index("●") < random.index("●") < deep.index("●")
    assert lines[0] == "Match on 5×5"
    facts = dict(
        zip(re.split("  +", lines[1].strip()), re.split("  +", lines[2].strip()), strict=True)
    )
    assert (facts["games"], facts["games/s"], facts["won by Black"]) == ("120", "10.0", "55.0%")
    assert facts["pairs split"] == "25.0%"
    assert "did not solve" not in printed()
    assert "solver: two-distance moves in 1,234 positions" in printed(unsolved=1_234)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut(width: int) -> None:
    text = shown(match_page(document()), width, force_terminal=True, color_system=None)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert ("●" in text) is (width >= 80)  # the picture of the intervals goes first


def test_the_page_has_ratings_cross_table_and_games(tmp_path: Path) -> None:
    games = games_of(make_match(tmp_path / "m") / "games.csv", 3)
    page = checked(render(match_page(match_document(), games, "runs/match/m", {"pairs": "1"})))
    for expected in (
        "≥ +120",
        "anchor",
        "2–0",
        "0–2",
        "1. deep – random · Black won in 5",
        "depth=2",
        "the prior",
    ):
        assert expected in page.text
    assert "Forfeits" not in page.text


def test_names_of_players_are_only_text() -> None:
    found = match_document((NASTY, "b"))
    found["forfeits"] = [{"loser": NASTY, "note": NASTY}]
    assert checked(render(match_page(found, [], NASTY))).text.count(NASTY) >= 6


def test_programs_get_the_values_behind_the_ratings() -> None:
    names, rows = as_rows(ratings(match_document()))
    assert names[:7] == ["player", "Elo", "low", "high", "games", "wins", "score"]
    assert rows[0][:7] == ["deep", 120.0, -10.0, 300.0, 2, 2, 1.0]


def game(
    black: str, white: str, moves: str, winner: int, ending: Ending = Ending.RESIGNED
) -> GameRecord:
    return GameRecord(0, 3, swap=True, moves=np.array(parse_moves(moves, 3), np.int16), winner=winner, ending=ending,
                      opening=0, black=black, white=white)  # fmt: skip


GAMES = [
    *(game("a", "b", "a1 a2", 1), game("b", "a", "a1 a2 b1", -1), game("a", "c", "a1", 1)),
    *(game("c", "a", "b2 a1 b1 a2", 1), game("a", "c", "b2 a1 c1", 1), game("c", "a", "b2 a1", 1)),
]
"""`a` has won all games against `b`, and half of those against `c`."""


def test_the_longest_games_of_the_closest_players_come_first() -> None:
    found = closest_games(GAMES, 4)
    assert [id(one) for one in found] == [id(GAMES[place]) for place in (3, 1, 4, 0)]
    assert len(closest_games(GAMES, 99)) == len(GAMES)
    assert closest_games([], 3) == []


def test_a_board_shows_players_stones_and_the_end() -> None:
    last = game("new", "old", "a1 swap-pieces b2 c3 b1 a2 b3", 1, Ending.CONNECTED)
    text = shown(match_page(match_document(), [last], boards=1), 80)
    lines = [line.rstrip() for line in text.splitlines()]
    start = lines.index("X new – O old: Black connects after 7 moves")
    assert lines[start + 1 : start + 6] == [
        "   a b c",
        " 1 O X . 1",
        "  2 O X . 2",
        "   3 .(X)O 3",
        "      a b c",
    ]
