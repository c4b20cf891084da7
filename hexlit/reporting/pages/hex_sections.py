"""Sections of Hex in a report: strength, openings beside the solved ones, mistakes, self-play and games."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hexlit.hex.judging import judged_right
from hexlit.hex.notation import format_cell
from hexlit.hex.record import GameRecord
from hexlit.reporting.board_svg import MARK, CellNote, board_svg, value_notes
from hexlit.reporting.pages.charts import Chart, ChartLine, draw_chart, drawn
from hexlit.reporting.pages.games import GameViewer, step_game
from hexlit.reporting.pages.page import Block, Drawing, Facts, Figures, Notes, Section
from hexlit.reporting.pages.run_files import RunFiles
from hexlit.reporting.quantities import format_strength, format_value

MEASURED = {
    "strength.search_optimality": "search optimal",
    "strength.policy_optimality": "policy optimal",
    "strength.games_policy_optimality": "policy optimal, games",
    "strength.rollouts_share": "won against rollouts",
}
"""Shares of a strength by metric, in the order of the chart."""
AXES = {
    "epoch": ("epochs", "epoch", 1.0),
    "selfplay.games": ("games", "games of self-play", 1.0),
    "cost.flops": ("operations", "TFLOP", 1e12),
    "cost.seconds": ("time", "minutes", 60.0),
}
"""Axes of the charts of strength by metric: the name, the unit, and the number of values per unit."""
SELFPLAY = {
    "games_per_second": ("Throughput of self-play", "games a second"),
    "window": ("Window of positions to learn from", "positions"),
    "moves_a_game": ("Length of the games", "moves a game"),
}

MAP_LEGEND = (
    "Value of Black's first stone on each cell, in hundredths: blue wins, red loses. "
    "A ring marks a cell that perfect play judges otherwise."
)
STONES = {1: "Black", -1: "White"}


def hex_sections(files: RunFiles, games: Sequence[GameRecord]) -> list[Section]:
    """Sections of the run in `files`; `games` are samples of its self-play, oldest first."""
    result = [strength_section(files), openings_section(files), mistakes_section(files), selfplay_section(files)]
    return [section for section in [*result, games_section(games)] if section is not None]


def strength_section(files: RunFiles) -> Section | None:
    """The latest figures, and shares over epochs, games, operations and time."""
    strength = files.summary.get("strength") or {}
    drawings = strength_charts(files)
    if not strength and not drawings:
        return None
    entries = [(name, text) for name, text in format_strength(strength).items() if name != "score"]
    entries += [(f"value alone: {name}", text) for name, text in format_value(strength).items() if name != "positions"]
    return Section("Strength", [Facts(entries), Figures(drawings)])


def strength_charts(files: RunFiles) -> list[Drawing]:
    """A chart for each of `AXES`."""
    lines = {label: files.column(name) for name, label in MEASURED.items() if name in files.metrics}
    right, openings = files.column("strength.openings_right"), files.column("strength.openings")
    if any(right):
        lines["openings right"] = [
            None if value is None or not of else value / of for value, of in zip(right, openings, strict=True)
        ]
    drawings = []
    for axis, (what, unit, factor) in AXES.items():
        xs = [None if value is None else value / factor for value in files.column(axis)]
        if lines and any(value is not None for value in xs):
            chart = Chart([ChartLine(n, xs, ys) for n, ys in lines.items()], x=unit, share=True, dots=True)
            drawings.append(drawn(f"strength-{what}", f"Strength over {what}", draw_chart, chart))
    return drawings


def openings_section(files: RunFiles) -> Section | None:
    """The map of the openings, as the network judges them and as they are solved."""
    strength = files.summary.get("strength") or {}
    truth = strength.get("opening_truth")
    maps = {
        "The search's map": strength.get("opening_map"),
        "The value alone, without search": strength.get("value_opening_map"),
    }
    drawings = [opening_map(title, judged, truth) for title, judged in maps.items() if judged]
    if not drawings:
        return None
    if truth:
        drawings.append(solved_map(truth))
    return Section("Openings", [Figures(drawings, small=True), Notes([MAP_LEGEND], "quiet")])


def opening_map(title: str, judged: Sequence[float], truth: Sequence[bool] | None) -> Drawing:
    """A judge's map on a board; wrong cells have a ring."""
    size = math.isqrt(len(judged))
    notes = value_notes(dict(enumerate(judged)))
    wrong = [] if truth is None else [cell for cell, value in enumerate(judged) if not judged_right(value, truth[cell])]
    notes |= {cell: replace(notes[cell], ring=MARK) for cell in wrong}
    caption = "" if truth is None else f" ({len(judged) - len(wrong)} of {len(judged)} right)"
    return _board(f"{title}{caption}", np.zeros(len(judged), np.int8), size, notes)


def solved_map(truth: Sequence[bool]) -> Drawing:
    """Perfect play on a board: openings that win, and openings that lose."""
    values = value_notes({cell: 0.75 if wins else -0.75 for cell, wins in enumerate(truth)})
    notes = {cell: CellNote("W" if truth[cell] else "L", note.shade) for cell, note in values.items()}
    return _board("Solved: perfect play", np.zeros(len(truth), np.int8), math.isqrt(len(truth)), notes)


def mistakes_section(files: RunFiles) -> Section | None:
    """Won positions that the search lost at the last evaluation."""
    strength = files.summary.get("strength") or {}
    mistakes: Sequence[Mapping[str, Any]] | None = strength.get("mistakes")
    if mistakes is None:
        return None
    lines = ["Won positions in which the searched move gives the win away. The shaded cells are the moves that win; "
             "the ring is on the searched move."]  # fmt: skip
    if not mistakes:
        return Section("Disagreements", [Notes(["The search kept the win in every won position of the evaluation."])])
    return Section("Disagreements", [Notes(lines, "quiet"), Figures([_mistake(one) for one in mistakes], small=True)])


def _mistake(mistake: Mapping[str, Any]) -> Drawing:
    cells = np.array(mistake["cells"], np.int8)
    size = math.isqrt(len(cells))
    shades = value_notes(dict.fromkeys(mistake["winning"], 0.6))
    notes = {cell: CellNote("", note.shade) for cell, note in shades.items()}
    played = int(mistake["move"])
    notes[played] = replace(notes.get(played, CellNote()), ring=MARK)
    who = STONES[mistake["to_move"]]
    title = f"{who} to move: {format_cell(played, size)} loses; value {mistake['value']:+.2f}"
    return _board(title, cells, size, notes)


def selfplay_section(files: RunFiles) -> Section | None:
    """Speed and length of the games, and the amount of positions to learn from."""
    epochs = files.column("epoch")
    drawings = []
    for name, (title, unit) in SELFPLAY.items():
        if f"selfplay.{name}" in files.metrics:
            chart = Chart([ChartLine("", epochs, files.column(f"selfplay.{name}"))], y=unit)
            drawings.append(drawn(f"selfplay-{name}", title, draw_chart, chart))
    return Section("Self-play", [Figures(drawings)]) if drawings else None


def games_section(games: Sequence[GameRecord]) -> Section | None:
    """Samples for the viewer, with the network that played them."""
    if not games:
        return None
    titles = [f"network after {one.network_version} epochs · {len(one.moves)} moves" for one in games]
    steps = [step_game(record, title) for record, title in zip(games, titles, strict=True)]
    blocks: list[Block] = [GameViewer(games[0].size, steps)]
    return Section("Sample games", blocks)


def _board(title: str, cells: Any, size: int, notes: Mapping[int, CellNote]) -> Drawing:
    return Drawing("board", title, board_svg(cells, size, notes=notes).encode("utf-8"))
