"""Piles of games on the terminal: progress and tables."""

from hexlit.reporting.games import histogram, overview_page
from tests.reporting.documents import shown


def test_an_overview_has_counts_with_shares() -> None:
    document: dict[str, object] = {"games": 4, "plies": 30, "unreadable": 2}
    document |= {
        "sizes": {"5": 4},
        "endings": {"connected": 4},
        "swaps": {"none": 4},
        "lengths": {"7": 3, "9": 1},
    }
    document |= {
        "winners": {"black": 3, "white": 1, "unknown": 0},
        "different_players": 0,
        "players": [],
    }
    document |= {"different_openings": 2}
    document |= {"openings": [{"board": 5, "moves": "a1", "games": 3, "black_won": 1}]}
    text = shown(overview_page(document), 100, soft_wrap=True)
    assert "plies a game" in text
    assert "Winners: black 3 (75.0%), white 1 (25.0%)" in text
    assert "unknown" not in text
    assert "2 games cannot be read" in text


def test_a_histogram_has_a_row_a_class_and_its_longest_bar_has_the_full_width() -> None:
    rows = histogram({19: 1, 31: 100, 35: 100, 88: 400}).rows
    shown = [(name.text, count.text, bar.value) for name, count, bar in rows]
    assert shown[:3] == [
        ("10 to 19", "1", 0.0025),
        ("20 to 29", "0", 0.0),
        ("30 to 39", "200", 0.5),
    ]
    assert shown[-1] == ("80 to 89", "400", 1.0)
    assert len(histogram(dict.fromkeys(range(1, 600), 1)).rows) <= 12
