"""A run of any task: its report, and the end of its output on the terminal."""

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from hexlit.reporting import page as pages
from hexlit.reporting.page import (
    Document,
    Facts,
    Figure,
    Figures,
    Notes,
    Page,
    Section,
    cell,
    entries,
    plot,
    table,
)
from hexlit.reporting.quantities import DASH, LEFT_OUT, format_strength, shown
from hexlit.reporting.run_files import LENGTHS, RunFiles, numbers, rates_of
from hexlit.reporting.text import show

_RATE = "_per_second"
_STARTING = "starting"  # first phase of every session of a run; its samples begin after it
_METERS = {
    "CPU, % of a core": ("cpu_percent", 1.0),
    "device busy, %": ("device_utilisation", 0.01),
    "memory, GiB": ("host_bytes", 2.0**30),
    "device memory, GiB": ("device_bytes", 2.0**30),
}
"""Title -> column of `resources.csv`, and the number of its values per unit."""


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
    overrides = Notes([f"Overrides: {' '.join(files.overrides)}"] if given else [], "quiet")
    sections = [
        *own,
        losses_section(files),
        time_section(files),
        *further_section(files),
        cost_section(files, epochs, price),
        pages.settings_section(files.settings(), given, [overrides]),
        environment_section(files),
    ]
    lead: list[pages.Block] = [
        Notes(files.unread, "problem"),
        Facts(headline(files)),
        Notes(how_it_ended(files)),
    ]
    subtitle = " · ".join(filter(None, [files.task, files.folder.name, when(files)]))
    return Page(files.name, subtitle, sections, lead, links or {})


def print_end(
    console: Console,
    summary: Document,
    folder: Path,
    sections: Callable[[RunFiles], Sequence[Section]],
) -> None:
    """Print the end of a run: figures, time by phase, and the task's `sections` without details.

    Every entry of `summary` may be missing; the report has the rest.
    """
    files = RunFiles(folder, summary)
    device = [f"on {summary['device']}"] if summary.get("device") else []
    phases = [Section("Time by phase", phase_blocks(files))] if summary.get("phases") else []
    lead: list[pages.Block] = [Facts(headline(files)), Notes(device, "quiet")]
    console.print()
    show(Page("", "", [*phases, *sections(files)], lead), console)
    _print_whole(console, f"\nEverything of this run: {os.path.relpath(folder)}")


def print_ending(
    console: Console, ending: Document, strength: Mapping[str, object], command: str | None
) -> None:
    """Print the lines of `ending_lines`, each whole, so that its command can be copied."""
    for line in ending_lines(ending, strength, command):
        _print_whole(console, line)


def _print_whole(console: Console, line: str) -> None:
    console.print(line, soft_wrap=True, highlight=False, markup=False)


def when(files: RunFiles) -> str:
    """Time of the latest change to the run's files."""
    paths = (files.folder / name for name in ("summary.json", "metrics.csv", "phases.csv"))
    latest = max((path.stat().st_mtime for path in paths if path.is_file()), default=None)
    if latest is None:
        return "nothing written yet"
    state = "finished" if files.summary else "as it was"
    return f"{state} {datetime.fromtimestamp(latest):%Y-%m-%d %H:%M}"


def headline(files: RunFiles) -> list[tuple[str, str]]:
    """Name and text of a run's results."""
    summary = files.summary
    memory, cost, best = (summary.get(name) or {} for name in ("memory", "cost", "best"))
    has_best = best.get("restored") or not summary.get("strength")
    seconds = summary.get("wall_seconds") or sum(files.totals().values())
    utilisation = summary.get("steady_utilisation") or {}
    return entries(
        ("epochs", files.epochs, "count"),
        ("wall time", seconds or None, "seconds"),
        (f"best {best.get('monitor')}", best.get("value") if has_best else None, None),
        ("games", summary.get("games"), "count"),
        ("positions", summary.get("positions"), "count"),
        ("operations", cost.get("flops"), "flops"),
        ("parameters", summary.get("parameters"), "count"),
        ("device busy in training", utilisation.get("training"), "share"),
        ("memory", memory.get("host_peak_bytes"), "bytes"),
        ("device memory", memory.get("device_peak_bytes") or None, "bytes"),
    )


