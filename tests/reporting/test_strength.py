"""Strength in reports: of a run of Hex,
and of `hexlit strength`, from documents written by hand.
"""

from pathlib import Path
from typing import Any

import pytest

from hexlit.reporting.board import WRONG_STYLE, draw_openings
from hexlit.reporting.html import drawn, render
from hexlit.reporting.page import Page
from hexlit.reporting.run_files import read_run
from hexlit.reporting.strength import figures_of, hex_sections, strength_page
from hexlit.reporting.text import markdown
from tests.reporting.documents import checked, make_run, shown
from tests.reporting.test_game_viewer import record

STRENGTH: dict[str, Any] = {
    "openings": 9,
    "openings_right": 8,
    "opening_map": [-0.5] * 4 + [0.9] + [-0.5] * 4,
    "opening_truth": [False] * 3 + [True] * 2 + [False] * 4,
    "search_optimality": 0.9,
}


def test_a_run_has_its_strength_first_openings_beside_the_solved_ones_and_games(
    tmp_path: Path,
) -> None:
    files = read_run(make_run(tmp_path / "run", strength=STRENGTH))
    sections = hex_sections(files, [record(1, 0, 4, 3, 7)])
    assert [section.title for section in sections] == [
        "Strength",
        "Openings",
        "Sample games",
    ]
    page = checked(render(Page("p", "", sections)))
    assert "The search's map (8 of 9 right)" in page.text
    assert "Solved: perfect play" in page.text
    assert "network after 0 epochs · 5 moves" in page.text
    assert hex_sections(read_run(make_run(tmp_path / "other")), []) == []


def test_one_chart_and_a_table_show_strength_by_games_operations_and_time(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    rows = (folder / "metrics.csv").read_text().splitlines()
    more = ["strength.search_optimality,selfplay.games", "0.5,10", ",20", "0.75,30"]
    (folder / "metrics.csv").write_text(
        "".join(f"{a},{b}\n" for a, b in zip(rows, more, strict=True))
    )
    page = checked(render(Page("p", "", hex_sections(read_run(folder)))))
    assert page.values("alt") == ["Strength over epochs"]
    assert "75.0%" in page.text
    assert "3.00 TFLOP" in page.text
    assert "20" not in page.text.split()


def share(hits: int, count: int) -> dict[str, Any]:
    return {
        "share": hits / count if count else None,
        "low": 0.25,
        "high": 0.99,
        "hits": hits,
        "count": count,
    }


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
    found = {
        "simulations": simulations,
        "count": 30,
        "won": 0.6,
        "brier": brier,
        "bins": [empty, full],
    }
    return found | {"log_loss": 0.5, "calibration_error": 0.123, "sign_accuracy": 0.9}


ABOUT: dict[str, Any] = {
    "checkpoint": "net.ckpt",
    "board": 2,
    "search": {"algorithm": "gumbel"},
    "device": "cpu",
}
TRUTH: dict[str, Any] = ABOUT | {
    "what": "truth",
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
                {
                    "source": "strong",
                    "stage": stage,
                    "count": n,
                    "share": n / 30,
                    "won": 9,
                    "mean_stones": stones,
                }
                for stage, n, stones in (("early", 20, 3.5), ("late", 0, None))
            ],
        }
    },
    "optimality": {"games": [optimality(0, 15), optimality(64, 19)]},
    "calibration": {"games": [calibration(0, 0.2), calibration(64, 0.1)]},
}
SPEED = {"games": 1, "milliseconds": 12.5, "simulations_per_second": 5120.0, "leaves_a_call": 3.25}
SEARCHED = {
    "algorithm": "puct",
    "simulations": 64,
    "leaves": 8,
    "root_batch": True,
    "opponent": "unbatched",
}
FOUND = {
    "match": share(10, 20),
    "optimality": None,
    "one_game": SPEED,
    "many_games": SPEED | {"games": 64},
}
SEARCH: dict[str, Any] = ABOUT | {"what": "search", "games": 64, "rows": [SEARCHED | FOUND]}


def printed(document: dict[str, Any], width: int = 120) -> str:
    return shown(strength_page(document), width, force_terminal=True, color_system=None)


@pytest.mark.parametrize("width", [80, 120])
def test_optimality_is_told_by_simulations_with_intervals_and_by_kind_of_position(
    width: int,
) -> None:
    text = printed(TRUTH, width)
    assert max(map(len, text.splitlines())) <= width
    for part in (
        "no search",
        "75.0% (25.0–99.0)",
        "95.0% (25.0–99.0)",
        "random moves",
        "3/4",
        "4/4",
    ):
        assert part in text
    late = next(line for line in text.splitlines() if line.startswith("late"))
    assert late.split() == ["late", "0", "–", "–"]


def test_a_board_without_truth_is_drawn_without_it() -> None:
    openings = {
        "truth": None,
        "levels": [level | {"right": None} for level in TRUTH["openings"]["levels"]],
    }
    document = TRUTH | {"openings": openings}
    assert "wrong" not in printed(document)
    assert b"openings right" not in drawn(figures_of(document)[0])
    assert "Solved" not in checked(render(strength_page(document))).text


def test_a_search_is_told_with_its_strength_and_its_cost() -> None:
    cells = [
        "puct",
        "64",
        "8 root",
        "unbatched",
        "50.0% (25.0–99.0)",
        "–",
        "3.2",
        "12.50",
        "5.12k",
        "12.50",
        "5.12k",
    ]
    assert "| " + " | ".join(cells) + " |" in markdown(strength_page(SEARCH))
    text = printed(SEARCH, 200)
    assert all(cell in text for cell in cells)
    assert "5.12k" not in printed(SEARCH, 80)  # costs are the first to go


def test_opening_map_is_a_rhombus_that_marks_what_is_wrong() -> None:
    truth = [False, False, True, True, True, True, True, False, False]
    text = draw_openings([-0.9, -0.8, 0.7, 0.9, 0.99, 1.0, 0.8, -0.7, 0.1], truth)
    lines = text.plain.splitlines()
    assert [len(line) - len(line.lstrip()) for line in lines[1:4]] == [2, 4, 6]
    assert lines[1].split() == ["1", "-90", "-80", "+70"]
    assert lines[3].split() == ["3", "+80", "-70", "+10!"]
    wrong = [text.plain[span.start : span.end] for span in text.spans if span.style == WRONG_STYLE]
    assert wrong == ["+10!", " wrong! "]
