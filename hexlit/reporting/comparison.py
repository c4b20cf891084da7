"""Several runs side by side: their results, their curves, their costs, and the settings that differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hexlit.reporting.page import Cell, Column, Figure, Figures, Notes, Page, Section, Table, cell, plot, table
from hexlit.reporting.quantities import DASH
from hexlit.reporting.run_files import Rates, RunFiles, numbers, rates_of

AXES = {
    "epoch": ("epochs", "epoch", 1.0),
    "cost.flops": ("operations", "TFLOP", 1e12),
    "cost.seconds": ("time", "minutes", 60.0),
}
"""Axes of a measure by metric: the name, the unit, and the number of values per unit."""

LENGTHS = (10, 100, 1000)
"""Default epochs of the rows in the table of costs."""


@dataclass(frozen=True)
class ComparedRun:
    """A run and its name on the page."""

    name: str
    files: RunFiles
    link: str | None
    """Its own report, relative to the page."""


def comparison_page(runs: Sequence[ComparedRun], *, epochs: Sequence[int] = (), price: float | None = None) -> Page:
    """The whole page; `epochs` and the `price` of an hour are for the table of costs."""
    sections = [
        figures_section(runs),
        curves_section(runs),
        costs_section(runs, epochs or LENGTHS, price),
        differences_section(runs),
    ]
    return Page(f"{len(runs)} runs compared", " · ".join(f"{run.name}: {run.files.folder}" for run in runs), sections)


def figures_section(runs: Sequence[ComparedRun]) -> Section:
    """A row per run."""
    measures = list(dict.fromkeys(name for run in runs for name in final_figures(run.files)))
    headings = ["epochs", "wall time", "an epoch", "examples/s", "operations", "parameters", "memory", *measures]
    rows = []
    for run in runs:
        summary, result = run.files.summary, final_figures(run.files)
        speeds = [value for value in numbers(run.files.steps, "examples_per_second") if value is not None]
        figures = [
            (run.files.epochs, "count"),
            (summary.get("wall_seconds"), "seconds"),
            (rates_of(run.files).epoch_seconds, "seconds"),
            (sum(speeds) / len(speeds) if speeds else None, "rate"),
            ((summary.get("cost") or {}).get("flops"), "flops"),
            (summary.get("parameters"), "count"),
            ((summary.get("memory") or {}).get("host_peak_bytes"), "bytes"),
            *((result.get(name), None) for name in measures),
        ]
        rows.append([Cell(run.name, link=run.link), *(cell(value, unit) for value, unit in figures)])
    return Section("Figures", [table("The runs side by side", ["run", *headings], rows)])


def final_figures(files: RunFiles) -> dict[str, float]:
    """The best value of the run's `monitor`, and the last value of the comparable losses."""
    result: dict[str, float] = {}
    best = files.summary.get("best") or {}
    if best.get("value") is not None:
        result[f"best {best['monitor']}"] = best["value"]
    for name in files.metrics:
        if name.endswith("loss") or name.startswith("strength."):
            known = [value for value in files.column(name) if value is not None]
            if known and not name.startswith("strength.value") and "positions" not in name:
                result[name] = known[-1]
    return result


def curves_section(runs: Sequence[ComparedRun]) -> Section:
    """Losses over epochs, and the runs' `monitor` over epochs, operations and time."""
    figures = [_chart(runs, name, "epoch", title, may_be_log=True) for name, title in losses_of(runs).items()]
    for monitor in monitors_of(runs):
        for axis, (what, _, _) in AXES.items():
            if any(axis in run.files.metrics and monitor in run.files.metrics for run in runs):
                figures.append(_chart(runs, monitor, axis, f"{monitor} over {what}", dots=True))
    steps = [run.files.steps for run in runs]
    rates = {
        run.name: (numbers(one, "epoch"), numbers(one, "examples_per_second"))
        for run, one in zip(runs, steps, strict=True)
    }
    figures.append(plot("throughput", "Throughput of training", rates, y="examples a second"))
    return Section("Curves", [Figures(figures)])


