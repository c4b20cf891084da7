"""The report of a match."""

from pathlib import Path

import pytest

from hexlit.commands.report_files import games_of
from hexlit.reporting.pages.match_page import match_page
from hexlit.reporting.pages.page import render
from tests.reporting.pages.documents import NASTY, checked, make_match, match_document


@pytest.mark.row("F13")
def test_the_report_of_a_match_has_ratings_cross_table_and_games(tmp_path: Path) -> None:
    games = games_of(make_match(tmp_path / "m") / "games.csv", 3)
    page = checked(render(match_page(match_document(), games, "runs/match/m", {"pairs": "1"})))
    for expected in (
        "≥ +120",
        "anchor",
        "2–0",
        "0–2",
        "1. deep – random · Black won in 5",
        "depth=2",
        "held by the prior",
    ):
        assert expected in page.text
    assert "Forfeits" not in page.text


def test_names_of_players_are_only_text() -> None:
    document = match_document((NASTY, "b"))
    document["forfeits"] = [{"loser": NASTY, "note": NASTY}]
    assert checked(render(match_page(document, [], NASTY))).text.count(NASTY) >= 6


def test_the_sequential_test_is_told() -> None:
    document = match_document()
    document["sprt"] = {"accepted": "elo1", "elo0": 0.0, "elo1": 30.0, "log_likelihood_ratio": 3.1, "lower": -2.9,
                        "upper": 2.9, "pairs": [1, 2, 3]}  # fmt: skip
    assert "SPRT: better by 30 Elo rather than 0" in checked(render(match_page(document, [], "m"))).text
