"""Several runs side by side: their results, their curves, their costs, and the settings that
differ.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from statistics import fmean
from typing import Any

from hexlit.reporting.page import (
    Cell,
    Chart,
    ChartLine,
    Column,
    Figure,
    Figures,
    Notes,
    Page,
    Section,
    Table,
    cell,
    table,
)
from hexlit.reporting.quantities import DASH, shown
from hexlit.reporting.run_files import LENGTHS, RunFiles, numbers, rates_of
from hexlit.reporting.run_groups import (
    ComparedRun,
    RunGroup,
    differing,
    interval_cell,
    line_of,
    notes_of,
)

AXES = {
    "epoch": ("epochs", "epoch", 1.0),
    "selfplay.positions": ("positions", "positions", 1.0),
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


UNITS = {
    "epochs": "count",
    "wall time": "seconds",
    "an epoch": "seconds",
    "examples/s": "rate",
    "operations": "flops",
    "parameters": "count",
    "memory": "bytes",
}
"""Units of figures by heading; the others have none."""
MEANS = "Means over seeds ± 95% interval by Student's t"
ABOUT_BANDS = (
    "Curves are means over the seeds, where all of them have values. Their bands are 95% intervals "
    "of the mean by bootstrap over the seeds, too narrow for few seeds; those of the table are not."
)


def comparison_page(
    groups: Sequence[RunGroup], *, epochs: Sequence[int] = (), price: float | None = None
) -> Page:
    """The whole page; `epochs` and the `price` of an hour are for the table of costs."""
    runs = list(chain.from_iterable(group.runs for group in groups))
    settings = [run.files.settings() for run in runs]
    rows = []
    for name in differing(settings):
        rows.append([name, *(one.get(name, DASH) for one in settings)])
    names_of_runs = [Column(run.name, code=True) for run in runs]
    columns = [Column("setting", kept=True, code=True), *names_of_runs]
    differences = Table(
        "Settings",
        columns,
        rows,
        search=True,
        empty="All settings are the same.",
    )
    further = further_curves(groups)
    sections = [
        Section("Figures", [figures_table(runs)]),
        Section("Curves", [Figures(curves(groups))]),
        Section("Further metrics", [Figures(further)]),
        costs_section(runs, sorted(set(epochs or LENGTHS)), price),
        Section("Settings that differ", [differences]),
    ]
    if not further:
        del sections[2]
    if len(groups) < len(runs):
        sections.insert(0, groups_section(groups))
    folders = " · ".join(f"{run.files.name}: {run.files.folder}" for run in runs)
    return Page(f"{len(runs)} runs compared", folders, sections)


def groups_section(groups: Sequence[RunGroup]) -> Section:
    """Means over the seeds with intervals, and what limits them."""
    runs = list(chain.from_iterable(group.runs for group in groups))
    metrics = dict.fromkeys([*charted(runs), *further_metrics(runs)])
    notes = list(chain.from_iterable(notes_of(group, metrics) for group in groups))
    return Section(MEANS, [groups_table(groups), Notes(notes), Notes([ABOUT_BANDS], "quiet")])


def figures_table(runs: Sequence[ComparedRun]) -> Table:
    """A row per run."""
    results = [figures_of(run.files) for run in runs]
    headings = dict.fromkeys(chain.from_iterable(results))
    rows = []
    for run, result in zip(runs, results, strict=True):
        cells = [cell(result.get(name), UNITS.get(name)) for name in headings]
        rows.append([Cell(run.name, link=run.link), *cells])
    return table("The runs side by side", ["run", *headings], rows)


def groups_table(groups: Sequence[RunGroup]) -> Table:
    """A row per group, with means and intervals of the figures of its runs."""
    results = [[figures_of(run.files) for run in group.runs] for group in groups]
    headings = dict.fromkeys(chain.from_iterable(chain.from_iterable(results)))
    rows = []
    for group, parts in zip(groups, results, strict=True):
        row: list[Any] = [group.name, cell(len(parts), "count")]
        for name in headings:
            row.append(interval_cell([part.get(name) for part in parts], UNITS.get(name)))
        rows.append(row)
    return table(MEANS, ["setting", "seeds", *headings], rows)


def figures_of(files: RunFiles) -> dict[str, float | None]:
    """The figures of a run by their headings."""
    summary = files.summary
    speeds = [value for value in numbers(files.steps, "examples_per_second") if value is not None]
    return {
        "epochs": files.epochs,
        **final_figures(files),
        "wall time": summary.get("wall_seconds"),
        "an epoch": rates_of(files).epoch_seconds,
        "examples/s": fmean(speeds) if speeds else None,
        "operations": (summary.get("cost") or {}).get("flops"),
        "parameters": summary.get("parameters"),
        "memory": (summary.get("memory") or {}).get("host_peak_bytes"),
    }


def final_figures(files: RunFiles) -> dict[str, float]:
    """The best value of the run's `monitor`, and the last value of losses and strengths."""
    best = files.summary.get("best") or {}
    result = {f"best {best['monitor']}": best["value"]} if best.get("value") is not None else {}
    further = files.further_metrics
    for name in files.metrics:
        known = files.known(name)
        hidden = name.startswith("strength.value") or "positions" in name
        measure = name.endswith("loss") or name.startswith("strength.")
        if known and (measure or name in further) and not hidden:
            result[name] = known[-1]
    return result


