"""Piles of games on the terminal: progress and tables."""

import io

from rich.console import Console

from hexlit.reporting.games import (
    export_page,
    histogram,
    import_page,
    overview_page,
    verdict_page,
)
from hexlit.reporting.page import Page
from hexlit.reporting.text import show

TALLY = {"duplicate": {"count": 2527, "place": "a/very/long/path/" * 8 + "games.txt:7", "said": ""}}


def printed(page: Page) -> str:
    console = Console(file=io.StringIO(), width=100, highlight=False, soft_wrap=True)
    show(page, console)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_an_import_is_told_with_every_reason_and_whole_places() -> None:
    document = {"read": 12427, "imported": 9900, "plies": 383524, "in_store": 9900, "seconds": 3.0}
    text = printed(import_page({**document, "games_per_second": 4142, "dropped": TALLY, "noted": {}}, "store"))
    names, values = text.splitlines()[:2]
    assert names.split()[-1] == "games/s"
    assert values.split() == ["12,427", "9,900", "383,524", "9,900", "3.0", "s", "4.14k"]
    assert f"2,527  duplicate, such as {TALLY['duplicate']['place']}\n" in text
    assert "To be known" not in text


def test_an_export_names_what_is_lost() -> None:
    document = {"format": "trmph", "written": 3, "bytes": 2048, "seconds": 0.1, "not_written": {}, "lost": TALLY}
    text = printed(export_page(document, "x.trmph"))
    assert "games written to x.trmph" in text
    assert "Not said in trmph" in text
    assert "Not written" not in text


def test_a_verdict_tells_problems_one_by_one_and_how_many_there_are() -> None:
    problem = {"reason": "result", "place": "x:1", "said": "Black has connected"}
    document = {"fine": False, "games": 3, "plies": 30, "wrong": TALLY, "noted": {}, "problems": [problem]}
    text = printed(verdict_page(document))
    assert "2,527 wrong" in text
    assert "The first 1\nx:1: result: Black has connected\n" in text
    fine = {"fine": True, "games": 3, "plies": 30, "wrong": {}, "noted": {}, "problems": []}
    assert printed(verdict_page(fine)).endswith("\nall well\n")


def test_an_overview_has_counts_with_shares() -> None:
    document = {
        "games": 4,
        "plies": 30,
        "sizes": {"5": 4},
        "winners": {"black": 3, "white": 1, "unknown": 0},
        "endings": {"connected": 4},
        "swaps": {"none": 4},
        "lengths": {"7": 3, "9": 1},
        "different_openings": 2,
        "openings": [{"board": 5, "moves": "a1", "games": 3, "black_won": 1}],
        "different_players": 0,
        "players": [],
        "unreadable": 2,
    }
    text = printed(overview_page(document))
    assert "plies a game" in text
    assert "Winners: black 3 (75.0%), white 1 (25.0%)" in text
    assert "unknown" not in text
    assert "2 games cannot be read" in text


def test_a_histogram_has_a_row_a_class_and_its_longest_bar_has_the_full_width() -> None:
    rows = histogram({19: 1, 31: 100, 35: 100, 88: 400}).rows
    shown = [(name.text, count.text, bar.value) for name, count, bar in rows]
    assert shown[:3] == [("10 to 19", "1", 0.0025), ("20 to 29", "0", 0.0), ("30 to 39", "200", 0.5)]
    assert shown[-1] == ("80 to 89", "400", 1.0)
    assert len(histogram(dict.fromkeys(range(1, 600), 1)).rows) <= 12
