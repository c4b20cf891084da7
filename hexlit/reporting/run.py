"""A run of any task: its report, and the end of its output on the terminal."""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

from rich.console import Console

from hexlit.reporting.page import (
    Block,
    Cell,
    Chart,
    ChartLine,
    Column,
    Facts,
    Figure,
    Figures,
    Notes,
    Page,
    Section,
    Spans,
    settings_section,
    table,
)
from hexlit.reporting.quantities import (
    DASH,
    LEFT_OUT,
    format_bytes,
    format_count,
    format_duration,
    format_figure,
    format_flops,
    format_rate,
    format_share,
    format_strength,
)
from hexlit.reporting.run_files import ONCE, RunFiles, numbers, rates_of
from hexlit.reporting.text import show

_MEASURES_A_CHART = 4
_LONG, _SHORT = 0.05, 0.01
"""Least share of the time for a phase to count as long, and for a row of its own on the terminal."""
_LEAST_LANE = 0.002
_RATE = "_per_second"
_UNITS = {"evaluations": "evals"}
"""Headings of units that are shorter than their names."""
_STARTING = "starting"  # first phase of every session of a run; its samples begin after it
_GIB = 2.0**30


def run_page(
    files: RunFiles,
    own: Sequence[Section] = (),
    *,
    epochs: Sequence[int] = (),
    price: float | None = None,
    links: Mapping[str, str] | None = None,
) -> Page:
    """The whole report; the task's `own` sections come first.

    `epochs` and the `price` per hour are for the table of costs.
    """
    given = [word.lstrip("+~").partition("=")[0] for word in files.overrides]
    overrides = [Notes([f"Overrides: {' '.join(files.overrides)}"], "quiet")] if files.overrides else []
    sections = [*own, losses_section(files), time_section(files), cost_section(files, epochs, price)]
    sections += [settings_section(files.settings(), given, overrides), environment_section(files)]
    lead: list[Block] = [Notes(files.unread, "problem"), Facts(headline(files)), Notes(how_it_ended(files))]
    subtitle = " · ".join(filter(None, [files.task, files.folder.name, when(files)]))
    return Page(files.name, subtitle, sections, lead, links or {})


def print_end(
    console: Console, summary: Mapping[str, Any], folder: Path, sections: Callable[[RunFiles], Sequence[Section]]
) -> None:
    """Print the end of a run: its figures, its time by phase, and what of the task's `sections` is no detail.

    Every entry of `summary` may be missing; the report has the rest.
    """
    files = RunFiles(folder, summary)
    lead: list[Block] = [Facts(headline(files, brief=True))]
    if summary.get("device"):
        lead.append(Notes([f"on {summary['device']}"], "quiet"))
    console.print()
    phases = [Section("Time by phase", phase_blocks(files, brief=True))] if summary.get("phases") else []
    show(Page("", "", [*phases, *sections(files)], lead), console)
    console.print(f"\nEverything of this run: {os.path.relpath(folder)}", soft_wrap=True, highlight=False, markup=False)


def print_ending(
    console: Console, ending: Mapping[str, Any], strength: Mapping[str, object], command: str | None
) -> None:
    """Print the lines of `ending_lines`, each whole: the terminal may wrap them, and a command can still be copied."""
    for line in ending_lines(ending, strength, command):
        console.print(line, soft_wrap=True, highlight=False, markup=False)


def when(files: RunFiles) -> str:
    """Time of the latest change to the run's files."""
    names = ("summary.json", "metrics.csv", "phases.csv")
    times = [path.stat().st_mtime for name in names if (path := files.folder / name).is_file()]
    if not times:
        return "nothing written yet"
    what = "finished" if files.summary else "as it was"
    return f"{what} {datetime.fromtimestamp(max(times)):%Y-%m-%d %H:%M}"


def headline(files: RunFiles, *, brief: bool = False) -> list[tuple[str, str]]:
    """Name and text of a run's results; `brief` those that a terminal has."""
    summary = files.summary
    memory = summary.get("memory") or {}
    cost = summary.get("cost") or {}
    best = summary.get("best") or {}
    seconds = summary.get("wall_seconds")
    if seconds is None:
        seconds = sum(value or 0.0 for value in numbers(files.phases, "wall_seconds")) or None
    entries = [("epochs", format_count(files.epochs)), ("wall time", format_duration(seconds))]
    if best.get("value") is not None and (best.get("restored") or not summary.get("strength")):
        entries.append((f"best {best['monitor']}", format_figure(best["value"])))
    for name in ("games", "positions"):
        if summary.get(name) is not None:
            entries.append((name, format_count(summary[name])))
    if cost.get("flops") and not brief:
        entries.append(("operations", format_flops(cost["flops"])))
    if summary.get("parameters") and not brief:
        entries.append(("parameters", format_count(summary["parameters"])))
    busy = (summary.get("steady_utilisation") or {}).get("training")
    if busy is not None and not brief:
        entries.append(("device busy in training", format_share(busy)))
    if memory.get("host_peak_bytes"):
        entries.append(("memory", format_bytes(memory["host_peak_bytes"])))
    if memory.get("device_peak_bytes"):
        entries.append(("device memory", format_bytes(memory["device_peak_bytes"])))
    return entries


