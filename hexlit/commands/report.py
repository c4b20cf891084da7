"""`hexlit report`: what a sweep has come to, finished or still going on, from any terminal."""

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from hydra._internal.utils import get_args_parser
from omegaconf import DictConfig

from hexlit.commands.application import register_schema, run, typed
from hexlit.errors import UsageError
from hexlit.tuning.space import quoted

if TYPE_CHECKING:  # what draws and what reads studies is imported only when a sweep is really looked at
    from rich.console import Console

RUNS = Path("runs")


@dataclass
class ReportConfig:
    """What `hexlit report` takes."""

    folder: str | None = None
    """The sweep's folder; None: the newest sweep below `runs`."""
    json: bool = False
    """Print the content of `overall_results.json` instead of text; nothing is written."""
    figures: bool = True
    """Draw the figures and `report.html`."""
    watch: bool = False
    """Show the sweep until it ends, and then its results."""
    every: float = 2.0
    """Seconds from one look to the next."""
    rows: int = 20
    """Trials in the table."""
    wandb: str | None = None
    """ENTITY/PROJECT on Weights & Biases whose page is written instead; with `json` it is printed, and not saved."""

    def __post_init__(self) -> None:
        """Refuse what cannot be shown."""
        if not 0 < self.every < math.inf:
            raise UsageError(f"every={self.every:g}: must be above 0 seconds")
        if self.rows < 1:
            raise UsageError(f"rows={self.rows}: must be 1 or more")
        if self.json and self.watch:
            raise UsageError("json=true, watch=true: choose one of the two")
        if self.wandb is not None and (self.folder is not None or self.watch):
            other = "watch=true" if self.folder is None else f"folder={self.folder}"
            raise UsageError(f"wandb={self.wandb}, {other}: choose one of the two")


register_schema("report", ReportConfig)


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code."""
    return run(report, "report", argv, prepare=named_folder)


def named_folder(argv: list[str]) -> list[str]:
    """`argv` with the bare path of a folder in it, `hexlit report FOLDER`, as an override."""
    parser = get_args_parser()
    parser.error = _refuse_flag  # type: ignore[method-assign]  # argparse prints its whole usage instead
    known, rest = parser.parse_known_args(argv)
    words = [*known.overrides, *(word for word in rest if not word.startswith("-"))]
    paths = [word for word in words if "=" not in word or Path(word).is_dir()]
    if not paths:
        return argv
    named = [*paths, *(word for word in words if word.startswith("folder="))]
    if len(named) > 1:
        raise UsageError(f"{' '.join(named)}: name one folder")
    return [f"folder={quoted(paths[0])}" if word == paths[0] else word for word in argv]


def _refuse_flag(message: str) -> NoReturn:
    raise UsageError(message)


def report(config: DictConfig) -> None:
    """Read the sweep, write its results beside it, and print them."""
    settings = typed(config, ReportConfig)
    if settings.wandb is not None:
        from hexlit.commands.dashboard import save_dashboard

        save_dashboard(settings.wandb, settings.json)
        return
    from rich.console import Console

    from hexlit.tuning.result_files import as_document
    from hexlit.tuning.results import read_results
    from hexlit.tuning.sweep_folder import newest_sweep

    folder = newest_sweep(RUNS) if settings.folder is None else Path(settings.folder)
    if settings.json:
        print(json.dumps(as_document(read_results(folder)), indent=2, allow_nan=False))
        return
    console = Console(highlight=False)
    if settings.watch:
        watch(folder, settings.every, console)
    show(folder, settings, console)


def watch(folder: Path, every: float, console: "Console") -> None:
    """Show the sweep every `every` seconds until it no longer goes on; nothing is written."""
    from hexlit.reporting.sweep import SweepDisplay
    from hexlit.tuning.result_files import as_document
    from hexlit.tuning.results import GOING_ON, read_results

    idle = 0
    with SweepDisplay(f"hexlit report · {folder}", console=console) as display:
        while True:
            results = read_results(folder)
            display.update(as_document(results))
            # A plain --multirun has no process of its own: between two of its jobs none goes on for an instant.
            idle = 0 if results.state == GOING_ON else idle + 1
            if idle == (1 if results.tuned else 2):
                return
            time.sleep(every)


def show(folder: Path, settings: ReportConfig, console: "Console") -> None:
    """Write the results of the sweep where that is allowed, and print them."""
    from rich.text import Text

    from hexlit.reporting.sweep import print_results
    from hexlit.tuning.result_files import as_document, write_results
    from hexlit.tuning.results import read_results

    obstacle = ""
    try:
        results = write_results(folder, settings.figures)
    except OSError as error:
        results = read_results(folder)
        obstacle = f"nothing was written: {error.strerror or error} ({folder})"
    document: Mapping[str, Any] = as_document(results)
    print_results(document, console, settings.rows)
    console.print()
    if obstacle:
        console.print(Text(obstacle, "red"), soft_wrap=True)
        return
    written = ["overall_results.json", "leaderboard.csv"]
    written += ["best.yaml"] if document["best"] is not None else []
    written += ["report.html", "figures"] if settings.figures else []
    console.print(Text(f"{document['folder']}: {', '.join(written)}", "dim"), soft_wrap=True)
