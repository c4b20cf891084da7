"""Collections of games on the terminal."""

from hexlit.reporting.games import lengths_table, overview_page
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


def test_lengths_are_counted_in_at_most_twelve_classes() -> None:
    rows = lengths_table({"19": 1, "31": 100, "35": 100, "88": 400}).rows
    shown = [(name, count.text) for name, count in rows]
    assert shown[:3] == [("19 to 24", "1"), ("25 to 30", "0"), ("31 to 36", "200")]
    assert shown[-1] == ("85 to 90", "400")
    every_length = {str(length): 1 for length in range(1, 600)}
    assert len(lengths_table(every_length).rows) <= 12
