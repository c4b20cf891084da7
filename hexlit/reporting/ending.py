"""The last lines of a run: why it ended, what it had reached, and the command that continues it."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from hexlit.reporting.quantities import format_strength

LEFT_OUT = ("positions", "score", "measured after")
"""Figures of a strength that do not fit into a sentence."""


def print_ending(
    console: Console, ending: Mapping[str, Any], strength: Mapping[str, object], command: str | None
) -> None:
    """Print the lines of `ending_lines`, each whole: the terminal may wrap them, and a command can still be copied."""
    for line in ending_lines(ending, strength, command):
        console.print(line, soft_wrap=True, highlight=False, markup=False)


def ending_lines(ending: Mapping[str, Any], strength: Mapping[str, object], command: str | None) -> list[str]:
    """One sentence on the end of a run, and one with `command` if there is more to do.

    Args:
        ending: `why`, `epochs` (done), `asked` (epochs) and `proof` (None, or `least`, `figures`, `evaluations`,
            `running`, `proved_after`).
        strength: the latest figures; `measured_after` epochs, where it is known.
        command: the command that continues the run.
    """
    why, done, asked, proof = (ending.get(name) for name in ("why", "epochs", "asked", "proof"))
    if why == "proved":
        assert proof is not None
        figures = _figures(_counted(proof["figures"], proof))
        return [f"Proved after {_epochs(done)} of at most {asked}: {figures}, {_in_a_row(proof['evaluations'])}."]
    reached = _reached(strength, done)
    wanted = "" if proof is None else _wanted(proof)
    if why == "epochs":
        if proof is None:
            return []
        epochs = "the one epoch" if done == 1 else f"all {done} epochs"
        return [f"Not proved in {epochs}: {reached}{wanted}."]
    unproved = "" if proof is None else ", before it was proved"
    after = f"after {done} of {_epochs(asked)}{unproved}"
    if why == "stopped":
        return [f"The run was stopped {after}: {reached}."]
    subject = "The run was interrupted" if why == "interrupted" else f"{why} ended the run"
    lines = [f"{subject} {after}: {reached}{wanted}."]
    if why != "trainer.patience" and command is not None:
        lines.append(f"To continue to its end: {command}")
    return lines


def _reached(strength: Mapping[str, object], done: Any) -> str:
    after = strength.get("measured_after")
    when = f", measured after {_epochs(after)}" if isinstance(after, int) and after != done else ""
    return (_figures(strength) or "nothing measured yet") + when


def _figures(figures: Mapping[str, object]) -> str:
    shown = {name: value for name, value in format_strength(figures).items() if name not in LEFT_OUT}
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def _wanted(proof: Mapping[str, Any]) -> str:
    """The conditions of a proof, in brackets."""
    running = f"; so far in {proof['running']}" if proof["running"] else ""
    return f" (wanted: {_figures(_counted(proof['least'], proof))}, {_in_a_row(proof['evaluations'])}{running})"


def _counted(figures: Mapping[str, float], proof: Mapping[str, Any]) -> dict[str, object]:
    """The figures of a proof; openings as whole numbers beside their total."""
    openings = proof["least"].get("openings_right")
    whole = {} if openings is None else {"openings": int(openings), "openings_right": int(figures["openings_right"])}
    return {**figures, **whole}


def _in_a_row(evaluations: int) -> str:
    return "in one evaluation" if evaluations == 1 else f"in {evaluations} evaluations in a row"


def _epochs(count: Any) -> str:
    return f"{count} epoch" if count == 1 else f"{count} epochs"