def how_it_ended(files: RunFiles) -> list[str]:
    """Why the run ended, and its best epoch."""
    summary = files.summary
    ending, best = summary.get("ending"), summary.get("best") or {}
    if any(line.startswith("summary.json ") for line in files.unread):
        return ["How the run ended cannot be read."]
    if not ending:
        return [f"The run has not ended: {files.epochs} epochs are done."]
    figures = summary.get("strength") or summary.get("val") or {}
    lines = ending_lines(ending, figures, None) or [f"The run did all its {format_count(ending['epochs'])} epochs."]
    if best.get("epoch") is not None:
        judged = f"{best['monitor']} ({format_figure(best['value'])})"
        whose = "that epoch" if best.get("restored") else "the last one"
        lines.append(f"best.ckpt is of epoch {best['epoch']}, the best by {judged}; all other figures are of {whose}.")
    return lines


def ending_lines(ending: Mapping[str, Any], strength: Mapping[str, object], command: str | None) -> list[str]:
    """One sentence on the end of a run, and one with `command` if there is more to do.

    Args:
        ending: `why`, `epochs` (done), `asked` (epochs) and `proof` (None, or `least`, `figures`, `evaluations`,
            `running`, `proved_after`).
        strength: the latest figures; `measured_after` epochs, where it is known.
        command: the command that continues the run.
    """
    why, done, asked, proof = (ending.get(name) for name in ("why", "epochs", "asked", "proof"))
    if why == "proved":
        assert proof is not None
        figures = _figures(_counted(proof["figures"], proof))
        return [f"Proved after {_epochs(done)} of at most {asked}: {figures}, {_in_a_row(proof['evaluations'])}."]
    reached = _reached(strength, done)
    wanted = "" if proof is None else _wanted(proof)
    if why == "epochs":
        if proof is None:
            return []
        epochs = "the one epoch" if done == 1 else f"all {done} epochs"
        return [f"Not proved in {epochs}: {reached}{wanted}."]
    unproved = "" if proof is None else ", before it was proved"
    after = f"after {done} of {_epochs(asked)}{unproved}"
    if why == "stopped":
        return [f"The run was stopped {after}: {reached}."]
    subject = "The run was interrupted" if why == "interrupted" else f"{why} ended the run"
    lines = [f"{subject} {after}: {reached}{wanted}."]
    if why != "trainer.patience" and command is not None:
        lines.append(f"To continue to its end: {command}")
    return lines


def _reached(strength: Mapping[str, object], done: Any) -> str:
    after = strength.get("measured_after")
    when = f", measured after {_epochs(after)}" if isinstance(after, int) and after != done else ""
    return (_figures(strength) or "nothing measured yet") + when


def _figures(figures: Mapping[str, object]) -> str:
    shown = {name: value for name, value in format_strength(figures).items() if name not in LEFT_OUT}
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def _wanted(proof: Mapping[str, Any]) -> str:
    """The conditions of a proof, in brackets."""
    running = f"; so far in {proof['running']}" if proof["running"] else ""
    return f" (wanted: {_figures(_counted(proof['least'], proof))}, {_in_a_row(proof['evaluations'])}{running})"


def _counted(figures: Mapping[str, float], proof: Mapping[str, Any]) -> dict[str, object]:
    """The figures of a proof; openings as whole numbers beside their total."""
    openings = proof["least"].get("openings_right")
    whole = {} if openings is None else {"openings": int(openings), "openings_right": int(figures["openings_right"])}
    return {**figures, **whole}


def _in_a_row(evaluations: int) -> str:
    return "in one evaluation" if evaluations == 1 else f"in {evaluations} evaluations in a row"


def _epochs(count: Any) -> str:
    return f"{count} epoch" if count == 1 else f"{count} epochs"


