"""What `hexlit report` writes and prints: pages, comparisons, and the results of a sweep."""

import contextlib
import io
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import urlopen

from rich.console import Console

from hexlit.commands.command_line import as_json
from hexlit.commands.report_files import (
    MULTIRUN,
    SWEEP,
    document_of,
    kind_of,
    newest,
    write_comparison,
    write_report,
)
from hexlit.errors import UsageError
from hexlit.reporting.sweep import SweepDisplay, sweep_page
from hexlit.reporting.text import show
from hexlit.settings import require
from hexlit.tracking.config import check_project
from hexlit.tracking.environment import has_credentials
from hexlit.tuning.result_files import write_results
from hexlit.tuning.results import GOING_ON, as_document, read_results

if TYPE_CHECKING:
    from hexlit.commands.report import ReportConfig


EVERY = 2.0
"""Seconds between two looks at a watched sweep."""


def report(settings: "ReportConfig") -> bool:
    """Write the requested pages, and print where they are; returns whether all of the results can
    be read.
    """
    if settings.wandb is not None:
        save_dashboard(settings.wandb, settings.json)
        return True
    if settings.runs:
        compare([Path(one) for one in settings.runs], settings.output, settings)
        return True
    folder = newest(Path("runs")) if settings.folder is None else Path(settings.folder)
    kind = kind_of(folder)
    if settings.by and kind != MULTIRUN:
        raise UsageError(f"by=[{','.join(settings.by)}]: {folder} holds a {kind}; runs are grouped")
    if kind == SWEEP:
        report_sweep(folder, settings)
        return True
    if settings.watch:
        raise UsageError(f"watch=true: {folder} holds a {kind}; only a sweep is watched")
    if kind == MULTIRUN:
        jobs = sorted(path.parent for path in folder.glob("*/.hydra"))
        compare(jobs, settings.output or str(folder / "comparison.html"), settings)
        return True
    if settings.json:
        print(as_json(document_of(folder, kind)))
        return True
    path, unread = write_report(
        folder, settings.output, epochs=settings.epochs, price=settings.price
    )
    print_path(path)
    for line in unread:
        print_path(f"{folder}: {line}", "red")
    return not unread


def compare(folders: Sequence[Path], output: str | None, settings: "ReportConfig") -> None:
    """Write the page of several runs, and print where it is."""
    path = write_comparison(
        folders, output, by=settings.by, epochs=settings.epochs, price=settings.price
    )
    print_path(path)


def print_path(line: str | Path, style: str = "") -> None:
    """Print a line with a path, which a terminal shall not fold."""
    Console().print(str(line), style=style, soft_wrap=True, markup=False, highlight=False)


def report_sweep(folder: Path, settings: "ReportConfig") -> None:
    """Read the sweep, write its results into its folder, and print them."""
    if settings.output is not None:
        raise UsageError(
            f"output={settings.output}: the page of a sweep links to its trials; it stays in {folder}"
        )
    if settings.json:
        print(as_json(as_document(read_results(folder))))
        return
    console = Console(highlight=False)
    if settings.watch:
        watch(folder, console)
    try:
        results = write_results(folder, settings.figures)
        obstacle = ""
    except OSError as error:  # somebody else's folder
        results = read_results(folder)
        obstacle = f"nothing was written: {error.strerror} ({folder})"
    document = as_document(results)
    show(sweep_page(document, together=True), console, rows=settings.rows)
    line = obstacle or f"Everything of this sweep: {document['folder']}"
    console.print(f"\n{line}", style="red" if obstacle else "dim", soft_wrap=True, markup=False)


def watch(folder: Path, console: Console) -> None:
    """Show the sweep every few seconds while it runs; nothing is written."""
    with SweepDisplay(f"hexlit report · {folder}", console=console) as display:
        while True:
            results = read_results(folder)
            display.update(as_document(results))
            if results.state != GOING_ON:
                return
            time.sleep(EVERY)


def save_dashboard(target: str, printed: bool) -> None:
    """Save the workspace of `target`, and print where it is; with `printed` print its content and
    save nothing.

    Raises:
        UsageError: `target` is not ENTITY/PROJECT, a package or a key is missing, or W&B cannot be
            reached.
    """
    entity, slash, project = target.partition("/")
    if not entity or not slash:
        raise UsageError(f"wandb={target}: write ENTITY/PROJECT, such as wandb=my-team/hexlit")
    check_project(f"wandb={target}: project", project)
    require(f"wandb={target}", {"wandb_workspaces": "wandb-workspaces"}, "dashboard")
    from hexlit.reporting.workspace import build_workspace

    workspace = build_workspace(entity, project)
    if printed:
        print(
            workspace._to_model().spec.model_dump_json(by_alias=True, exclude_none=True, indent=2)
        )
        return
    import wandb

    try:
        if not has_credentials():  # W&B's client would ask for it
            raise UsageError("no API key was found: `wandb login` or WANDB_API_KEY")
        with contextlib.suppress(HTTPError):  # an answer, too; the client would try for minutes
            urlopen(wandb.setup().settings.base_url, timeout=10).close()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            workspace.save()
    except Exception as error:  # the client and the server may raise anything
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise UsageError(
            f"wandb={target}: not saved ({reason}); json=true shows the page here"
        ) from error
    print(f"saved: {workspace.url}")
