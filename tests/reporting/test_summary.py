"""The summary of a run, as a file and as tables."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from hexlit.errors import UsageError
from hexlit.reporting.openings import WRONG_STYLE, draw_openings
from hexlit.reporting.quantities import format_strength, format_validation, format_value
from hexlit.reporting.summary import print_summary

SUMMARY: dict[str, Any] = {
    "wall_seconds": 100.0,
    "games": 1200,
    "positions": 55123,
    "device": "cpu",
    "phases": {
        "selfplay": {
            "wall_seconds": 60.0,
            "device_utilisation": 0.93,
            "outside_network_share": 0.25,
            "games_per_second": 20.0,
            "positions_per_second": None,
            "evaluations_per_second": 14700.0,
        },
        "optimise": {"wall_seconds": 30.0, "outside_network_share": None, "positions_per_second": 1480.0},
    },
    "strength": {
        "openings": 9,
        "openings_right": 8,
        "search_optimality": 0.995,
        "policy_optimality": 0.96,
        "opening_map": [-0.9, -0.8, 0.7, 0.9, 0.99, 1.0, 0.8, -0.7, 0.1],
        "opening_truth": [False, False, True, True, True, True, True, False, False],
    },
}


def printed(summary: dict[str, Any]) -> str:
    console = Console(file=io.StringIO(), width=100, record=True)
    print_summary(console, summary, Path("runs/one"))
    return console.export_text()


@pytest.mark.row("E3")
def test_table_shows_each_phase_and_the_time_that_no_phase_explains() -> None:
    lines = {line.split()[0]: line.split() for line in printed(SUMMARY).splitlines() if line.strip()}
    assert lines["selfplay"][1:] == ["1:00", "60.0%", "93.0%", "25.0%", "20.0", "–", "14.7k"]
    assert lines["optimise"][1:] == ["30.0", "s", "30.0%", "–", "–", "–", "1.48k", "–"]
    assert lines["other"][1:4] == ["10.0", "s", "10.0%"]
    assert lines["all"][1:] == ["1:40", "100.0%"]


def test_without_a_phase_that_only_evaluates_there_is_no_column_for_it() -> None:
    phases = {"training": {"wall_seconds": 90.0, "outside_network_share": None, "windows_per_second": 1480.0}}
    text = printed({"wall_seconds": 100.0, "phases": phases})
    assert "outside" not in text
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert lines["training"][1:] == ["1:30", "90.0%", "–", "1.48k"]
    assert lines["other"][1:] == ["10.0", "s", "10.0%", "–", "–"]


def test_strength_and_totals_are_printed() -> None:
    text = printed(SUMMARY)
    for part in ("1,200 games", "55,123 positions", "on cpu", "8/9", "99.5%", "96.0%", "8 of 9 as in perfect play"):
        assert part in text


def test_the_value_alone_and_positions_from_games_have_a_row_and_a_map_of_their_own() -> None:
    found = SUMMARY["strength"] | {
        "value_openings_right": 7,
        "value_opening_map": [-0.91, -0.8, 0.7, 0.9, 0.99, 1.0, 0.8, 0.7, 0.1],
        "value_brier": 0.0321,
        "value_log_loss": 0.1234,
        "value_calibration_error": 0.021,
        "value_sign_accuracy": 0.957,
        "games_policy_optimality": 0.934,
        "games_search_optimality": 0.988,
        "game_positions": 300,
    }
    text = printed(SUMMARY | {"strength": found})
    for part in ("7/9", "0.0321", "0.1234", "2.1%", "95.7%", "93.4%", "98.8%", "300", "by the value alone", "-91"):
        assert part in text
        assert part not in printed(SUMMARY)
    assert "8/9" in text
    shown = format_strength(found)
    assert list(shown) == list(format_strength(SUMMARY["strength"]))  # a line of an epoch stays short


def test_memory_and_the_number_format_are_told_where_they_were_measured() -> None:
    assert "memory" not in printed(SUMMARY)
    memory = {"host_peak_bytes": 3 * 2**29, "device_peak_bytes": 2**29}
    agreement = {
        "format": "bfloat16",
        "positions": 1000,
        "same_move": 0.994,
        "policy_error": 0.004,
        "value_error": 0.003,
    }
    text = " ".join(printed(SUMMARY | {"memory": memory, "precision": agreement}).split())
    assert "1.50 GiB of memory at most · 512 MiB of the device's" in text
    assert "bfloat16 plays the move of float32 in 99.4% of 1,000 positions; its policies are off by 0.40%" in text


def test_work_that_went_on_beside_other_phases_is_told_apart_from_the_wall_time() -> None:
    phases = SUMMARY["phases"]
    assert "beside" not in printed(SUMMARY)
    text = printed(SUMMARY | {"phases": phases | {"selfplay": phases["selfplay"] | {"work_seconds": 85.0}}})
    assert "selfplay ran for 25.0 s more, beside the other phases" in text
    assert "60.0%" in text


def test_a_summary_with_nothing_but_the_time_is_printed() -> None:
    assert "finished in 1:40" in printed({"wall_seconds": 100.0})


def test_opening_map_is_a_rhombus_that_marks_what_is_wrong() -> None:
    strength = SUMMARY["strength"]
    text = draw_openings(strength["opening_map"], strength["opening_truth"])
    lines = text.plain.splitlines()
    assert [len(line) - len(line.lstrip()) for line in lines[1:4]] == [2, 4, 6]
    assert lines[1].split() == ["1", "-90", "-80", "+70"]
    assert lines[3].split() == ["3", "+80", "-70", "+10!"]
    assert [text.plain[span.start : span.end] for span in text.spans if span.style == WRONG_STYLE] == [
        "+10!",
        " wrong! ",
    ]


def test_opening_map_keeps_the_sign_of_values_near_zero() -> None:
    lines = draw_openings([0.00002, -0.0017, 0.0, None], [True, True, False, True]).plain.splitlines()
    assert lines[1].split() == ["1", "+0", "-0!"]
    assert lines[2].split() == ["2", "0", "?"]
    assert "2 of 4 as in perfect play" in lines[3]


def test_opening_map_of_judgements_without_truth_marks_nothing() -> None:
    text = draw_openings([True, False, None, True])
    assert text.plain.splitlines()[1].split() == ["1", "W", "L"]
    assert text.plain.splitlines()[2].split() == ["2", "?", "W"]
    assert "!" not in text.plain


def test_opening_map_that_is_no_square_board_is_refused() -> None:
    with pytest.raises(UsageError, match="map of 5 cells"):
        draw_openings([True] * 5)
    with pytest.raises(UsageError, match="3 true openings for a map of 4 cells"):
        draw_openings([True] * 4, [True] * 3)


def test_every_heading_is_whole_where_the_terminal_is_narrow() -> None:
    """In as many rows as that takes."""
    strength = {
        "value_openings_right": 25,
        "openings": 25,
        "value_sign_accuracy": 0.981,
        "value_brier": 0.0163,
        "value_log_loss": 0.0634,
        "value_calibration_error": 0.021,
        "games_policy_optimality": 0.951,
        "games_search_optimality": 0.998,
        "game_positions": 300,
    }
    shares = {
        "top1_accuracy": 0.512,
        "top5_accuracy": 0.83,
        "value_sign_accuracy": 0.7,
        "value_calibration_error": 0.02,
    }
    losses = {"loss": 1.2, "comparable_loss": 0.8, "policy_loss": 2.1, "value_loss": 0.6, "value_brier": 0.2}
    console = Console(file=io.StringIO(), width=80, record=True)
    print_summary(console, {"strength": strength, "val": losses | shares}, Path("runs/one"))
    text = console.export_text()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    for heading in (*format_value(strength), *format_validation(losses | shares)):
        assert heading in text
    assert text.count("On validation data") == 1
