"""A run of any task: its report, and the end of its output on the terminal."""

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from rich.console import Console

from hexlit.reporting import page as pages
from hexlit.reporting.page import (
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
from hexlit.reporting.run_files import LENGTHS, ONCE, RunFiles, numbers, rates_of
from hexlit.reporting.text import show

_LONG = 0.05  # least share of the time for a phase to count as long
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
    overrides = (
        [Notes([f"Overrides: {' '.join(files.overrides)}"], "quiet")] if files.overrides else []
    )
    sections = [
        *own,
        losses_section(files),
        time_section(files),
        cost_section(files, epochs, price),
    ]
    sections += [
        pages.settings_section(files.settings(), given, overrides),
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
    summary: Mapping[str, Any],
    folder: Path,
    sections: Callable[[RunFiles], Sequence[Section]],
) -> None:
    """Print the end of a run: its figures, its time by phase, and what of the task's `sections` is
    no detail.

    Every entry of `summary` may be missing; the report has the rest.
    """
    files = RunFiles(folder, summary)
    device = [f"on {summary['device']}"] if summary.get("device") else []
    console.print()
    phases = [Section("Time by phase", phase_blocks(files))] if summary.get("phases") else []
    show(
        Page("", "", [*phases, *sections(files)], [Facts(headline(files)), Notes(device, "quiet")]),
        console,
    )
    console.print(
        f"\nEverything of this run: {os.path.relpath(folder)}",
        soft_wrap=True,
        highlight=False,
        markup=False,
    )


def print_ending(
    console: Console, ending: Mapping[str, Any], strength: Mapping[str, object], command: str | None
) -> None:
    """Print the lines of `ending_lines`, each whole:
    the terminal may wrap them, and a command can still be copied.
    """
    for line in ending_lines(ending, strength, command):
        console.print(line, soft_wrap=True, highlight=False, markup=False)


def when(files: RunFiles) -> str:
    """Time of the latest change to the run's files."""
    paths = (files.folder / name for name in ("summary.json", "metrics.csv", "phases.csv"))
    latest = max((path.stat().st_mtime for path in paths if path.is_file()), default=None)
    if latest is None:
        return "nothing written yet"
    return f"{'finished' if files.summary else 'as it was'} {datetime.fromtimestamp(latest):%Y-%m-%d %H:%M}"


def headline(files: RunFiles) -> list[tuple[str, str]]:
    """Name and text of a run's results."""
    summary = files.summary
    memory, cost, best = (summary.get(name) or {} for name in ("memory", "cost", "best"))
    tells_best = best.get("restored") or not summary.get("strength")
    return entries(
        ("epochs", files.epochs, "count"),
        (
            "wall time",
            summary.get("wall_seconds") or sum(files.totals().values()) or None,
            "seconds",
        ),
        (f"best {best.get('monitor')}", best.get("value") if tells_best else None, None),
        *((name, summary.get(name), "count") for name in ("games", "positions")),
        ("operations", cost.get("flops"), "flops"),
        ("parameters", summary.get("parameters"), "count"),
        (
            "device busy in training",
            (summary.get("steady_utilisation") or {}).get("training"),
            "share",
        ),
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
    lines = ending_lines(ending, figures, None) or [
        f"The run did all its {shown(ending['epochs'], 'count')} epochs."
    ]
    if best.get("epoch") is not None:
        whose = "that epoch" if best.get("restored") else "the last one"
        why = f"the best by {best['monitor']} ({shown(best['value'])}); all other figures are of {whose}."
        lines.append(f"best.ckpt is of epoch {best['epoch']}, {why}")
    return lines


def ending_lines(
    ending: Mapping[str, Any], strength: Mapping[str, object], command: str | None
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
        return [
            f"Target reached after {_epochs(done)} of at most {asked}: {_at_target(target['figures'], target)}."
        ]
    after = strength.get("measured_after")
    reached = _figures(strength) or "nothing measured yet"
    reached += (
        f", measured after {_epochs(after)}" if isinstance(after, int) and after != done else ""
    )
    wanted = before_target = ""
    if target is not None:
        running = f"; so far in {target['running']}" if target["running"] else ""
        wanted = f" (target: {_at_target(target['least'], target)}{running})"
        before_target = ", before its target"
    if why == "epochs":
        epochs = "the one epoch" if done == 1 else f"all {done} epochs"
        return [f"Target not reached in {epochs}: {reached}{wanted}."] if wanted else []
    subject = f"The run was {why}" if why in ("stopped", "interrupted") else f"{why} ended the run"
    wanted *= why != "stopped"
    lines = [f"{subject} after {done} of {_epochs(asked)}{before_target}: {reached}{wanted}."]
    goes_on = command is not None and why not in ("stopped", "trainer.patience")
    return lines + [f"To continue to its end: {command}"] * goes_on


def _figures(figures: Mapping[str, object]) -> str:
    return ", ".join(
        f"{name} {text}" for name, text in format_strength(figures).items() if name not in LEFT_OUT
    )


def _at_target(figures: Mapping[str, float], target: Mapping[str, Any]) -> str:
    """The figures of a target, with the number of all openings, and its evaluations in a row."""
    openings = target["least"].get("openings_right")
    if openings is not None:
        figures = {
            **figures,
            "openings": int(openings),
            "openings_right": int(figures["openings_right"]),
        }
    count = target["evaluations"]
    return f"{_figures(figures)}, " + (
        "in one evaluation" if count == 1 else f"in {count} evaluations in a row"
    )


def _epochs(count: Any) -> str:
    return f"{count} epoch" if count == 1 else f"{count} epochs"


def losses_section(files: RunFiles) -> Section:
    """Losses in training and on validation data,
    the learning rate, and other measures of validation.
    """
    epochs = files.column("epoch")
    losses = [name.partition(".") for name in files.metrics if name.endswith("loss")]
    names = {name for split, _, name in losses if split in ("train", "val")}
    figures = []
    for name in sorted(names, key=lambda one: (one != "loss", one)):
        keys = {"training": f"train.{name}", "validation": f"val.{name}"}
        lines = {
            split: (epochs, files.column(key))
            for split, key in keys.items()
            if key in files.metrics
        }
        title = name.replace("_", " ").capitalize() if name != "loss" else "Total loss"
        figures.append(
            plot(f"loss-{name}", title, lines, dashed=["validation"], y=name, may_be_log=True)
        )
    for name in files.metrics:
        if (
            name.startswith("val.")
            and not name.endswith("loss")
            and any(y is not None for y in files.column(name))
        ):
            measure = name.removeprefix("val.").replace("_", " ")
            figures.append(
                plot(
                    name,
                    f"On validation data: {measure}",
                    {"": (epochs, files.column(name))},
                    y=measure,
                )
            )
    if "train.lr" in files.metrics:
        figures.append(
            plot("lr", "Learning rate", {"": (epochs, files.column("train.lr"))}, y="learning rate")
        )
    return Section(
        "Losses", [Figures(figures)] if figures else [Notes(["No epoch has ended."], "quiet")]
    )


def time_section(files: RunFiles) -> Section:
    """The timeline, the phases, the throughput of training,
    and how busy the device was in the longest phases.
    """
    timeline = Figure("timeline", "Phases, processors and memory over time", spans_of(files))
    totals, shares = files.totals(), numbers(files.phases, "device_utilisation")
    steps, rates = numbers(files.steps, "epoch"), numbers(files.steps, "examples_per_second")
    busy: dict[str, pages.Points] = {}
    for phase in (
        name for name in totals if name not in ONCE and totals[name] >= _LONG * sum(totals.values())
    ):
        rows = [
            (epoch, one)
            for (name, epoch, _), one in zip(files.spans(), shares, strict=True)
            if name == phase
        ]
        busy[phase] = [epoch for epoch, _ in rows], [share for _, share in rows]
    busy["training waits for data"] = steps, numbers(files.steps, "load_share")
    figures = [
        plot("throughput", "Throughput of training", {"": (steps, rates)}, y="examples a second"),
        plot(
            "busy",
            "How busy the device was, by phase",
            busy,
            dashed=["training waits for data"],
            share=True,
        ),
    ]
    return Section(
        "Time and machine", [Figures([timeline]), *phase_blocks(files), Figures(figures)]
    )


def phase_blocks(files: RunFiles) -> list[pages.Block]:
    """Time, share and utilisation by phase, from the summary,
    with the time outside the phases and the total.
    """
    phases: Mapping[str, Mapping[str, Any]] = files.summary.get("phases") or {}
    phases = {name: phases[name] for name in files.totals() or phases if name in phases}
    seconds = {name: row.get("wall_seconds") or 0.0 for name, row in phases.items()}
    measured = sum(seconds.values())
    whole = max(files.summary.get("wall_seconds") or 0.0, measured)
    units = list(
        dict.fromkeys(unit for row in phases.values() for unit in row if unit.endswith(_RATE))
    )
    columns = {"device busy": ("device_utilisation", "share")}
    if any(row.get("outside_network_share") is not None for row in phases.values()):
        columns["outside network"] = ("outside_network_share", "share")
    rates = {
        unit.removesuffix(_RATE).replace("evaluations", "evals") + "/s": (unit, "rate")
        for unit in units
    }

    columns |= rates
    named = [(name, seconds[name], row) for name, row in phases.items()]
    named += (
        [("other", whole - measured, {})] if phases and whole - measured > 0.001 * whole else []
    )
    named += [("all", whole, {})] if phases else []
    rows: list[list[Any]] = [
        [name, cell(length, "seconds"), shown(length / whole if whole else None, "share")]
        + [cell(row.get(key), unit) for key, unit in columns.values()]
        for name, length, row in named
    ]
    beside = {
        name: (row.get("work_seconds") or 0.0) - seconds[name] for name, row in phases.items()
    }
    lines = [
        f"{name} ran for {shown(more, 'seconds')} more, beside the other phases"
        for name, more in beside.items()
        if more > 0.01 * whole
    ]
    ranks = {"outside network": 3} | dict.fromkeys(rates, 2)
    best, empty = len(rows) - 1 if rows else None, "They come with the end of the run."
    headings = ["phase", "time", "share", *columns]
    return [
        table("Time by phase", headings, rows, ranks=ranks, best=best, empty=empty),
        Notes(lines, "quiet"),
    ]


def precision_lines(summary: Mapping[str, Any]) -> list[str]:
    """How near the number format of self-play is to float32; none where it was not compared."""
    found = summary.get("precision")
    if not found:
        return []
    moves = (
        f"{shown(found['same_move'], 'share')} of {shown(found['positions'], 'count')} positions"
    )
    errors = f"its policies are off by {found['policy_error']:.2%}, its values by {found['value_error']:.4f}."
    return [f"{found['format']} plays the move of float32 in {moves}; {errors}"]


def spans_of(files: RunFiles) -> pages.Spans:
    """The phases in order from `phases.csv`, with the samples of `resources.csv`."""
    spans = files.spans()
    ends = list(accumulate(seconds for _, _, seconds in spans))
    lanes: dict[str, list[tuple[float, float]]] = defaultdict(list)
    begins = []
    for (name, _, seconds), end in zip(spans, ends, strict=True):
        lanes[name].append((end - seconds, seconds))
        begins += [end] if name == _STARTING else []
    samples = [value or 0.0 for value in numbers(files.resources, "seconds")]
    falls = (
        now < before for before, now in pairwise(samples)
    )  # rows of another session begin near 0 again
    sessions = list(accumulate(falls, initial=0))
    xs = [
        second + (begins[: session + 1] or [0.0])[-1]
        for second, session in zip(samples, sessions, strict=False)
    ]
    columns = (
        (title, numbers(files.resources, name), unit) for title, (name, unit) in _METERS.items()
    )
    lines = [
        pages.ChartLine(title, xs, [one and one / unit for one in column])
        for title, column, unit in columns
    ]
    return pages.Spans(
        lanes, [line for line in lines if any(value is not None for value in line.ys)]
    )


def cost_section(
    files: RunFiles, epochs: Sequence[int] = (), price: float | None = None
) -> Section:
    """Hours, operations and, with a `price` per hour,
    money for runs of these `epochs`, or of usual numbers of them.
    """
    rates = rates_of(files)
    headings = [
        "epochs",
        "hours",
        *(["cost"] if price is not None else []),
        "time",
        "floating-point operations",
    ]
    rows = []
    usual = {files.epochs, files.setting("trainer.max_epochs") or 0, *LENGTHS}
    for n in sorted(set(epochs) or {number for number in usual if number > 0}):
        flops = None if rates.epoch_flops is None else n * rates.epoch_flops
        rows.append(
            [
                cell(n, "count"),
                *rates.costs(n, price),
                cell(rates.seconds(n), "seconds"),
                cell(flops, "flops"),
            ]
        )
    pace, once = shown(rates.epoch_seconds, "seconds"), shown(rates.once_seconds, "seconds")
    add = "hexlit report RUN price=2.50 epochs=[100,1000] adds what an hour costs."
    lines = [
        f"Measured: {pace} an epoch over {rates.epochs} epochs, and once {once} for starting and compiling.",
        add if price is None else f"At {price:g} an hour.",
    ]
    costs = table("Hours and cost by epochs", headings, rows, names=0, empty="No epoch has ended.")
    return Section("Cost", [Notes(lines, "quiet"), costs], detail=True)


def environment_section(files: RunFiles) -> Section:
    """The machine, and the versions of the software."""
    summary = files.summary
    rows = [["device", summary.get("device") or DASH], *(summary.get("versions") or {}).items()]
    rows = [[name, str(value)] for name, value in rows]
    for name in ("seed", "compile_seconds", "optimizer_state_bytes", "learning_rate"):
        if summary.get(name) is not None:
            rows.append([name.replace("_", " "), f"{summary[name]:.6g}"])
    reasons = {text for text in files.phases.get("not_measured", ()) if text}
    lines = [
        *[f"Not measured: {reason}." for reason in sorted(reasons)][:3],
        *precision_lines(summary),
    ]
    return Section(
        "Environment",
        [table("Environment", ["what", "value"], rows, names=2), Notes(lines, "quiet")],
    )
