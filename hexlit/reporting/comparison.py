"""Several runs side by side: their results, their curves, their costs, and the settings that
differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import Any

from hexlit.reporting.page import (
    Cell,
    Column,
    Figure,
    Figures,
    Notes,
    Page,
    Section,
    Table,
    cell,
    plot,
    table,
)
from hexlit.reporting.quantities import DASH, shown
from hexlit.reporting.run_files import LENGTHS, RunFiles, numbers, rates_of

AXES = {
    "epoch": ("epochs", "epoch", 1.0),
    "cost.flops": ("operations", "TFLOP", 1e12),
    "cost.seconds": ("time", "minutes", 60.0),
}
"""Axes of a measure by metric: the name, the unit, and the number of values per unit."""

_PERFECT = "strength.elo_to_perfect"
JONES = {
    4: (6e10, 1.3e12),
    5: (9.3e11, 8.1e12),
    6: (6.3e12, 1.2e14),
    7: (5e13, 1.3e15),
    8: (3.2e14, 7.5e15),
}
"""Multiply-adds of self-play until 500 and 50 Elo below perfect play, by rows (Jones 2021, arXiv
2104.03113).
"""


@dataclass(frozen=True)
class ComparedRun:
    """A run and its name on the page."""

    name: str
    files: RunFiles
    link: str | None
    """Its own report, relative to the page."""


def comparison_page(
    runs: Sequence[ComparedRun], *, epochs: Sequence[int] = (), price: float | None = None
) -> Page:
    """The whole page; `epochs` and the `price` of an hour are for the table of costs."""
    settings = [run.files.settings() for run in runs]
    rows = []
    for name in dict.fromkeys(chain.from_iterable(settings)):
        values = [one.get(name, DASH) for one in settings]
        if len(set(values)) > 1:
            rows.append([name, *values])
    names_of_runs = [Column(run.name, code=True) for run in runs]
    columns = [Column("setting", kept=True, code=True), *names_of_runs]
    differences = Table(
        "Settings",
        columns,
        rows,
        search=True,
        empty="All settings are the same.",
    )
    sections = [
        Section("Figures", [figures_table(runs)]),
        Section("Curves", [Figures(curves(runs))]),
        costs_section(runs, sorted(set(epochs or LENGTHS)), price),
        Section("Settings that differ", [differences]),
    ]
    folders = " · ".join(f"{run.name}: {run.files.folder}" for run in runs)
    return Page(f"{len(runs)} runs compared", folders, sections)


def figures_table(runs: Sequence[ComparedRun]) -> Table:
    """A row per run."""
    results = [final_figures(run.files) for run in runs]
    measures = list(dict.fromkeys(chain.from_iterable(results)))
    headings = ["epochs", "wall time", "an epoch", "examples/s", "operations", "parameters"]
    rows = []
    for run, result in zip(runs, results, strict=True):
        summary = run.files.summary
        speeds = numbers(run.files.steps, "examples_per_second")
        known = [value for value in speeds if value is not None]
        cells = [
            cell(run.files.epochs, "count"),
            cell(summary.get("wall_seconds"), "seconds"),
            cell(rates_of(run.files).epoch_seconds, "seconds"),
            cell(fmean(known) if known else None, "rate"),
            cell((summary.get("cost") or {}).get("flops"), "flops"),
            cell(summary.get("parameters"), "count"),
            cell((summary.get("memory") or {}).get("host_peak_bytes"), "bytes"),
        ]
        cells += [cell(result.get(name)) for name in measures]
        rows.append([Cell(run.name, link=run.link), *cells])
    return table("The runs side by side", ["run", *headings, "memory", *measures], rows)


def final_figures(files: RunFiles) -> dict[str, float]:
    """The best value of the run's `monitor`, and the last value of losses and strengths."""
    best = files.summary.get("best") or {}
    result = {f"best {best['monitor']}": best["value"]} if best.get("value") is not None else {}
    for name in files.metrics:
        known = [value for value in files.column(name) if value is not None]
        hidden = name.startswith("strength.value") or "positions" in name
        if known and (name.endswith("loss") or name.startswith("strength.")) and not hidden:
            result[name] = known[-1]
    return result


def curves(runs: Sequence[ComparedRun]) -> list[Figure]:
    """The charts of the runs on each board, which alone can be compared, and Elo to perfect play of
    all.
    """
    figures = []
    boards = runs_by_board(runs)
    for board, alike in boards.items():
        figures += _curves_of(alike, where=f" on {board}" if len(boards) > 1 else "")
    measured = [run for run in runs if _PERFECT in run.files.metrics]
    return [*figures, _frontier(measured)] if measured else figures


