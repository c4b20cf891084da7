"""The sections of a run of Hex in its report."""

from pathlib import Path
from typing import Any

import pytest

from hexlit.reporting.pages.hex_sections import hex_sections
from hexlit.reporting.pages.page import Page, render
from hexlit.reporting.pages.run_files import read_run
from tests.reporting.pages.documents import checked, make_run
from tests.reporting.pages.test_games import record

STRENGTH: dict[str, Any] = {
    "openings": 9,
    "openings_right": 8,
    "opening_map": [-0.5] * 4 + [0.9] + [-0.5] * 4,
    "opening_truth": [False] * 3 + [True] * 2 + [False] * 4,
    "search_optimality": 0.9,
    "mistakes": [{"cells": [1, -1, 0, 0, 0, 0, 0, 0, 0], "to_move": 1, "move": 2, "value": 0.25, "winning": [3, 4]}],
}


@pytest.mark.row("F13")
def test_openings_stand_beside_the_solved_ones_and_mistakes_are_shown(tmp_path: Path) -> None:
    files = read_run(make_run(tmp_path / "run", strength=STRENGTH))
    sections = hex_sections(files, [record(1, 0, 4, 3, 7)])
    assert [section.title for section in sections] == ["Strength", "Openings", "Disagreements", "Sample games"]
    page = checked(render(Page("p", "", sections)))
    assert "The search's map (8 of 9 right)" in page.text
    assert "Solved: perfect play" in page.text
    assert "Black to move: c1 loses; value +0.25" in page.text
    assert "network after 0 epochs · 5 moves" in page.text


def test_a_search_without_a_mistake_is_said_to_have_none(tmp_path: Path) -> None:
    files = read_run(make_run(tmp_path / "run", strength={**STRENGTH, "mistakes": []}))
    page = checked(render(Page("p", "", hex_sections(files, []))))
    assert "kept the win in every won position" in page.text


def test_a_run_without_strength_or_games_has_no_such_sections(tmp_path: Path) -> None:
    assert hex_sections(read_run(make_run(tmp_path / "run")), []) == []