def losses_section(files: RunFiles) -> Section:
    """Losses in training and on validation data, the learning rate, and other measures of validation."""
    epochs = files.column("epoch")
    losses = [name.partition(".") for name in files.metrics if name.endswith("loss")]
    names = [name for split, _, name in losses if split in ("train", "val")]
    figures = []
    for name in sorted(dict.fromkeys(names), key=lambda one: (one != "loss", one)):
        lines = [
            ChartLine(split, epochs, files.column(f"{key}.{name}"), dashed=key == "val")
            for key, split in (("train", "training"), ("val", "validation"))
            if f"{key}.{name}" in files.metrics
        ]
        title = name.replace("_", " ").capitalize() if name != "loss" else "Total loss"
        figures.append(Figure(f"loss-{name}", title, Chart(lines, y=name, may_be_log=True)))
    figures += _validation(files, epochs)
    if "train.lr" in files.metrics:
        chart = Chart([ChartLine("", epochs, files.column("train.lr"))], y="learning rate")
        figures.append(Figure("lr", "Learning rate", chart))
    return Section("Losses", [Figures(figures)] if figures else [Notes(["No epoch has ended."], "quiet")])


def _validation(files: RunFiles, epochs: Sequence[float | None]) -> list[Figure]:
    """Charts of validation measures other than losses: shares of one together, others together."""
    names = [name for name in files.metrics if name.startswith("val.") and not name.endswith("loss")]
    groups: dict[bool, list[ChartLine]] = {True: [], False: []}
    for name in names:
        values = files.column(name)
        known = [value for value in values if value is not None]
        if known:
            share = min(known) >= 0 and max(known) <= 1
            groups[share].append(ChartLine(name.removeprefix("val.").replace("_", " "), epochs, values, dashed=False))
    figures = []
    for share, lines in groups.items():
        for place in range(0, len(lines), _MEASURES_A_CHART):
            part = lines[place : place + _MEASURES_A_CHART]
            title = "On validation data" + (f" ({place // _MEASURES_A_CHART + 1})" if place else "")
            title += "" if share else ": errors"
            chart = Chart(part, y=part[0].name if len(part) == 1 else "", may_be_log=not share)
            figures.append(Figure(f"val-{share}-{place}", title, chart))
    return figures


def time_section(files: RunFiles) -> Section:
    """The timeline, the phases with the device's utilisation, and the throughput of training."""
    title = "Phases, processors and memory over time"
    timeline = Figure("timeline", title, spans_of(files), wide=True)
    blocks: list[Block] = [Figures([timeline]), *phase_blocks(files)]
    figures = []
    steps, rates = numbers(files.steps, "epoch"), numbers(files.steps, "examples_per_second")
    if any(rate is not None for rate in rates):
        chart = Chart([ChartLine("", steps, rates)], y="examples a second")
        figures.append(Figure("throughput", "Throughput of training", chart))
    lines = busy_lines(files)
    lines.append(ChartLine("training waits for data", steps, numbers(files.steps, "load_share"), dashed=True))
    if any(line.points for line in lines):
        chart = Chart(lines, share=True)
        figures.append(Figure("busy", "How busy the device was, by phase", chart))
    if figures:
        blocks.append(Figures(figures))
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


def phase_blocks(files: RunFiles, *, brief: bool = False) -> list[Block]:
    """Time, share and utilisation by phase, from the summary, with the time outside the phases and the total.

    `brief` counts phases of less than a hundredth of the time with the time outside, unless they have rates.
    """
    phases: Mapping[str, Mapping[str, Any]] = files.summary.get("phases") or {}
    order = [name for name in dict.fromkeys(files.phases.get("phase", ())) if name in phases] or list(phases)
    seconds = {name: phases[name].get("wall_seconds") or 0.0 for name in order}
    measured = sum(seconds.values())
    whole = max(files.summary.get("wall_seconds") or 0.0, measured)
    units = list(dict.fromkeys(unit for row in phases.values() for unit in row if unit.endswith(_RATE)))
    evaluates = any(row.get("outside_network_share") is not None for row in phases.values())
    names = [unit.removesuffix(_RATE) for unit in units]
    headings: list[str | Column] = ["phase", "time", "share", "device busy"]
    headings += [Column("outside network", number=True, rank=3)] if evaluates else []
    headings += [Column(f"{_UNITS.get(name, name)}/s", number=True, rank=2) for name in names]

    def times(length: float) -> list[Cell]:
        return [Cell(format_duration(length), length), Cell(format_share(length / whole if whole else None))]

    rated = {name for name in order if any(phases[name].get(unit) is not None for unit in units)}
    shown = [name for name in order if not brief or name in rated or seconds[name] >= _SHORT * whole]
    rows: list[list[str | Cell]] = []
    for name in shown:
        row = phases[name]
        cells: list[str | Cell] = [name, *times(seconds[name]), format_share(row.get("device_utilisation"))]
        cells += [format_share(row.get("outside_network_share"))] if evaluates else []
        rows.append([*cells, *(Cell(format_rate(row.get(unit)), row.get(unit)) for unit in units)])
    blank = len(headings) - 3
    other = whole - sum(seconds[name] for name in shown)
    if rows and other > 0.001 * whole:
        rows.append(["other", *times(other), *[DASH] * blank])
    rows += [["all", *times(whole), *[""] * blank]] if rows else []
    beside = {name: (phases[name].get("work_seconds") or 0.0) - seconds[name] for name in order}
    lines = [
        f"{name} ran for {format_duration(more)} more, beside the other phases"
        for name, more in beside.items()
        if more > 0.01 * whole
    ]
    best = len(rows) - 1 if rows else None
    time_table = table("Time by phase", headings, rows, best=best, empty="They come with the end of the run.")
    return [time_table, Notes(lines, "quiet")]