def runs_by_board(runs: Sequence[ComparedRun]) -> dict[str, list[ComparedRun]]:
    """The runs on each board, by its name; all under one name for tasks without a board."""
    result: dict[str, list[ComparedRun]] = {}
    for run in runs:
        board = run.files.setting("board")
        name = f"{board}×{board}" if isinstance(board, int) else str(board)
        result.setdefault(name, []).append(run)
    return result


def words_of(metric: str) -> str:
    """A metric in words, such as `validation: comparable loss` for `val.comparable_loss`."""
    group, _, name = metric.partition(".")
    whole = {"train": "training", "val": "validation"}.get(group, group)
    words = name.replace(".", " ").replace("_", " ")
    return f"{whole}: {words}" if words else whole


def _curves_of(runs: Sequence[ComparedRun], where: str) -> list[Figure]:
    """Losses over epochs, the runs' `monitor` over epochs, operations and time."""
    shared = set.intersection(*(set(run.files.metrics) for run in runs))
    figures, suffix = [], where.replace(" on ", "-")
    for split in ("train", "val"):
        kind = "comparable_loss" if f"{split}.comparable_loss" in shared else "loss"
        name = f"{split}.{kind}"
        if name in shared:
            title = words_of(name).capitalize() + where
            figures.append(
                _chart(
                    runs,
                    name,
                    "epoch",
                    title,
                    suffix=suffix,
                    may_be_log=True,
                )
            )
    for monitor in dict.fromkeys(run.files.setting("trainer.monitor") for run in runs):
        if not isinstance(monitor, str) or monitor.endswith("loss"):  # losses have charts already
            continue
        for axis, (what, _, _) in AXES.items():
            title = f"{words_of(monitor).capitalize()} over {what}{where}"
            figures.append(
                _chart(
                    runs,
                    monitor,
                    axis,
                    title,
                    suffix=suffix,
                    dots=True,
                )
            )
    return figures


def _frontier(runs: Sequence[ComparedRun]) -> Figure:
    """Elo to perfect play over the operations of self-play, next to what was published for the
    runs' boards.
    """
    boards = [run.files.setting("board") for run in runs]
    lines: dict[str, Any] = {}
    for size, macs in JONES.items():
        if size in boards:
            lines[f"{size}×{size}, Jones 2021"] = macs, (-500.0, -50.0)
    published = list(lines)
    for run in runs:
        lines[run.name] = run.files.column("cost.actor_macs"), run.files.column(_PERFECT)
    title, x = "Elo to perfect play over operations", "multiply-adds of self-play"
    look: Any = {
        "x": x,
        "y": "Elo to perfect play",
        "dots": True,
        "log_x": True,
    }
    return plot("frontier", title, lines, dashed=published, **look)


def _chart(
    runs: Sequence[ComparedRun],
    metric: str,
    axis: str,
    title: str,
    *,
    suffix: str = "",
    **look: Any,
) -> Figure:
    what, unit, factor = AXES[axis]
    lines = {
        run.name: ([x and x / factor for x in run.files.column(axis)], run.files.column(metric))
        for run in runs
        if {metric, axis} <= set(run.files.metrics)
    }
    return plot(
        f"{metric}-{what}{suffix}",
        title,
        lines,
        x=unit,
        y=words_of(metric),
        **look,
    )


def costs_section(
    runs: Sequence[ComparedRun], lengths: Sequence[int], price: float | None
) -> Section:
    """Hours, and with a `price` per hour money, for numbers of epochs; and the pace next to the
    first run's.

    Workers are the processes that make data for a run, one if it has none; not known where the
    machine decided.
    """
    headings = ["run", "pace next to the first", "workers", "efficiency of workers"]
    for number in lengths:
        headings.append(f"{number:,} epochs: hours")
        if price is not None:
            headings.append("cost")
    rows, first = [], rates_of(runs[0].files).epoch_seconds
    workers = []
    for run in runs:
        count = run.files.setting("selfplay.workers")
        workers.append(max(1, count) if isinstance(count, int) else None)
    for run, count in zip(runs, workers, strict=True):
        rate = rates_of(run.files)
        pace = first / rate.epoch_seconds if first and rate.epoch_seconds else None
        share = pace * workers[0] / count if pace and workers[0] and count else None
        row = [run.name, shown(pace, "{:.2f}×"), cell(count, "count"), shown(share, "{:.0%}")]
        for number in lengths:
            row += rate.costs(number, price)
        rows.append(row)
    lines = ["Efficiency: pace by worker next to the first run's, at the rates of each machine."]
    lines.append(
        "price=2.50 adds what an hour costs." if price is None else f"At {price:g} an hour."
    )
    costs = table("Hours and cost by epochs", headings, rows)
    return Section("Cost", [Notes(lines, "quiet"), costs])
