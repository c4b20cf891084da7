"""Several runs side by side: their results, their curves, their costs, and the settings that differ."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hexlit.reporting.page import Cell, Chart, ChartLine, Column, Figure, Figures, Notes, Page, Section, Table, table
from hexlit.reporting.quantities import (
    DASH,
    format_bytes,
    format_count,
    format_duration,
    format_figure,
    format_flops,
    format_rate,
)
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
    rows: list[list[str | Cell]] = []
    for run in runs:
        files, rates = run.files, rates_of(run.files)
        summary, result = files.summary, final_figures(files)
        seconds = summary.get("wall_seconds")
        speeds = [value for value in numbers(files.steps, "examples_per_second") if value is not None]
        speed = sum(speeds) / len(speeds) if speeds else None
        flops = (summary.get("cost") or {}).get("flops")
        memory = (summary.get("memory") or {}).get("host_peak_bytes")
        cells: list[str | Cell] = [Cell(run.name, link=run.link), format_count(files.epochs)]
        cells += [Cell(format_duration(value), value) for value in (seconds, rates.epoch_seconds)]
        cells += [Cell(format_rate(speed), speed), Cell(format_flops(flops), flops)]
        cells += [format_count(summary.get("parameters")), Cell(format_bytes(memory), memory)]
        cells += [Cell(figure_of(result.get(name)), result.get(name)) for name in measures]
        rows.append(cells)
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


def figure_of(value: float | None) -> str:
    """A loss or a share; a dash for a missing one."""
    return DASH if value is None else format_figure(value)


def curves_section(runs: Sequence[ComparedRun]) -> Section:
    """Losses over epochs, and the runs' `monitor` over epochs, operations and time."""
    figures: list[Figure] = []
    for name, title in losses_of(runs).items():
        figures.append(Figure(f"loss-{name}", title, _chart(runs, name, "epoch", may_be_log=True)))
    for monitor in monitors_of(runs):
        for axis, (what, _, _) in AXES.items():
            chart = _chart(runs, monitor, axis)
            if any(line.points for line in chart.lines):
                figures.append(Figure(f"{monitor}-{what}", f"{monitor} over {what}", chart))
    rates = [
        ChartLine(run.name, numbers(run.files.steps, "epoch"), numbers(run.files.steps, "examples_per_second"))
        for run in runs
    ]
    figures.append(Figure("throughput", "Throughput of training", Chart(rates, y="examples a second")))
    return Section("Curves", [Figures(figures)])


def losses_of(runs: Sequence[ComparedRun]) -> dict[str, str]:
    """Titles of the losses that every run has, by metric: the comparable loss, else the total one."""
    shared = set.intersection(*(set(run.files.metrics) for run in runs))
    titles = {"train": "Training", "val": "Validation"}
    result = {}
    for split, title in titles.items():
        for kind in ("comparable_loss", "loss"):
            if f"{split}.{kind}" in shared:
                result[f"{split}.{kind}"] = f"{title}: {kind.replace('_', ' ')}"
                break
    return result


def monitors_of(runs: Sequence[ComparedRun]) -> list[str]:
    """Metrics that choose the best epochs; without losses, which have charts already."""
    names = [run.files.setting("trainer.monitor") for run in runs]
    return [name for name in dict.fromkeys(names) if isinstance(name, str) and not name.endswith("loss")]


def _chart(runs: Sequence[ComparedRun], metric: str, axis: str, *, may_be_log: bool = False) -> Chart:
    _, unit, factor = AXES[axis]
    lines = []
    for run in runs:
        xs = [None if value is None else value / factor for value in run.files.column(axis)]
        if metric in run.files.metrics and xs:
            lines.append(ChartLine(run.name, xs, run.files.column(metric)))
    return Chart(lines, x=unit, y=metric, may_be_log=may_be_log, dots=not may_be_log)


def costs_section(runs: Sequence[ComparedRun], epochs: Sequence[int], price: float | None) -> Section:
    """Hours, and with a `price` per hour money, for numbers of epochs; and the pace beside the first run's."""
    rates = [rates_of(run.files) for run in runs]
    headings = ["run", "pace beside the first", "workers", "efficiency of workers"]
    workers = [_workers(run.files) for run in runs]
    for number in sorted(set(epochs)):
        headings += [f"{format_count(number)} epochs: hours", *(["cost"] if price is not None else [])]
    rows: list[list[str | Cell]] = []
    for run, rate, count in zip(runs, rates, workers, strict=True):
        shared = [_pace(rates[0], rate), DASH if count is None else str(count)]
        shared.append(_efficiency(rates[0], rate, workers[0], count))
        rows.append([run.name, *shared, *_costs(rate, sorted(set(epochs)), price)])
    line = "At the rates that each run measured on its machine. Efficiency: pace by worker beside the first run's."
    line += f" An hour costs {price:g}." if price is not None else " price=2.50 adds what an hour costs."
    return Section("Cost", [Notes([line], "quiet"), table("Hours and cost by epochs", headings, rows)])


def _pace(first: Rates, other: Rates) -> str:
    if not first.epoch_seconds or not other.epoch_seconds:
        return DASH
    return f"{first.epoch_seconds / other.epoch_seconds:.2f}×"


def _workers(files: RunFiles) -> int | None:
    """Processes that make data for the run, one if it has none; None where the machine decided."""
    result = files.setting("selfplay.workers")
    return max(1, result) if isinstance(result, int) else None


def _efficiency(first: Rates, other: Rates, workers_of_first: int | None, workers: int | None) -> str:
    if not first.epoch_seconds or not other.epoch_seconds or workers_of_first is None or workers is None:
        return DASH
    return f"{first.epoch_seconds / other.epoch_seconds * workers_of_first / workers:.0%}"


def _costs(rates: Rates, epochs: Sequence[int], price: float | None) -> Iterator[str]:
    for number in epochs:
        seconds = rates.seconds(number)
        yield DASH if seconds is None else f"{seconds / 3600:,.2f}"
        if price is not None:
            yield DASH if seconds is None else f"{price * seconds / 3600:,.2f}"


def differences_section(runs: Sequence[ComparedRun]) -> Section:
    """The settings that differ between the runs."""
    settings: list[Mapping[str, str]] = [run.files.settings() for run in runs]
    names = list(dict.fromkeys(name for one in settings for name in one))
    rows: list[list[str | Cell]] = [
        [name, *(one.get(name, DASH) for one in settings)]
        for name in names
        if len({one.get(name) for one in settings}) > 1
    ]
    columns = [Column("setting", kept=True, code=True), *(Column(run.name, code=True) for run in runs)]
    empty = "All settings are the same."
    return Section("Settings that differ", [Table("Settings", columns, rows, search=len(rows) > 10, empty=empty)])