def precision_lines(summary: Mapping[str, Any]) -> list[str]:
    """How near the number format of self-play is to float32; none where it was not compared."""
    found = summary.get("precision")
    if not found:
        return []
    return [
        f"{found['format']} plays the move of float32 in {format_share(found['same_move'])} of "
        f"{format_count(found['positions'])} positions; its policies are off by {found['policy_error']:.2%}, "
        f"its values by {found['value_error']:.4f}."
    ]


def spans_of(files: RunFiles) -> Spans:
    """The phases in order from `phases.csv`, with the samples of `resources.csv`."""
    seconds = [value or 0.0 for value in numbers(files.phases, "wall_seconds")]
    names = list(files.phases.get("phase", ()))
    ends = list(accumulate(seconds))
    totals: dict[str, float] = {}
    for name, length in zip(names, seconds, strict=True):
        totals[name] = totals.get(name, 0.0) + length
    shown = [name for name, total in totals.items() if total >= _LEAST_LANE * (ends[-1] if ends else 0.0)]
    phases = {
        name: [
            (end - length, length)
            for other, length, end in zip(names, seconds, ends, strict=True)
            if other == name and length > 0
        ]
        for name in shown
    }
    begins = [end for name, end in zip(names, ends, strict=True) if name == _STARTING]
    return Spans(phases, _meters(files, begins))


def _meters(files: RunFiles, begins: list[float]) -> list[ChartLine]:
    samples = [value or 0.0 for value in numbers(files.resources, "seconds")]
    session, xs = 0, []
    for place, second in enumerate(samples):
        session += place > 0 and second < samples[place - 1]  # rows of another session begin near 0 again
        xs.append(second + (begins[min(session, len(begins) - 1)] if begins else 0.0))
    columns = {
        "CPU, % of a core": ("cpu_percent", 1.0),
        "device busy, %": ("device_utilisation", 0.01),
        "memory, GiB": ("host_bytes", _GIB),
        "device memory, GiB": ("device_bytes", _GIB),
    }
    result = []
    for title, (name, unit) in columns.items():
        values = numbers(files.resources, name)
        if any(value is not None for value in values):
            result.append(ChartLine(title, xs, [None if value is None else value / unit for value in values]))
    return result


def lengths_of(files: RunFiles, asked: Sequence[int]) -> list[int]:
    """Numbers of epochs for the rows: those asked for, else that of the run and larger round ones."""
    if asked:
        return sorted(set(asked))
    planned = files.setting("trainer.max_epochs")
    own = {files.epochs, planned if isinstance(planned, int) else 0} - {0}
    longest = max(own, default=1)
    return sorted(own | {number for number in (10, 100, 1000, 10000) if number > longest} - {100000})[:5]


def cost_section(files: RunFiles, epochs: Sequence[int] = (), price: float | None = None) -> Section:
    """Hours, operations and, with a `price` per hour, money for runs of these `epochs`."""
    rates = rates_of(files)
    headings = ["epochs", "hours", "time", *(["cost"] if price is not None else []), "floating-point operations"]
    rows = []
    for number in lengths_of(files, epochs):
        seconds, flops = rates.seconds(number), rates.flops(number)
        hours = DASH if seconds is None else f"{seconds / 3600:,.2f}"
        row: list[str | Cell] = [format_count(number), hours, Cell(format_duration(seconds), seconds)]
        if price is not None:
            row.append(DASH if seconds is None else f"{price * seconds / 3600:,.2f}")
        row.append(Cell(format_flops(flops), flops))
        rows.append(row)
    pace = format_duration(rates.epoch_seconds)
    measured = f"Measured on this machine: {pace} an epoch over {rates.epochs} epochs, and once "
    lines = [measured + f"{format_duration(rates.once_seconds)} for starting and compiling."]
    if price is None:
        lines.append("hexlit report RUN price=2.50 epochs=[100,1000] adds what an hour costs.")
    else:
        lines.append(f"At {price:g} an hour.")
    costs = table("Hours and cost by epochs", headings, rows, names=0, empty="No epoch has ended.")
    return Section("Cost", [Notes(lines, "quiet"), costs], detail=True)


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
    lines += precision_lines(summary)
    return Section("Environment", [table("Environment", ["what", "value"], rows, names=2), Notes(lines, "quiet")])
