"""The results of a run, as tables at its end."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hexlit.files import plain as plain
from hexlit.reporting.quantities import (
    DASH,
    format_bytes,
    format_count,
    format_duration,
    format_rate,
    format_share,
    format_strength,
    format_validation,
    format_value,
)
from hexlit.reporting.strength_tables import opening_maps

_GAP = 2
"""Blanks between two figures."""

_RATE = "_per_second"
_SHORT = {"evaluations": "evals"}
"""Headings of units that are shorter than their names."""


def print_summary(console: Console, summary: Mapping[str, Any], folder: Path) -> None:
    """Print the time by phase, the strength, the map of the openings if there is one, and the run's `folder`.

    Every entry may be missing: `wall_seconds`, `games`, `positions`, `device` (text), `phases` (by name, with the
    columns of `phases.csv`), `precision` (a number format beside float32), `strength` (numbers; `opening_map` and
    `opening_truth` as in `draw_openings`), `val` (results on validation data).
    """
    print_run(console, summary)
    if summary.get("precision"):
        console.print(_precision_line(summary["precision"]))
    strength = summary.get("strength") or {}
    figures = {
        "Strength": format_strength(strength),
        "Value without search, and positions from games": format_value(strength),
        "On validation data": format_validation(summary.get("val") or {}),
    }
    for table in _tables_of(figures, console.width):
        console.print(table)
    if strength.get("opening_map") is not None:
        maps = {"as the search judges them": strength["opening_map"]}
        if strength.get("value_opening_map") is not None:
            maps["by the value alone"] = strength["value_opening_map"]
        console.print()
        console.print(opening_maps(maps, strength.get("opening_truth"), console.width))
    print_folder(console, folder)


def print_run(console: Console, summary: Mapping[str, Any]) -> None:
    """Print the facts of every run: its duration, its device, and its time by phase."""
    console.print()
    console.print(_headline(summary))
    if summary.get("phases"):
        console.print(_phase_table(summary["phases"], summary.get("wall_seconds")))


def print_folder(console: Console, folder: Path) -> None:
    """Print the place of the run's files."""
    console.print(f"\nEverything of this run: {os.path.relpath(folder)}", soft_wrap=True, highlight=False)


def _tables_of(figures: Mapping[str, Mapping[str, str]], width: int) -> Iterator[Table]:
    """Tables of figures by title, in as many rows as `width` needs; none without figures."""
    for title, shown in figures.items():
        rows: list[dict[str, str]] = []
        room = 0
        for heading, value in shown.items():
            needed = max(len(heading), len(value)) + _GAP
            if not rows or needed > room:
                rows.append({})
                room = width
            rows[-1][heading] = value
            room -= needed
        for number, row in enumerate(rows):
            padding = (0, _GAP, 0, 0)
            table = Table(title_justify="left", title_style="bold", box=None, padding=padding)
            table.title = None if number else title
            for heading in row:
                table.add_column(heading, justify="right", header_style="dim", no_wrap=True)
            table.add_row(*(Text(value, "bold green") for value in row.values()))
            yield table


def _headline(summary: Mapping[str, Any]) -> Text:
    parts = [("finished in " + format_duration(summary.get("wall_seconds")), "bold")]
    for name in ("games", "positions"):
        if summary.get(name) is not None:
            parts.append((f"{format_count(summary[name])} {name}", ""))
    peaks = summary.get("memory") or {}
    if peaks.get("host_peak_bytes"):
        parts.append((f"{format_bytes(peaks['host_peak_bytes'])} of memory at most", ""))
    if peaks.get("device_peak_bytes"):
        parts.append((f"{format_bytes(peaks['device_peak_bytes'])} of the device's", ""))
    if summary.get("device"):
        parts.append((f"on {summary['device']}", "dim"))
    return Text(" · ", "dim").join(Text(text, style) for text, style in parts)


def _precision_line(found: Mapping[str, Any]) -> Text:
    return Text.assemble(
        (f"{found['format']} plays the move of float32 in {format_share(found['same_move'])} of ", "dim"),
        (f"{format_count(found['positions'])} positions; its policies are off by {found['policy_error']:.2%}, ", "dim"),
        (f"its values by {found['value_error']:.4f}", "dim"),
    )


def _phase_table(phases: Mapping[str, Mapping[str, float | None]], wall: float | None) -> Table:
    """A row per phase, one for wall time outside the phases, and one for the total."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", title_justify="left", show_footer=False)
    table.add_column("phase")
    columns = dict.fromkeys(name for row in phases.values() for name in row)
    units = [name.removesuffix(_RATE) for name in columns if name.endswith(_RATE)]
    evaluates = any(row.get("outside_network_share") is not None for row in phases.values())
    blank = 1 + evaluates + len(units)
    network = ["outside network"] if evaluates else []  # of phases that only evaluate one, such as self-play
    for heading in ("time", "share", "busy", *network, *(f"{_SHORT.get(unit, unit)}/s" for unit in units)):
        table.add_column(heading, justify="right")
    measured = sum(row.get("wall_seconds") or 0.0 for row in phases.values())
    whole = measured if wall is None else max(wall, measured)

    def share(seconds: float) -> str:
        return format_share(seconds / whole if whole > 0 else None)

    for name, row in phases.items():
        seconds = row.get("wall_seconds") or 0.0
        rates = [format_rate(row.get(unit + _RATE)) for unit in units]
        outside = [format_share(row.get("outside_network_share"))] if evaluates else []
        busy = format_share(row.get("device_utilisation"))
        table.add_row(name, format_duration(seconds), share(seconds), busy, *outside, *rates)
    if whole - measured > 0.001 * whole:
        table.add_row("other", format_duration(whole - measured), share(whole - measured), *[DASH] * blank, style="dim")
    for name, row in phases.items():
        beside = (row.get("work_seconds") or 0.0) - (row.get("wall_seconds") or 0.0)
        if beside > 0.01 * whole:
            table.caption = f"{name} ran for {format_duration(beside)} more, beside the other phases"
    table.add_row("all", format_duration(whole), share(whole), *[""] * blank, style="bold")
    return table
