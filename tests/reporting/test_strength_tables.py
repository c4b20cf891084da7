"""The tables, maps and figures of `hexlit strength`, from a document written by hand."""

import io
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from rich.console import Console

from hexlit.reporting.figures import draw
from hexlit.reporting.grid import Grid
from hexlit.reporting.search_quality import print_search, search_markdown
from hexlit.reporting.strength_figures import growth_figure, reliability_figure
from hexlit.reporting.strength_tables import interval_text, print_truth, truth_markdown


def share(hits: int, count: int) -> dict[str, Any]:
    return {"share": hits / count if count else None, "low": 0.25, "high": 0.99, "hits": hits, "count": count}


def optimality(simulations: int, hits: int) -> dict[str, Any]:
    return {
        "simulations": simulations,
        "all": share(hits, 20),
        "stages": {"early": share(hits, 20), "late": share(0, 0)},
        "sources": {"strong": share(hits, 20)},
    }


def calibration(simulations: int, brier: float) -> dict[str, Any]:
    empty = {"low": 0.0, "high": 0.5, "count": 0, "predicted": None, "won": None}
    full = {"low": 0.5, "high": 1.0, "count": 30, "predicted": 0.75, "won": 0.5}
    return {
        "simulations": simulations,
        "count": 30,
        "won": 0.6,
        "brier": brier,
        "log_loss": 0.5,
        "calibration_error": 0.123,
        "sign_accuracy": 0.9,
        "bins": [empty, full],
    }


ABOUT: dict[str, Any] = {"checkpoint": "net.ckpt", "board": 2, "search": {"algorithm": "gumbel"}, "device": "cpu"}
TRUTH: dict[str, Any] = ABOUT | {
    "openings": {
        "truth": [False, True, True, False],
        "levels": [
            {"simulations": 0, "map": [-0.5, 0.25, -0.75, -0.5], "right": 3},
            {"simulations": 64, "map": [-0.9, 0.9, 0.9, -0.9], "right": 4},
        ],
    },
    "positions": {
        "games": {
            "count": 30,
            "won": 20,
            "unsolved": 7,
            "random_move": 0.4,
            "shares": [
                {"source": "strong", "stage": stage, "count": n, "share": n / 30, "won": 9, "mean_stones": stones}
                for stage, n, stones in (("early", 20, 3.5), ("late", 0, None))
            ],
        }
    },
    "optimality": {"games": [optimality(0, 15), optimality(64, 19)]},
    "calibration": {"games": [calibration(0, 0.2), calibration(64, 0.1)]},
}
SPEED = {"games": 1, "milliseconds": 12.5, "simulations_per_second": 5120.0, "leaves_a_call": 3.25}
SEARCH: dict[str, Any] = ABOUT | {
    "games": 64,
    "rows": [
        {
            "algorithm": "puct",
            "simulations": 64,
            "leaves": 8,
            "root_batch": True,
            "opponent": "unbatched",
            "match": share(10, 20),
            "optimality": None,
            "one_game": SPEED,
            "many_games": SPEED | {"games": 64},
        }
    ],
}


def printed(printer: Any, document: dict[str, Any], width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None, record=True)
    printer(console, document)
    return console.export_text()


def test_maps_of_value_and_search_stand_side_by_side_where_there_is_room() -> None:
    titles = "Openings: the value alone", "Openings: searched, 64 simulations"
    wide, narrow = (printed(print_truth, TRUTH, width).splitlines() for width in (120, 80))
    assert any(all(title in line for title in titles) for line in wide)
    assert not any(all(title in line for title in titles) for line in narrow)
    assert all(any(title in line for line in narrow) for title in titles)
    assert sum(line.count("-75!") for line in wide) == 1


def test_optimality_is_told_by_simulations_with_intervals_and_by_kind_of_position() -> None:
    text = printed(print_truth, TRUTH)
    assert "no search" in text
    assert "75.0% (25.0–99.0)" in text
    assert "95.0% (25.0–99.0)" in text
    assert "random moves" in text
    assert "3/4" in text
    assert "4/4" in text
    late = next(line for line in text.splitlines() if line.startswith("late"))
    assert late.split() == ["late", "0", "–", "–"]
    assert "7 draws passed over as unsolved" in text


def test_reliability_bars_show_what_came_true_and_mark_what_was_predicted() -> None:
    line = next(line for line in printed(print_truth, TRUTH).splitlines() if line.startswith("0.5 to 1.0"))
    bar = line.split()[-1]
    assert len(bar) == 40
    assert bar.index("│") == 30
    assert bar.count("█") == 20
    assert "50.0%" in line


def test_the_tables_are_markdown_too() -> None:
    text = truth_markdown(TRUTH)
    assert "| no search | 3/4 | 75.0% (25.0–99.0) |" in text
    assert "| 64 | 0.1000 | 0.5000 | 12.3% | 90.0% |" in text


def test_a_board_without_truth_is_drawn_without_it() -> None:
    openings = {"truth": None, "levels": [level | {"right": None} for level in TRUTH["openings"]["levels"]]}
    text = printed(print_truth, TRUTH | {"openings": openings})
    assert "wrong" not in text
    assert b"openings right" not in draw(growth_figure, TRUTH | {"openings": openings})


def test_a_search_is_told_with_its_strength_and_its_cost() -> None:
    cells = ["puct", "64", "8 root", "unbatched", "50.0% (25.0–99.0)", "–", "3.2", "12.50", "5.12k", "12.50", "5.12k"]
    assert "| " + " | ".join(cells) + " |" in search_markdown(SEARCH)
    text = printed(print_search, SEARCH, 200)
    assert all(cell in text for cell in cells)
    assert "20 games over 10 distinct openings" in text


def test_figures_are_drawn_with_their_labels() -> None:
    reliability, growth = draw(reliability_figure, TRUTH), draw(growth_figure, TRUTH)
    for figure, part in ((reliability, b"no search: Brier 0.200"), (growth, b"openings right, of 4")):
        ElementTree.fromstring(figure)
        assert part in figure


def test_bars_in_a_cell_do_not_break_markdown_and_nothing_counted_is_a_dash() -> None:
    assert r"| a\|b | 1 |" in Grid("t", ["x", "y"], [["a|b", "1"]]).as_markdown()
    assert interval_text(share(0, 0)) == "–"


@pytest.mark.parametrize("levels", [1, 2])
def test_one_level_is_shown_once(levels: int) -> None:
    openings = TRUTH["openings"] | {"levels": TRUTH["openings"]["levels"][:levels]}
    document = TRUTH | {
        "openings": openings,
        "optimality": {"games": TRUTH["optimality"]["games"][:levels]},
        "calibration": {"games": TRUTH["calibration"]["games"][:levels]},
    }
    assert printed(print_truth, document).count("Reliability:") == levels
