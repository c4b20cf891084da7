"""The report of a run of any task: its results, its losses, its time, its cost, and its settings."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from hexlit.reporting.pages.charts import Chart, ChartLine, draw_chart, draw_spans, drawn
from hexlit.reporting.pages.costs import ONCE, cost_section, flops_text
from hexlit.reporting.pages.page import Block, Cell, Column, Drawing, Facts, Figures, Notes, Page, Section, Table
from hexlit.reporting.pages.run_files import RunFiles, numbers
from hexlit.reporting.pages.timeline import spans_of
from hexlit.reporting.quantities import (
    DASH,
    format_bytes,
    format_count,
    format_duration,
    format_figure,
    format_rate,
    format_share,
)

WHY = {
    "proved": "proved its aim",
    "epochs": "did all its epochs",
    "trainer.patience": "did not get better any more",
    "stopped": "was stopped",
    "interrupted": "was interrupted",
}
"""Reasons for the end of a run, in words; other reasons are settings."""

_MEASURES_A_CHART = 4
_LONG = 0.05
"""Least share of the time for a phase to count as long."""


def run_page(
    files: RunFiles,
    own: Sequence[Section] = (),
    *,
    epochs: Sequence[int] = (),
    price: float | None = None,
    links: Mapping[str, str] | None = None,
) -> Page:
    """The whole report; the task's `own` sections come after the losses.

    `epochs` and the `price` per hour are for the table of costs.
    """
    title = f"{files.name}: {files.task}" if files.task not in ("", files.name) else files.name
    sections = [losses_section(files), *own, time_section(files), cost_section(files, epochs, price)]
    sections += [settings_section(files), environment_section(files)]
    return Page(title, f"{files.folder.name} · {when(files)}", sections, lead=lead_of(files), links=links or {})


def when(files: RunFiles) -> str:
    """Time of the latest change to the run's files."""
    names = ("summary.json", "metrics.csv", "phases.csv")
    times = [path.stat().st_mtime for name in names if (path := files.folder / name).is_file()]
    if not times:
        return "nothing written yet"
    what = "finished" if files.summary else "as it was"
    return f"{what} {datetime.fromtimestamp(max(times)):%Y-%m-%d %H:%M}"


def lead_of(files: RunFiles) -> list[Block]:
    """The first figures, and how the run ended."""
    return [Facts(headline(files)), Notes([ending_line(files)])]


def headline(files: RunFiles) -> list[tuple[str, str]]:
    """Name and text of a run's results."""
    summary = files.summary
    memory = summary.get("memory") or {}
    cost = summary.get("cost") or {}
    best = summary.get("best") or {}
    seconds = summary.get("wall_seconds")
    if seconds is None:
        seconds = sum(value or 0.0 for value in numbers(files.phases, "wall_seconds")) or None
    entries = [("epochs", format_count(files.epochs)), ("wall time", format_duration(seconds))]
    if best.get("value") is not None:
        entries.append((f"best {best['monitor']}", format_figure(best["value"])))
    for name in ("games", "positions"):
        if summary.get(name) is not None:
            entries.append((name, format_count(summary[name])))
    if cost.get("flops"):
        entries.append(("operations", flops_text(cost["flops"])))
    if summary.get("parameters"):
        entries.append(("parameters", format_count(summary["parameters"])))
    busy = (summary.get("steady_utilisation") or {}).get("training")
    if busy is not None:
        entries.append(("device busy in training", format_share(busy)))
    if memory.get("host_peak_bytes"):
        entries.append(("memory at most", format_bytes(memory["host_peak_bytes"])))
    if memory.get("device_peak_bytes"):
        entries.append(("device memory at most", format_bytes(memory["device_peak_bytes"])))
    return entries


def ending_line(files: RunFiles) -> str:
    """Why the run ended, in one sentence."""
    ending = files.summary.get("ending")
    if not ending:
        return f"The run has not ended: {files.epochs} epochs are done."
    why = WHY.get(ending["why"], f"ended by {ending['why']}")
    best = files.summary.get("best") or {}
    after = f" Its best epoch by {best['monitor']} is {best['epoch']}." if best.get("epoch") is not None else ""
    return f"The run {why}, after {ending['epochs']} of at most {ending['asked']} epochs.{after}"


def losses_section(files: RunFiles) -> Section:
    """Losses in training and on validation data, the learning rate, and other measures of validation."""
    epochs = files.column("epoch")
    losses = [name.partition(".") for name in files.metrics if name.endswith("loss")]
    names = [name for split, _, name in losses if split in ("train", "val")]
    drawings = []
    for name in sorted(dict.fromkeys(names), key=lambda one: (one != "loss", one)):
        lines = [
            ChartLine(split, epochs, files.column(f"{key}.{name}"), dashed=key == "val")
            for key, split in (("train", "training"), ("val", "validation"))
            if f"{key}.{name}" in files.metrics
        ]
        title = name.replace("_", " ").capitalize() if name != "loss" else "Total loss"
        drawings.append(drawn(f"loss-{name}", title, draw_chart, Chart(lines, y=name, may_be_log=True)))
    drawings += _validation(files, epochs)
    if "train.lr" in files.metrics:
        chart = Chart([ChartLine("", epochs, files.column("train.lr"))], y="learning rate")
        drawings.append(drawn("lr", "Learning rate", draw_chart, chart))
    return Section("Losses", [Figures(drawings)] if drawings else [Notes(["No epoch has ended."], "quiet")])


