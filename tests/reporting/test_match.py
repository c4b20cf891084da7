"""A match: ratings with their intervals, scores, forfeits and games."""

import re
from pathlib import Path
from typing import Any

import pytest

from hexlit.commands.report_files import games_of
from hexlit.reporting.html import render
from hexlit.reporting.match import match_page, ratings
from hexlit.reporting.text import as_rows
from tests.reporting.documents import NASTY, checked, make_match, match_document, shown


def player(
    name: str, elo: float, low: float, high: float, wins: int, bound: str = ""
) -> dict[str, Any]:
    games = {"games": 80, "wins": wins, "score": wins / 80}
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


def test_a_row_shows_rating_interval_games_and_score() -> None:
    lines = printed().splitlines()
    deep, random, worse = (
        next(line for line in lines if line.startswith(name))
        for name in ("deep", "random", "worse")
    )
    assert deep.split()[:9] == ["deep", "≥", "+612", "+480", "to", "+951", "80", "80", "100.0%"]
    assert random.split()[:3] == ["random", "+0", "anchor"]
    assert worse.split()[:6] == ["worse", "-71", "-138", "to", "-9", "80"]
    assert lines[0] == "Match on 5×5"
    facts = dict(
        zip(re.split("  +", lines[1].strip()), re.split("  +", lines[2].strip()), strict=True)
    )
    assert (facts["games"], facts["games/s"], facts["won by Black"]) == ("120", "10.0", "55.0%")
    assert facts["pairs split"] == "25.0%"


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut(width: int) -> None:
    text = shown(match_page(document()), width, force_terminal=True, color_system=None)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text


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
