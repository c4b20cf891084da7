"""The results of `hexlit strength`, drawn: opening maps, optimality by simulations, calibration of the value."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from hexlit.reporting.grid import Grid
from hexlit.reporting.openings import draw_openings
from hexlit.reporting.quantities import DASH, format_count, format_share

KINDS = {"games": "positions from games", "random": "random cells"}
"""Kinds of positions in a document, and their names."""

_BAR = 40  # characters of a reliability bar
_WIDE = 116  # columns in which two maps stand beside each other


def print_truth(console: Console, document: Mapping[str, Any]) -> None:
    """Print the document of `measure_truth`, with the command's additions."""
    if not console.is_terminal:
        console.width = max(console.width, _WIDE)
    console.print(Text(headline(document), "bold"), soft_wrap=True)
    console.print()
    levels = document["openings"]["levels"]
    maps = {judged_by(level["simulations"]): level["map"] for level in (levels[0], levels[-1])}
    console.print(opening_maps(maps, document["openings"]["truth"], console.width))
    for grid in grids(document):
        console.print()
        console.print(grid.as_table())
    for kind, levels in document["calibration"].items():
        for level in (levels[0], levels[-1])[: len(levels)]:
            console.print()
            console.print(_reliability(kind, level))


def truth_markdown(document: Mapping[str, Any]) -> str:
    """The tables of the same document as Markdown."""
    return f"{headline(document)}\n\n" + "\n".join(grid.as_markdown() for grid in grids(document))


def headline(document: Mapping[str, Any]) -> str:
    """The subject of the measurement, on one line."""
    size = document["board"]
    return f"{document['checkpoint']} · {size}×{size} · {document['search']['algorithm']} · {document['device']}"


def grids(document: Mapping[str, Any]) -> list[Grid]:
    """The tables of the document."""
    result = [_growth(document)]
    result += [_by_kind_of_position(kind, levels) for kind, levels in document["optimality"].items() if kind == "games"]
    result += [_calibration(kind, levels) for kind, levels in document["calibration"].items()]
    return result + [_origin(kind, positions) for kind, positions in document["positions"].items() if kind == "games"]


def level_name(simulations: int) -> str:
    """`no search`, `64`."""
    return "no search" if simulations == 0 else format_count(simulations)


def interval_text(share: Mapping[str, Any]) -> str:
    """`98.3% (97.2–99.0)`."""
    if share["share"] is None:
        return DASH
    return f"{format_share(share['share'])} ({100 * share['low']:.1f}–{100 * share['high']:.1f})"


def opening_maps(maps: Mapping[str, Sequence[float]], truth: Sequence[bool] | None, width: int) -> RenderableType:
    """Maps of openings by name of the judge, side by side if `width` has room, else below each other."""
    drawn = [Group(Text(f"Openings: {name}", "bold"), draw_openings(judged, truth)) for name, judged in maps.items()]
    if width < _WIDE:
        return Group(*drawn)
    table = Table.grid(padding=(0, 4, 0, 0))
    table.add_row(*drawn)
    return table


def judged_by(simulations: int) -> str:
    """The judge with `simulations` simulations, in words."""
    return "the value alone" if simulations == 0 else f"searched, {simulations:,} simulations"


def _growth(document: Mapping[str, Any]) -> Grid:
    kinds = list(document["optimality"])
    openings = document["openings"]
    rows = []
    for number, level in enumerate(openings["levels"]):
        right = DASH if level["right"] is None else f"{level['right']}/{len(openings['truth'])}"
        shares = [interval_text(document["optimality"][kind][number]["all"]) for kind in kinds]
        rows.append([level_name(level["simulations"]), right, *shares])
    random = [format_share(document["positions"][kind]["random_move"]) for kind in kinds]
    rows.append(["random moves", DASH, *random])
    headings = [f"{KINDS[kind]}: {format_count(document['positions'][kind]['won'])} won" for kind in kinds]
    title = "Optimality: share of won positions in which the move keeps the win (95% interval)"
    return Grid(title, ["simulations", "openings right", *headings], rows)


def _by_kind_of_position(kind: str, levels: list[Mapping[str, Any]]) -> Grid:
    first = levels[0]
    rows = [
        [what, format_count(first[group][what]["count"]), *(interval_text(level[group][what]) for level in levels)]
        for group in ("stages", "sources")
        for what in first[group]
    ]
    title = f"Optimality in {KINDS[kind]}, by the stage of the game and the strength of its players"
    return Grid(title, ["", "won", *(level_name(level["simulations"]) for level in levels)], rows)


def _calibration(kind: str, levels: list[Mapping[str, Any]]) -> Grid:
    won = levels[0]["won"]
    rows = [
        [
            level_name(level["simulations"]),
            f"{level['brier']:.4f}",
            f"{level['log_loss']:.4f}",
            format_share(level["calibration_error"]),
            format_share(level["sign_accuracy"]),
        ]
        for level in levels
    ]
    rows.append([f"constant {won:.2f}", f"{won * (1 - won):.4f}", DASH, "0.0%", format_share(max(won, 1 - won))])
    title = f"Value against the exact result: {format_count(levels[0]['count'])} {KINDS[kind]}, {won:.1%} won"
    return Grid(title, ["simulations", "Brier", "log loss", "calibration error", "right side"], rows)


def _origin(kind: str, positions: Mapping[str, Any]) -> Grid:
    """The origin of the positions: a row per source, a column per stage."""
    by_source: dict[str, list[Mapping[str, Any]]] = {}
    for share in positions["shares"]:
        by_source.setdefault(share["source"], []).append(share)
    stages = [share["stage"] for share in next(iter(by_source.values()))]

    def cell(share: Mapping[str, Any]) -> str:
        if not share["count"]:
            return "0"
        return f"{share['count']} ({format_share(share['share'])}), {share['mean_stones']:.1f} stones"

    rows = [[source, *(cell(share) for share in shares)] for source, shares in by_source.items()]
    title = f"{format_count(positions['count'])} {KINDS[kind]}, {positions['unsolved']} draws passed over as unsolved"
    return Grid(title, ["players", *stages], rows)


def _reliability(kind: str, level: Mapping[str, Any]) -> Text:
    """Bars of the share won, a bin per line, with a mark at the end of a calibrated value's bar."""
    text = Text(f"Reliability: {judged_by(level['simulations'])}, {KINDS[kind]}\n", "bold", no_wrap=True)
    text.append("predicted         positions    won  share won; │ is what was predicted\n", "dim")
    for entry in level["bins"]:
        text.append(f"{entry['low']:.1f} to {entry['high']:.1f}{format_count(entry['count']):>17}  ")
        if entry["count"]:
            text.append(f"{format_share(entry['won']):>6}  ")
            mark = min(_BAR - 1, int(entry["predicted"] * _BAR))
            filled = round(entry["won"] * _BAR)
            for place in range(_BAR):
                if place == mark:
                    text.append("│", "bold red")
                else:
                    text.append("█" if place < filled else "·", "green" if place < filled else "dim")
        text.append("\n")
    text.rstrip()
    return text