def _validation(files: RunFiles, epochs: Sequence[float | None]) -> list[Drawing]:
    """Charts of validation measures other than losses: shares of one together, others together."""
    names = [name for name in files.metrics if name.startswith("val.") and not name.endswith("loss")]
    groups: dict[bool, list[ChartLine]] = {True: [], False: []}
    for name in names:
        values = files.column(name)
        known = [value for value in values if value is not None]
        if known:
            share = min(known) >= 0 and max(known) <= 1
            groups[share].append(ChartLine(name.removeprefix("val.").replace("_", " "), epochs, values, dashed=False))
    drawings = []
    for share, lines in groups.items():
        for place in range(0, len(lines), _MEASURES_A_CHART):
            part = lines[place : place + _MEASURES_A_CHART]
            title = "On validation data" + (f" ({place // _MEASURES_A_CHART + 1})" if place else "")
            title += "" if share else ": errors"
            chart = Chart(part, y=part[0].name if len(part) == 1 else "", may_be_log=not share)
            drawings.append(drawn(f"val-{share}-{place}", title, draw_chart, chart))
    return drawings


def time_section(files: RunFiles) -> Section:
    """The timeline, the phases with the device's utilisation, and the throughput of training."""
    title = "Phases, processors and memory over time"
    timeline = drawn("timeline", title, draw_spans, spans_of(files), wide=True)
    blocks: list[Block] = [Figures([timeline]), phase_table(files)]
    drawings = []
    steps, rates = numbers(files.steps, "epoch"), numbers(files.steps, "examples_per_second")
    if any(rate is not None for rate in rates):
        chart = Chart([ChartLine("", steps, rates)], y="examples a second")
        drawings.append(drawn("throughput", "Throughput of training", draw_chart, chart))
    lines = busy_lines(files)
    lines.append(ChartLine("training waits for data", steps, numbers(files.steps, "load_share"), dashed=True))
    if any(line.points for line in lines):
        chart = Chart(lines, share=True)
        drawings.append(drawn("busy", "How busy the device was, by phase", draw_chart, chart))
    if drawings:
        blocks.append(Figures(drawings))
    return Section("Time and machine", blocks)


def busy_lines(files: RunFiles) -> list[ChartLine]:
    """Utilisation of the device by epoch, for each of the longest phases."""
    names = files.phases.get("phase", ())
    epochs, busy = numbers(files.phases, "epoch"), numbers(files.phases, "device_utilisation")
    seconds = numbers(files.phases, "wall_seconds")
    totals: dict[str, float] = {}
    for name, length in zip(names, seconds, strict=True):
        totals[name] = totals.get(name, 0.0) + (length or 0.0)
    whole = sum(totals.values())
    longest = [name for name, total in totals.items() if name not in ONCE and total >= _LONG * whole]
    lines = []
    for name in longest:
        rows = [(epoch, share) for epoch, share, one in zip(epochs, busy, names, strict=True) if one == name]
        lines.append(ChartLine(name, [epoch for epoch, _ in rows], [share for _, share in rows]))
    return lines


def phase_table(files: RunFiles) -> Table:
    """Time, share and utilisation by phase, from the summary."""
    result = files.summary.get("phases") or {}
    phases = {name: result[name] for name in dict.fromkeys(files.phases.get("phase", ())) if name in result}
    whole = sum(row.get("wall_seconds") or 0.0 for row in phases.values())
    units = list(dict.fromkeys(n for row in phases.values() for n in row if n.endswith("_per_second")))
    columns = [Column("phase", kept=True), *(Column(h, number=True) for h in ("time", "share", "device busy"))]
    columns += [Column("outside the network", number=True)]
    columns += [Column(f"{unit.removesuffix('_per_second')}/s", number=True) for unit in units]
    rows = []
    for name, row in phases.items():
        seconds = row.get("wall_seconds") or 0.0
        cells: list[str | Cell] = [name, Cell(format_duration(seconds), sort=seconds)]
        cells += [format_share(seconds / whole if whole else None), format_share(row.get("device_utilisation"))]
        cells.append(format_share(row.get("outside_network_share")))
        cells += [Cell(format_rate(row.get(unit)), sort=row.get(unit)) for unit in units]
        rows.append(cells)
    return Table("Phases of the run", columns, rows, empty="The run has not ended.")


def settings_section(files: RunFiles) -> Section:
    """Every setting, searchable; those of the command line first."""
    given = {word.lstrip("+~").partition("=")[0] for word in files.overrides}
    rows: list[list[str | Cell]] = [
        [name, text, "command line" if name in given else ""] for name, text in files.settings().items()
    ]
    rows.sort(key=lambda row: not row[2])
    columns = [Column("setting", kept=True, code=True), Column("value", code=True), Column("from")]
    blocks: list[Block] = []
    if files.overrides:
        blocks.append(Notes([f"Overrides: {' '.join(files.overrides)}"], "quiet"))
    return Section("Configuration", [*blocks, Table("Settings", columns, rows, search=True, empty="Not kept.")])


def environment_section(files: RunFiles) -> Section:
    """The machine, and the versions of the software."""
    summary = files.summary
    rows: list[list[str | Cell]] = [["device", str(summary.get("device") or DASH)]]
    rows += [[name, str(version)] for name, version in (summary.get("versions") or {}).items()]
    for name in ("seed", "compile_seconds", "optimizer_state_bytes", "learning_rate"):
        if summary.get(name) is not None:
            rows.append([name.replace("_", " "), f"{summary[name]:.6g}"])
    reasons = {text for text in files.phases.get("not_measured", ()) if text}
    lines = [f"Not measured: {reason}." for reason in sorted(reasons)][:3]
    table = Table("Environment", [Column("what", kept=True), Column("value")], rows)
    return Section("Environment", [table, *([Notes(lines, "quiet")] if lines else [])])
