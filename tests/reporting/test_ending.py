"""The last lines of a run."""

import io
from typing import Any

import pytest
from rich.console import Console

from hexlit.reporting.ending import ending_lines, print_ending

STRENGTH: dict[str, object] = {
    "openings": 25,
    "openings_right": 17,
    "opening_map": [0.5],
    "search_optimality": 0.985,
    "policy_optimality": 0.953,
    "positions": 1000,
    "score": 0.985,
}
PROOF: dict[str, Any] = {
    "least": {"openings_right": 25.0, "search_optimality": 0.99, "policy_optimality": 0.95},
    "figures": {"openings_right": 25.0, "search_optimality": 0.995, "policy_optimality": 0.97},
    "evaluations": 2,
    "running": 0,
    "proved_after": None,
}
COMMAND = "hexlit train resume=runs/hex5/a trainer.max_time=null"
REACHED = "openings 17/25, search optimal 98.5%, policy optimal 95.3%"
WANTED = "(wanted: openings 25/25, search optimal 99.0%, policy optimal 95.0%, in 2 evaluations in a row)"


def lines(why: str, epochs: int = 15, proof: dict[str, Any] | None = None, **strength: object) -> list[str]:
    ending = {"why": why, "epochs": epochs, "asked": 56, "proof": proof}
    return ending_lines(ending, STRENGTH | strength, COMMAND)


def test_a_proved_run_says_so_with_the_figures_that_proved_it() -> None:
    assert lines("proved", 24, PROOF | {"running": 2, "proved_after": 24}) == [
        "Proved after 24 epochs of at most 56: openings 25/25, search optimal 99.5%, policy optimal 97.0%, "
        "in 2 evaluations in a row."
    ]


@pytest.mark.parametrize("setting", ["trainer.max_time", "trainer.max_flops"])
def test_a_budget_that_ended_a_run_is_named_with_what_was_reached_and_how_to_go_on(setting: str) -> None:
    assert lines(setting, proof=PROOF) == [
        f"{setting} ended the run after 15 of 56 epochs, before it was proved: {REACHED} {WANTED}.",
        f"To continue to its end: {COMMAND}",
    ]
    assert lines(setting)[0] == f"{setting} ended the run after 15 of 56 epochs: {REACHED}."


def test_an_interrupted_run_says_when_it_was_measured_last_and_how_to_go_on() -> None:
    said, command = lines("interrupted", proof=PROOF | {"running": 1}, measured_after=14)
    assert said.startswith("The run was interrupted after 15 of 56 epochs, before it was proved: " + REACHED)
    assert ", measured after 14 epochs (wanted: " in said
    assert said.endswith("in 2 evaluations in a row; so far in 1).")
    assert command == f"To continue to its end: {COMMAND}"
    nothing = ending_lines({"why": "interrupted", "epochs": 0, "asked": 56, "proof": None}, {}, COMMAND)
    assert nothing[0] == "The run was interrupted after 0 of 56 epochs: nothing measured yet."


def test_a_run_of_all_its_epochs_says_only_whether_it_was_proved() -> None:
    assert lines("epochs", 1, PROOF)[0].startswith("Not proved in the one epoch: ")
    assert lines("epochs", 56, PROOF) == [f"Not proved in all 56 epochs: {REACHED} {WANTED}."]
    assert lines("epochs", 56) == []


def test_a_run_that_ended_for_good_names_no_command() -> None:
    assert lines("trainer.patience") == [f"trainer.patience ended the run after 15 of 56 epochs: {REACHED}."]
    assert lines("stopped") == [f"The run was stopped after 15 of 56 epochs: {REACHED}."]


def test_a_command_is_printed_in_one_piece_whatever_the_width() -> None:
    console = Console(file=io.StringIO(), width=20, record=True)
    print_ending(console, {"why": "interrupted", "epochs": 0, "asked": 56, "proof": None}, {}, COMMAND)
    assert COMMAND in console.export_text()
