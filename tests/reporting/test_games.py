"""Piles of games on the terminal: progress and tables."""

import io

from rich.console import Console

from hexlit.reporting import games
from hexlit.reporting.games import (
    ReadingProgress,
    draw_histogram,
    print_export,
    print_import,
    print_overview,
    print_verdict,
)

TALLY = {"duplicate": {"count": 2527, "place": "a/very/long/path/" * 8 + "games.txt:7", "said": ""}}


def printed(print_it: object, *arguments: object) -> str:
    console = Console(file=io.StringIO(), width=60, highlight=False, soft_wrap=True)
    print_it(console, *arguments)  # type: ignore[operator]
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_an_import_is_told_with_every_reason_and_whole_places() -> None:
    document = {"read": 12427, "imported": 9900, "plies": 383524, "in_store": 9900, "seconds": 3.0}
    text = printed(print_import, {**document, "games_per_second": 4142, "dropped": TALLY, "noted": {}}, "store")
    assert text.startswith(
        "12,427 games read · 9,900 new games (383,524 plies) · 9,900 in store · 3.0 s, 4.14k games/s"
    )
    assert f"  2,527  duplicate  such as {TALLY['duplicate']['place']}\n" in text
    assert "To be known" not in text


def test_an_export_names_what_is_lost() -> None:
    document = {"format": "trmph", "written": 3, "bytes": 2048, "seconds": 0.1, "not_written": {}, "lost": TALLY}
    text = printed(print_export, document, "x.trmph")
    assert "3 games written to x.trmph" in text
    assert "Not said in trmph" in text
    assert "Not written" not in text


def test_a_verdict_tells_problems_one_by_one_and_how_many_there_are() -> None:
    problem = {"reason": "result", "place": "x:1", "said": "Black has connected"}
    document = {"fine": False, "games": 3, "plies": 30, "wrong": TALLY, "noted": {}, "problems": [problem]}
    text = printed(print_verdict, document)
    assert "3 games · 30 plies replayed · 2,527 wrong" in text
    assert "The first 1\nx:1: result: Black has connected\n" in text
    fine = {"fine": True, "games": 3, "plies": 30, "wrong": {}, "noted": {}, "problems": []}
    assert printed(print_verdict, fine) == "3 games · 30 plies replayed · all well\n"


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
    text = printed(print_overview, document)
    assert "4 games · 30 plies, 7.5 a game" in text
    assert "black 3 (75.0%), white 1 (25.0%)" in text
    assert "unknown" not in text
    assert "2 games cannot be read" in text


def test_a_histogram_has_a_line_a_class_and_its_longest_bar_has_the_full_width() -> None:
    lines = str(draw_histogram({19: 1, 31: 100, 35: 100, 88: 400})).splitlines()
    assert lines[0] == "  10 to 19 ▏ 1"
    assert lines[1] == "  20 to 29  0"
    assert lines[2] == f"  30 to 39 {'█' * 20} 200"
    assert lines[-1] == f"  80 to 89 {'█' * 40} 400"
    assert str(draw_histogram({5: 2})) == f"  5 {'█' * 40} 2"
    assert len(str(draw_histogram(dict.fromkeys(range(1, 600), 1))).splitlines()) <= 12


def test_away_from_a_terminal_progress_is_a_line_now_and_then(monkeypatch: object) -> None:
    clock = iter([0.0, 5.0, 10.0, 11.0])
    monkeypatch.setattr(games.time, "monotonic", lambda: next(clock))  # type: ignore[attr-defined]
    console = Console(file=io.StringIO())
    with ReadingProgress(4096, "importing", console=console) as progress:
        progress.update(1024, 50)
        progress.update(2048, 100)
        progress.update(3072, 150)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert text == "2.00 KiB of 4.00 KiB, 100 games, 10.0 games/s, 10.0 s left\n"