def curves(groups: Sequence[RunGroup]) -> list[Figure]:
    """The charts of the groups on each board, which alone can be compared, and Elo to perfect play
    of all.
    """
    boards = groups_by_board(groups)
    figures = []
    for board, alike in boards.items():
        figures += _curves_of(alike, where=f" on {board}" if len(boards) > 1 else "")
    return figures + _frontier(groups)


def further_curves(groups: Sequence[RunGroup]) -> list[Figure]:
    """The metrics of the user's callbacks over epochs."""
    figures = []
    for name in further_metrics(chain.from_iterable(group.runs for group in groups)):
        figures += _chart(groups, name, "epoch", name)
    return figures


def further_metrics(runs: Iterable[ComparedRun]) -> list[str]:
    """The metrics that callbacks have logged in any of the runs."""
    return list(dict.fromkeys(chain.from_iterable(run.files.further_metrics for run in runs)))


def groups_by_board(groups: Sequence[RunGroup]) -> dict[str, list[RunGroup]]:
    """The groups on each board, by its name; all under one name for tasks without a board."""
    result: dict[str, list[RunGroup]] = {}
    for group in groups:
        board = group.runs[0].files.setting("board")
        name = f"{board}×{board}" if isinstance(board, int) else str(board)
        result.setdefault(name, []).append(group)
    return result


def words_of(metric: str) -> str:
    """A metric in words, such as `validation: comparable loss` for `val.comparable_loss`."""
    group, _, name = metric.partition(".")
    whole = {"train": "training", "val": "validation"}.get(group, group)
    words = name.replace(".", " ").replace("_", " ")
    return f"{whole}: {words}" if words else whole


def charted(runs: Iterable[ComparedRun]) -> list[str]:
    """The metrics with charts: the losses that all runs have, and the runs' monitors."""
    begun = [run.files for run in runs if run.files.metrics]
    if not begun:
        return []
    shared = set.intersection(*(set(files.metrics) for files in begun))
    result = []
    for split in ("train", "val"):
        kind = "comparable_loss" if f"{split}.comparable_loss" in shared else "loss"
        if f"{split}.{kind}" in shared:
            result.append(f"{split}.{kind}")
    for monitor in dict.fromkeys(files.setting("trainer.monitor") for files in begun):
        if isinstance(monitor, str) and not monitor.endswith("loss"):
            result.append(monitor)
    return result


def _curves_of(groups: Sequence[RunGroup], where: str) -> list[Figure]:
    """Losses over epochs, the runs' `monitor` over epochs, positions, operations and time."""
    figures = []
    for metric in charted(chain.from_iterable(group.runs for group in groups)):
        is_loss = metric.endswith("loss")
        axes = ["epoch"] if is_loss else list(AXES)
        for axis in axes:
            over = "" if is_loss else f" over {AXES[axis][0]}"
            figures += _chart(
                groups,
                metric,
                axis,
                f"{words_of(metric).capitalize()}{over}{where}",
                suffix=where.replace(" on ", "-"),
                may_be_log=is_loss,
                dots=not is_loss and all(len(group.runs) == 1 for group in groups),
            )
    return figures


def _frontier(groups: Sequence[RunGroup]) -> list[Figure]:
    """Elo to perfect play over the operations of self-play, next to what was published for the
    boards of the groups; empty where it was not measured.
    """
    measured = []
    boards = []
    for group in groups:
        line = line_of(group, _PERFECT, "cost.actor_macs")
        if line is not None:
            measured.append(line)
            boards.append(group.runs[0].files.setting("board"))
    if not measured:
        return []
    published = []
    for size, macs in JONES.items():
        if size in boards:
            name = f"{size}×{size}, Jones 2021"
            published.append(ChartLine(name, macs, (-500.0, -50.0), dashed=True))
    chart = Chart(
        [*published, *measured],
        "multiply-adds of self-play",
        "Elo to perfect play",
        dots=True,
        log_x=True,
    )
    return [Figure("frontier", "Elo to perfect play over operations", chart)]


def _chart(
    groups: Sequence[RunGroup],
    metric: str,
    axis: str,
    title: str,
    *,
    suffix: str = "",
    **look: Any,
) -> list[Figure]:
    """The chart of a metric; none where no group has values."""
    what, unit, factor = AXES[axis]
    lines = []
    for group in groups:
        line = line_of(group, metric, axis, factor)
        if line is not None:
            lines.append(line)
    if not lines:
        return []
    chart = Chart(lines, unit, words_of(metric), **look)
    return [Figure(f"{metric}-{what}{suffix}", title, chart)]


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
