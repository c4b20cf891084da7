"""What `hexlit report` writes and prints: pages, comparisons, and the results of a sweep."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from hexlit.commands.command_line import as_json
from hexlit.commands.report_files import SWEEP, document_of, kind_of, newest, write_comparison, write_report
from hexlit.errors import UsageError
from hexlit.reporting.sweep import SweepDisplay, sweep_page
from hexlit.reporting.text import show
from hexlit.tuning.result_files import as_document, write_results
from hexlit.tuning.results import GOING_ON, read_results

if TYPE_CHECKING:
    from hexlit.commands.report import ReportConfig

RUNS = Path("runs")


def report(settings: "ReportConfig") -> bool:
    """Write the requested pages, and print where they are; returns whether all of the results can be read."""
    if settings.wandb is not None:
        from hexlit.commands.dashboard import save_dashboard

        save_dashboard(settings.wandb, settings.json)
        return True
    unread: Sequence[str] = ()
    if settings.runs:
        folders = [Path(one) for one in settings.runs]
        path = write_comparison(folders, settings.output, epochs=settings.epochs, price=settings.price)
    else:
        folder = newest(RUNS) if settings.folder is None else Path(settings.folder)
        kind = kind_of(folder)
        if kind == SWEEP:
            report_sweep(folder, settings)
            return True
        if settings.watch:
            raise UsageError(f"watch=true: {folder} holds a {kind}; only a sweep is watched")
        if settings.json:
            print(as_json(document_of(folder, kind)))
            return True
        path, unread = write_report(folder, settings.output, epochs=settings.epochs, price=settings.price)
    console = Console()
    for line in (str(path), *(f"{folder}: {line}" for line in unread)):
        console.print(line, style="" if line == str(path) else "red", soft_wrap=True, markup=False, highlight=False)
    return not unread


def report_sweep(folder: Path, settings: "ReportConfig") -> None:
    """Read the sweep, write its results into its folder, and print them."""
    if settings.output is not None:
        raise UsageError(f"output={settings.output}: the page of a sweep links to its trials; it stays in {folder}")
    if settings.json:
        print(as_json(as_document(read_results(folder))))
        return
    console = Console(highlight=False)
    if settings.watch:
        watch(folder, settings.every, console)
    try:
        results, obstacle = write_results(folder, settings.figures), ""
    except OSError as error:  # somebody else's folder
        results, obstacle = read_results(folder), f"nothing was written: {error.strerror} ({folder})"
    document = as_document(results)
    show(sweep_page(document, together=True), console, rows=settings.rows)
    written = ["overall_results.json", "leaderboard.csv"]
    written += ["best.yaml"] if document["best"] is not None else []
    written += ["report.html", "figures"] if settings.figures else []
    line = obstacle or f"{document['folder']}: {', '.join(written)}"
    console.print(f"\n{line}", style="red" if obstacle else "dim", soft_wrap=True, markup=False)


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