def how_it_ended(files: RunFiles) -> list[str]:
    """Why the run ended, and its best epoch."""
    summary = files.summary
    ending, best = summary.get("ending"), summary.get("best") or {}
    if not ending:
        return [] if files.unread else [f"The run has not ended: {files.epochs} epochs are done."]
    figures = summary.get("strength") or summary.get("val") or {}
    lines = ending_lines(ending, figures, None)
    if not lines:
        lines.append(f"The run did all its {_epochs(ending['epochs'])}.")
    if best.get("epoch") is not None:
        whose = "that epoch" if best.get("restored") else "the last one"
        why = f"the best by {best['monitor']} ({shown(best['value'])})"
        lines.append(f"best.ckpt is of epoch {best['epoch']}, {why}; other figures are of {whose}.")
    return lines


def ending_lines(
    ending: Document, strength: Mapping[str, object], command: str | None
) -> list[str]:
    """One sentence on the end of a run, and one with `command` if there is more to do.

    Args:
        ending: `why`, `epochs` (done), `asked` (epochs) and `target` (None, or `least`, `figures`,
            `evaluations`, `running`, `reached_after`).
        strength: the latest figures; `measured_after` epochs, where it is known.
        command: the command that continues the run.
    """
    why, done, asked, target = (ending.get(name) for name in ("why", "epochs", "asked", "target"))
    if why == "target" and target is not None:
        reached = _at_target(target["figures"], target)
        return [f"Target reached after {_epochs(done)} of at most {asked}: {reached}."]
    reached = _figures(strength) or "nothing measured yet"
    after = strength.get("measured_after")
    if isinstance(after, int) and after != done:
        reached += f", measured after {_epochs(after)}"
    if target is not None and why != "stopped":
        reached += f" (target: {_at_target(target['least'], target)})"
    if why == "epochs":
        return [f"Target not reached in {_epochs(done)}: {reached}."] if target else []
    subject = f"The run was {why}" if why in ("stopped", "interrupted") else f"{why} ended the run"
    before_target = "" if target is None else ", before its target"
    lines = [f"{subject} after {done} of {_epochs(asked)}{before_target}: {reached}."]
    if command is not None and why not in ("stopped", "trainer.patience"):
        lines.append(f"To continue to its end: {command}")
    return lines


def _figures(figures: Mapping[str, object]) -> str:
    texts = format_strength(figures).items()
    return ", ".join(f"{name} {text}" for name, text in texts if name not in LEFT_OUT)


def _at_target(figures: Mapping[str, float], target: Document) -> str:
    """The figures of a target, with the number of all openings, and its evaluations in a row."""
    openings = target["least"].get("openings_right")
    if openings is not None:
        right = int(figures["openings_right"])
        figures = {
            **figures,
            "openings": int(openings),
            "openings_right": right,
        }
    count = target["evaluations"]
    how_often = "in one evaluation" if count == 1 else f"in {count} evaluations in a row"
    return f"{_figures(figures)}, {how_often}"


def _epochs(count: Any) -> str:
    return f"{count} epoch" if count == 1 else f"{count} epochs"