def losses_of(runs: Sequence[ComparedRun]) -> dict[str, str]:
    """Titles of the losses that every run has, by metric: the comparable loss, else the total one."""
    shared = set.intersection(*(set(run.files.metrics) for run in runs))
    result: dict[str, str] = {}
    for split, title in {"train": "Training", "val": "Validation"}.items():
        kinds = [kind for kind in ("comparable_loss", "loss") if f"{split}.{kind}" in shared]
        result |= {f"{split}.{kind}": f"{title}: {kind.replace('_', ' ')}" for kind in kinds[:1]}
    return result


def monitors_of(runs: Sequence[ComparedRun]) -> list[str]:
    """Metrics that choose the best epochs; without losses, which have charts already."""
    names = [run.files.setting("trainer.monitor") for run in runs]
    return [name for name in dict.fromkeys(names) if isinstance(name, str) and not name.endswith("loss")]


def _chart(runs: Sequence[ComparedRun], metric: str, axis: str, title: str, **look: Any) -> Figure:
    what, unit, factor = AXES[axis]
    lines = {
        run.name: ([None if x is None else x / factor for x in run.files.column(axis)], run.files.column(metric))
        for run in runs
        if metric in run.files.metrics and axis in run.files.metrics
    }
    return plot(f"{metric}-{what}", title, lines, x=unit, y=metric, **look)


def costs_section(runs: Sequence[ComparedRun], epochs: Sequence[int], price: float | None) -> Section:
    """Hours, and with a `price` per hour money, for numbers of epochs; and the pace beside the first run's."""
    rates, lengths = [rates_of(run.files) for run in runs], sorted(set(epochs))
    workers = [_workers(run.files) for run in runs]
    headings = ["run", "pace beside the first", "workers", "efficiency of workers"]
    for number in lengths:
        headings += [f"{number:,} epochs: hours", *(["cost"] if price is not None else [])]
    rows = []
    for run, rate, count in zip(runs, rates, workers, strict=True):
        pace = _pace(rates[0], rate)
        share = None if pace is None or workers[0] is None or count is None else pace * workers[0] / count
        texts = [DASH if pace is None else f"{pace:.2f}×", DASH if share is None else f"{share:.0%}"]
        rows.append(
            [
                run.name,
                texts[0],
                cell(count, "count"),
                texts[1],
                *(text for number in lengths for text in rate.costs(number, price)),
            ]
        )
    line = "At the rates that each run measured on its machine. Efficiency: pace by worker beside the first run's."
    line += f" An hour costs {price:g}." if price is not None else " price=2.50 adds what an hour costs."
    return Section("Cost", [Notes([line], "quiet"), table("Hours and cost by epochs", headings, rows)])


def _pace(first: Rates, other: Rates) -> float | None:
    return first.epoch_seconds / other.epoch_seconds if first.epoch_seconds and other.epoch_seconds else None


def _workers(files: RunFiles) -> int | None:
    """Processes that make data for the run, one if it has none; None where the machine decided."""
    result = files.setting("selfplay.workers")
    return max(1, result) if isinstance(result, int) else None


def differences_section(runs: Sequence[ComparedRun]) -> Section:
    """The settings that differ between the runs."""
    settings = [run.files.settings() for run in runs]
    names = list(dict.fromkeys(name for one in settings for name in one))
    rows = [
        [name, *(one.get(name, DASH) for one in settings)]
        for name in names
        if len({one.get(name) for one in settings}) > 1
    ]
    columns = [Column("setting", kept=True, code=True), *(Column(run.name, code=True) for run in runs)]
    empty = "All settings are the same."
    return Section("Settings that differ", [Table("Settings", columns, rows, search=len(rows) > 10, empty=empty)])
