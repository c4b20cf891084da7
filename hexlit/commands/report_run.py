"""What `hexlit report` writes and prints: pages, comparisons, and the results of a sweep."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from hexlit.commands.report_files import (
    COMPARISON_FILE,
    MATCH,
    RUN,
    SWEEP,
    kind_of,
    newest,
    write_comparison,
    write_report,
)
from hexlit.errors import UsageError
from hexlit.reporting.sweep import SweepDisplay, sweep_page
from hexlit.reporting.text import show
from hexlit.tuning.result_files import as_document, write_results
from hexlit.tuning.results import GOING_ON, read_results

if TYPE_CHECKING:
    from hexlit.commands.report import ReportConfig

RUNS = Path("runs")


def report(settings: "ReportConfig") -> Sequence[str]:
    """Write the requested pages, and print where they are; returns what of the results cannot be read."""
    if settings.wandb is not None:
        from hexlit.commands.dashboard import save_dashboard

        save_dashboard(settings.wandb, settings.json)
        return ()
    folder = Path() if settings.runs else newest(RUNS) if settings.folder is None else Path(settings.folder)
    kind = None if settings.runs else kind_of(folder)
    if kind == SWEEP:
        if settings.output is not None:
            raise UsageError(f"output={settings.output}: the page of a sweep links to its trials; it stays in {folder}")
        report_sweep(folder, settings)
        return ()
    if settings.watch:
        raise UsageError(f"watch=true: {folder} holds a {kind}; only a sweep is watched")
    if settings.json and kind is not None:
        print_results(folder, kind)
        return ()
    return write_page(folder, settings)


def print_results(folder: Path, kind: str) -> None:
    """Print the document of a run, match or strength run."""
    results = folder / {RUN: "summary.json", MATCH: "match.json"}.get(kind, "strength.json")
    if not results.is_file():
        raise UsageError(f"json=true: {folder} has no {results.name} yet; it has not ended")
    try:
        print(results.read_text(encoding="utf-8").rstrip())
    except ValueError as error:
        raise UsageError(f"{results}: cannot be read ({error})") from error


def write_page(folder: Path, settings: "ReportConfig") -> Sequence[str]:
    """Write the page for `folder`, or that of the runs side by side.

    Prints its place, and what cannot be read, which is returned.
    """
    more: dict[str, Any] = {"epochs": settings.epochs, "price": settings.price}
    unread: Sequence[str] = ()
    try:
        if settings.runs:
            path = write_comparison([Path(one) for one in settings.runs], settings.output or COMPARISON_FILE, **more)
        else:
            path, unread = write_report(folder, settings.output, **more)
    except OSError as error:
        raise UsageError(f"output={settings.output or folder}: cannot be written ({error.strerror})") from error
    say(str(path))
    for line in unread:
        say(f"{folder}: {line}", failed=True)
    return unread


def say(line: str, failed: bool = False) -> None:
    """Print one line, whole."""
    Console().print(line, style="red" if failed else "", soft_wrap=True, markup=False, highlight=False)


def report_sweep(folder: Path, settings: "ReportConfig") -> None:
    """Read the sweep, write its results into its folder, and print them."""
    if settings.json:
        print(json.dumps(as_document(read_results(folder)), indent=2, allow_nan=False))
        return
    console = Console(highlight=False)
    if settings.watch:
        watch(folder, settings.every, console)
    obstacle = ""
    try:
        results = write_results(folder, settings.figures)
    except OSError as error:
        results = read_results(folder)
        obstacle = f"nothing was written: {error.strerror or error} ({folder})"
    document: Mapping[str, Any] = as_document(results)
    show(sweep_page(document, together=True), console, rows=settings.rows)
    console.print()
    written = ["overall_results.json", "leaderboard.csv"]
    written += ["best.yaml"] if document["best"] is not None else []
    written += ["report.html", "figures"] if settings.figures else []
    line = obstacle or f"{document['folder']}: {', '.join(written)}"
    console.print(line, style="red" if obstacle else "dim", soft_wrap=True, markup=False)


def watch(folder: Path, every: float, console: Console) -> None:
    """Show the sweep every `every` seconds while it runs; nothing is written."""
    idle = 0
    with SweepDisplay(f"hexlit report · {folder}", console=console) as display:
        while True:
            results = read_results(folder)
            display.update(as_document(results))
            # A plain --multirun has no process of its own: between two of its jobs none runs for an instant.
            idle = 0 if results.state == GOING_ON else idle + 1
            if idle == (1 if results.tuned else 2):
                return
            time.sleep(every)