def losses_section(files: RunFiles) -> Section:
    """Losses, the learning rate, and other measures on validation data."""
    epochs = files.column("epoch")
    names = set()
    for metric in files.metrics:
        split, _, name = metric.partition(".")
        if name.endswith("loss") and split in ("train", "val"):
            names.add(name)
    figures = []
    for name in sorted(names, key=lambda one: (one != "loss", one)):
        lines = {}
        for label, key in {"training": f"train.{name}", "validation": f"val.{name}"}.items():
            if key in files.metrics:
                lines[label] = (epochs, files.column(key))
        title = "Total loss" if name == "loss" else name.replace("_", " ").capitalize()
        chart = plot(
            f"loss-{name}",
            title,
            lines,
            dashed=["validation"],
            y=name,
            may_be_log=True,
        )
        figures.append(chart)
    for metric in files.metrics:
        split, _, name = metric.partition(".")
        values = files.column(metric)
        if split == "val" and not name.endswith("loss") and any(y is not None for y in values):
            measure = name.replace("_", " ")
            title = f"On validation data: {measure}"
            figures.append(plot(metric, title, {"": (epochs, values)}, y=measure))
    if "train.lr" in files.metrics:
        line = epochs, files.column("train.lr")
        figures.append(
            plot(
                "lr",
                "Learning rate",
                {"": line},
                y="learning rate",
            )
        )
    none = Notes(["No epoch has ended."], "quiet")
    return Section("Losses", [Figures(figures) if figures else none])


def further_section(files: RunFiles) -> list[Section]:
    """A curve per metric of the user's callbacks; none without any."""
    epochs = files.column("epoch")
    figures = []
    for name in files.further_metrics:
        line = epochs, files.column(name)
        figures.append(plot(name, name, {"": line}, y=name))
    return [Section("Further metrics", [Figures(figures)])] if figures else []


def time_section(files: RunFiles) -> Section:
    """The timeline, the phases, the throughput of training and its wait for data."""
    timeline = Figure("timeline", "Phases, processors and memory over time", spans_of(files))
    steps, rates = numbers(files.steps, "epoch"), numbers(files.steps, "examples_per_second")
    waits = numbers(files.steps, "load_share")
    figures = [
        plot(
            "throughput",
            "Throughput of training",
            {"": (steps, rates)},
            y="examples a second",
        ),
        plot(
            "loading",
            "Share of training that waits for data",
            {"": (steps, waits)},
            share=True,
        ),
    ]
    blocks = [Figures([timeline]), *phase_blocks(files), Figures(figures)]
    return Section("Time and machine", blocks)


def phase_blocks(files: RunFiles) -> list[pages.Block]:
    """Time, share, utilisation and rates by phase, with the time outside the phases and the total."""
    phases: Mapping[str, Document] = files.summary.get("phases") or {}
    seconds = {name: row.get("wall_seconds") or 0.0 for name, row in phases.items()}
    measured = sum(seconds.values())
    whole = max(files.summary.get("wall_seconds") or 0.0, measured)
    rates: dict[str, str] = {}
    outside, lines = False, []
    for name, row in phases.items():
        for unit in row:
            if unit.endswith(_RATE):
                rates[unit.removesuffix(_RATE).replace("evaluations", "evals") + "/s"] = unit
        outside = outside or row.get("outside_network_share") is not None
        more = (row.get("work_seconds") or 0.0) - seconds[name]
        if more > 0.01 * whole:
            lines.append(f"{name} ran for {shown(more, 'seconds')} more, next to the other phases")
    columns = {"device busy": ("device_utilisation", "share")}
    if outside:
        columns["outside network"] = ("outside_network_share", "share")
    for heading, unit in rates.items():
        columns[heading] = (unit, "rate")
    named = [(name, seconds[name], row) for name, row in phases.items()]
    if phases and whole - measured > 0.001 * whole:
        named.append(("other", whole - measured, {}))
    if phases:
        named.append(("all", whole, {}))
    rows: list[list[Any]] = []
    for name, length, row in named:
        share = length / whole if whole else None
        row_cells = [cell(row.get(key), unit) for key, unit in columns.values()]
        rows.append([name, cell(length, "seconds"), shown(share, "share"), *row_cells])
    ranks = {"outside network": 3} | dict.fromkeys(rates, 2)
    headings = ["phase", "time", "share", *columns]
    best, empty = len(rows) - 1 if rows else None, "They come with the end of the run."
    times = table(
        "Time by phase",
        headings,
        rows,
        ranks=ranks,
        best=best,
        empty=empty,
    )
    return [times, Notes(lines, "quiet")]


