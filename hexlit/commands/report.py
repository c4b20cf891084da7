"""`hexlit report`: the page of a run, match or strength run, a comparison of runs, and the results of a sweep."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from hexlit.commands.application import register_schema, run, typed
from hexlit.commands.composing import flags_and_overrides
from hexlit.commands.report_files import COMPARISON_FILE, MATCH, RUN, SWEEP, kind_of, newest
from hexlit.errors import UsageError
from hexlit.settings import Settings, number
from hexlit.tuning.space import quoted

if TYPE_CHECKING:  # drawing and reading studies are imported only for a real sweep
    from rich.console import Console

RUNS = Path("runs")


@dataclass
class ReportConfig(Settings):
    """Settings of `hexlit report`."""

    folder: str | None = None
    """Folder of a run, sweep, match or strength run. None: the newest below `runs`."""
    runs: list[str] = field(default_factory=list)
    """Folders of runs to compare, instead of `folder`."""
    output: str | None = None
    """File for the page of a run, match or strength run, or for the comparison of `runs`. None: `report.html` in the
    folder, and `comparison.html` here."""
    epochs: list[int] = number((), "[1, inf)")
    """Numbers of epochs in the table of costs. Empty: that of the run, and larger round ones."""
    price: float | None = number(None, "[0, inf)")
    """Price of an hour on the run's machine, for the table of costs. None: hours only."""
    json: bool = False
    """Whether to print the results as JSON instead of text; nothing is written."""
    figures: bool = True
    """Whether to draw the figures and `report.html` of a sweep."""
    watch: bool = False
    """Whether to show a sweep until it ends, and then its results."""
    every: float = number(2.0, "(0, inf)", unit="seconds")
    """Time between two looks at a watched sweep, in seconds."""
    rows: int = number(20, "[1, inf)")
    """Trials in the table of a sweep."""
    wandb: str | None = None
    """ENTITY/PROJECT on Weights & Biases; its page is written instead. With `json` it is printed, and not saved."""

    def __post_init__(self) -> None:
        """Refuse impossible combinations."""
        super().__post_init__()
        if self.json and self.watch:
            raise UsageError("json=true, watch=true: choose one of the two")
        if self.wandb is not None and (self.folder is not None or self.runs or self.watch):
            other = "watch=true" if self.watch else "runs=[...]" if self.runs else f"folder={self.folder}"
            raise UsageError(f"wandb={self.wandb}, {other}: choose one of the two")
        if self.runs and self.folder is not None:
            raise UsageError(f"folder={self.folder}, runs=[...]: choose one of the two")


register_schema("report", ReportConfig)


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code, 1 if a file of the run cannot be read."""
    unread: list[str] = []

    def task(config: DictConfig) -> None:
        unread.extend(report(config))

    return run(task, "report", argv, prepare=named_folder) or int(bool(unread))


def named_folder(argv: list[str]) -> list[str]:
    """`argv` with the bare path of a folder in it, `hexlit report FOLDER`, as an override."""
    _, words = flags_and_overrides(argv)
    paths = [word for word in words if "=" not in word or Path(word).is_dir()]
    if not paths:
        return argv
    named = [*paths, *(word for word in words if word.startswith("folder="))]
    if len(named) > 1:
        raise UsageError(f"{' '.join(named)}: name one folder")
    return [f"folder={quoted(paths[0])}" if word == paths[0] else word for word in argv]


def report(config: DictConfig) -> Sequence[str]:
    """Write the requested pages, and print where they are; returns what of the results cannot be read."""
    settings = typed(config, ReportConfig)
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


def write_page(folder: Path, settings: ReportConfig) -> Sequence[str]:
    """Write the page for `folder`, or that of the runs side by side.

    Prints its place, and what cannot be read, which is returned.
    """
    from hexlit.commands.report_files import write_comparison, write_report

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
    from rich.console import Console

    Console().print(line, style="red" if failed else "", soft_wrap=True, markup=False, highlight=False)


def report_sweep(folder: Path, settings: ReportConfig) -> None:
    """Read the sweep, write its results into its folder, and print them."""
    from rich.console import Console

    from hexlit.reporting.sweep import sweep_page
    from hexlit.reporting.text import show
    from hexlit.tuning.result_files import as_document, write_results
    from hexlit.tuning.results import read_results

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


def watch(folder: Path, every: float, console: "Console") -> None:
    """Show the sweep every `every` seconds while it runs; nothing is written."""
    from hexlit.reporting.sweep import SweepDisplay
    from hexlit.tuning.result_files import as_document
    from hexlit.tuning.results import GOING_ON, read_results

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