def precision_lines(summary: Document) -> list[str]:
    """How near the number format of self-play is to float32; none where it was not compared."""
    near = summary.get("precision")
    if not near:
        return []
    moves = f"{shown(near['same_move'], 'share')} of {shown(near['positions'], 'count')} positions"
    errors = f"policies off by {near['policy_error']:.2%}, values by {near['value_error']:.4f}"
    return [f"{near['format']} plays the move of float32 in {moves}; {errors}"]


def spans_of(files: RunFiles) -> pages.Spans:
    """The phases in order from `phases.csv`, with the samples of `resources.csv`."""
    lanes: dict[str, list[tuple[float, float]]] = defaultdict(list)
    begins = []
    end = 0.0
    for name, _, seconds in files.spans():
        lanes[name].append((end, seconds))
        end += seconds
        if name == _STARTING:
            begins.append(end)
    xs = []
    session, before = 0, 0.0
    for value in numbers(files.resources, "seconds"):
        second = value or 0.0
        if second < before:  # rows of another session begin near 0 again
            session += 1
        before = second
        xs.append(second + (begins[min(session, len(begins) - 1)] if begins else 0.0))
    lines = []
    for title, (name, unit) in _METERS.items():
        ys = [one and one / unit for one in numbers(files.resources, name)]
        if any(y is not None for y in ys):
            lines.append(pages.ChartLine(title, xs, ys))
    return pages.Spans(lanes, lines)


def cost_section(
    files: RunFiles, epochs: Sequence[int] = (), price: float | None = None
) -> Section:
    """Hours, operations and, with a `price` per hour, money for runs of these `epochs`, or of usual
    numbers of them.
    """
    rates = rates_of(files)
    headings = ["epochs", "hours", "time", "floating-point operations"]
    if price is not None:
        headings.insert(2, "cost")
    usual = {files.epochs, files.setting("trainer.max_epochs") or 0, *LENGTHS} - {0}
    rows = []
    for n in sorted(set(epochs) or usual):
        flops = None if rates.epoch_flops is None else n * rates.epoch_flops
        time = cell(rates.seconds(n), "seconds")
        rows.append([cell(n, "count"), *rates.costs(n, price), time, cell(flops, "flops")])
    pace, once = shown(rates.epoch_seconds, "seconds"), shown(rates.once_seconds, "seconds")
    measured = f"{pace} an epoch over {rates.epochs} epochs, {once} for starting and compiling"
    add = "hexlit report RUN price=2.50 epochs=[100,1000] adds what an hour costs."
    lines = [f"Measured: {measured}.", add if price is None else f"At {price:g} an hour."]
    costs = table(
        "Hours and cost by epochs",
        headings,
        rows,
        names=0,
        empty="No epoch has ended.",
    )
    return Section("Cost", [Notes(lines, "quiet"), costs], detail=True)


def environment_section(files: RunFiles) -> Section:
    """The machine, and the versions of the software."""
    summary = files.summary
    rows = [["device", str(summary.get("device") or DASH)]]
    for name, version in (summary.get("versions") or {}).items():
        rows.append([name, str(version)])
    for name in ("seed", "compile_seconds", "optimizer_state_bytes", "learning_rate"):
        if summary.get(name) is not None:
            rows.append([name.replace("_", " "), f"{summary[name]:.6g}"])
    reasons = set(filter(None, files.phases.get("not_measured", ())))
    lines = [f"Not measured: {reason}." for reason in sorted(reasons)]
    environment = table("Environment", ["what", "value"], rows, names=2)
    notes = Notes([*lines, *precision_lines(summary)], "quiet")
    return Section("Environment", [environment, notes])
