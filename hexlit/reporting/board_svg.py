"""Pictures as SVG: a Hex board with its stones and notes, a game with its moves numbered, and a search tree.

A picture has its own background, so it reads alike on a light and on a dark page. The functions compute the places, and
the templates `*.svg.jinja` write them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isqrt, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from hexlit.hex.board import GameBoard
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.judging import judged_right
from hexlit.hex.notation import format_cell
from hexlit.hex.symmetry import stone_cells
from hexlit.reporting.board import ShownGame, result_of
from hexlit.reporting.page import OpeningsBoard, PositionBoard, filled
from hexlit.reporting.quantities import format_hundredths

SIDE = 22.0
"""Side of a hexagon, in pixels."""
WIDE = SIDE * sqrt(3)
MARGIN = 46.0
RADIUS = 0.74 * SIDE
"""Radius of a stone, in pixels."""
EDGE = 9.0
"""Width of the coloured edges, in pixels."""

PAPER, CELL, GRID, INK, QUIET = "#faf7f0", "#efe6d2", "#b9a987", "#2b2722", "#8a8073"
STONE = {BLACK: "#26242b", WHITE: "#fdfdfb"}
ON_STONE = {BLACK: "#f4f1ea", WHITE: "#26242b"}
LAST, MARK = "#d6453d", "#2e8b57"
DARK = {PAPER: "#4b463c", CELL: "#686051", GRID: "#8a8070", INK: "#f2ecdf", QUIET: "#b9b09d", MARK: "#86e8b4"}
"""Colours of a board, and their counterparts for a dark screen; stones keep theirs."""
SHARE, GOOD, BAD = "#d9541e", "#2c7fb8", "#c8552b"
"""Colours of a share, of a good value for the player to move, and of a bad one."""
LOOK: Mapping[str, Any] = {"PAPER": PAPER, "CELL": CELL, "GRID": GRID, "INK": INK, "QUIET": QUIET, "RADIUS": RADIUS} | {
    "STONE": STONE,
    "ON_STONE": ON_STONE,
    "LAST": LAST,
    "GOOD": GOOD,
    "BAD": BAD,
}
"""The same for the templates."""


@dataclass(frozen=True)
class CellNote:
    """Text, shade and ring of a cell, beside its stone."""

    text: str = ""
    """A few characters in the middle of an empty cell, or in the stone."""
    shade: str = ""
    """Colour on the cell, such as `#d9541e`, with its opacity as two more digits; empty: the colour of the board."""
    ring: str = ""
    """Colour of a ring that points the cell out, such as `MARK`; empty: none."""
    italic: bool = False


def board_svg(
    cells: npt.NDArray[np.int8],
    size: int,
    *,
    notes: Mapping[int, CellNote] | None = None,
    last: int | None = None,
    title: str = "",
    caption: str = "",
) -> str:
    """The picture of a position, a complete SVG document.

    Args:
        cells: int8 `[size*size]`, +1 black, -1 white, 0 empty, row 0 at the top.
        size: side of the board.
        notes: by cell, see `CellNote`.
        last: cell of the last move, whose stone gets a ring.
        title: lines above the board; all but the first are small.
        caption: lines below it.
    """
    above, below = title.splitlines(), caption.splitlines()
    head, foot = 5 + 21 * len(above) if above else 0, 18 * len(below) - 8 if below else 0
    board = places_of(size)
    widths = (24 + len(line) * (6.8 if place else 8.4) for place, line in enumerate([*above, *below]))
    width, height = max(board["width"], *widths, 0), head + board["height"] + foot
    for number, cell in enumerate(board["cells"]):
        note, stone = (notes or {}).get(number, CellNote()), int(cells[number])
        ink = ON_STONE[stone] if stone else ink_on(note.shade)
        rings = [ring for ring in (LAST if number == last else "", note.ring) if ring]
        cell |= {**vars(note), "stone": stone, "ink": ink, "rings": rings, "opacity": opacity(note.shade)}
    return filled("board.svg", board=board, above=above, below=below, head=head, width=width, height=height, look=LOOK)


def moves_svg(moves: Sequence[int], size: int, *, opening: int = 0, title: str = "", caption: str = "") -> str:
    """The position after `moves`, stones numbered, those of the `opening` in italics, a ring around the last.

    After a swap the number 1 stays on the cell of the first stone until another stone takes it.
    """
    cells = stone_cells(moves, size)
    notes = {cell: CellNote(str(ply + 1), italic=ply < opening) for ply, cell in enumerate(cells)}
    board, last = GameBoard(size, swap=True, moves=moves), cells[-1] if cells else None
    return board_svg(board.cells, size, notes=notes, last=last, title=title, caption=caption)


def game_svg(shown: ShownGame) -> str:
    """The picture of the game up to the shown move, a complete SVG document."""
    record, moves, size = shown.record, shown.moves, shown.record.size
    head = f"{record.black or 'Black'} – {record.white or 'White'}"
    head += "\n" + " · ".join([f"{size}×{size}", *shown.facts.values()])
    of = f" of {len(record.moves)}" if shown.ply < len(record.moves) else ""
    foot = f"{shown.ply}{of} moves · {result_of(record)}"
    if size * size in moves[1:2]:
        foot += "\nswap-pieces: " + " → ".join(format_cell(cell, size) for cell in stone_cells(moves, size)[:2])
    return moves_svg(moves, size, opening=record.opening, title=head, caption=foot)


def board_picture(board: OpeningsBoard | PositionBoard) -> tuple[str, str]:
    """The title of a board in a report, and its SVG."""
    if isinstance(board, PositionBoard):
        cells = np.array(board.cells, np.int8)
        shades = value_notes(dict.fromkeys(board.marks, 0.6))
        notes = {cell: CellNote("", note.shade) for cell, note in shades.items()}
        if board.ring is not None:
            notes[board.ring] = replace(notes.get(board.ring, CellNote()), ring=MARK)
        return board.title, board_svg(cells, isqrt(len(cells)), notes=notes)
    values = {cell: 0.75 * value if board.exact else value for cell, value in enumerate(board.values)}
    notes, title = value_notes(values), board.title
    if board.exact:
        notes = {cell: replace(note, text="W" if values[cell] > 0 else "L") for cell, note in notes.items()}
    if board.truth is not None:
        wrong = [cell for cell, value in enumerate(board.values) if not judged_right(value, board.truth[cell])]
        notes |= {cell: replace(notes[cell], ring=MARK) for cell in wrong}
        title += f" ({len(board.values) - len(wrong)} of {len(board.values)} right)"
    empty = np.zeros(len(board.values), np.int8)
    return title, board_svg(empty, isqrt(len(board.values)), notes=notes)


def share_notes(shares: npt.NDArray[np.floating], *, least: float = 0.01) -> dict[int, CellNote]:
    """Notes for shares of the cells such as a policy or visits, `[size*size]`: percents, darker for more.

    Cells below `least` stay unmarked.
    """
    most = max(float(np.max(shares)), 1e-9)
    return {
        cell: CellNote(f"{100 * share:.0f}", tint(SHARE, 0.15 + 0.85 * share / most))
        for cell, share in enumerate(shares.tolist())
        if share >= least
    }


def value_notes(values: Mapping[int, float]) -> dict[int, CellNote]:
    """Notes for values of moves in [-1, 1] as percents with sign: blue wins, red loses, darker when surer."""
    return {
        cell: CellNote(format_hundredths(value), tint(GOOD if value > 0 else BAD, abs(value)))
        for cell, value in values.items()
    }


def places_of(size: int) -> dict[str, Any]:
    """The places of an empty board, whose top left corner is that of the picture, in pixels.

    Its `size`, `width` and `height` with coordinates; `cells`, each with its middle (`x`, `y`) and `corners`; the bands
    of both colours' edges, `black` (top and bottom) and `white` (left and right); and the `names` at the borders.
    """
    last, away, names = size - 1, EDGE + 13, []

    def side(first: int, step: int, *corners: int) -> list[Any]:
        return [_corner(first + step * number, size, corner) for number in range(size) for corner in corners]

    top, bottom = side(0, 1, 5, 0), side(last * size, 1, 3, 2)
    west, east = side(0, size, 5, 4), side(last, size, 1, 2)
    right, left = (np.mean(ends, axis=0) for ends in ((top[-1], east[0]), (bottom[0], west[-1])))  # the sharp corners
    for number in range(size):
        for (x, y), letter, sign in ((top[2 * number + 1], 8, -1), (bottom[2 * number], 0, 1)):
            names.append((x + sign * away / 2, y + sign * away + letter, chr(97 + number)))
        for cell, sign in ((number * size, -1), (number * size + last, 1)):
            x, y = centre(cell, size)
            names.append((x + sign * (WIDE / 2 + away), y + 4.5, str(number + 1)))
    cells: list[dict[str, Any]] = []
    for cell in range(size * size):
        x, y = centre(cell, size)
        corners = _points(_corner(cell, size, corner) for corner in range(6))
        cells.append({"x": x, "y": y, "corners": corners, "shade": ""})
    sides = {"black": ([*top, right], [left, *bottom]), "white": ([*west, left], [right, *east])}
    extent = {"width": 2 * MARGIN + WIDE * (1.5 * size - 0.5), "height": 2 * MARGIN + SIDE * (1.5 * size + 0.5)}
    bands = {colour: list(map(_points, points)) for colour, points in sides.items()}
    return {"size": size, **extent, "cells": cells, "names": names, **bands}


def centre(cell: int, size: int) -> tuple[float, float]:
    """The middle of a cell."""
    row, column = divmod(cell, size)
    return MARGIN + WIDE * (column + row / 2 + 0.5), MARGIN + SIDE * (1.5 * row + 1)


def tint(colour: str, share: float) -> str:
    """A shade of a cell: `colour` with an opacity from 0 to 1."""
    return f"{colour}{round(255 * min(1.0, max(0.0, share))):02x}"


def opacity(shade: str) -> float:
    """The opacity of a shade, from 0 to 1."""
    return int(shade[7:9], 16) / 255 if len(shade) > 7 else 1.0


def for_dark_screens(svg: str) -> str:
    """The same board with `DARK` colours for dark screens; as a document of its own, not inside a notebook."""
    rules = "".join(f'[{key}="{old}"]{{{key}:{new}}}' for old, new in DARK.items() for key in ("fill", "stroke"))
    style = f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"
    return svg.replace("</title>", f"</title>{style}", 1)


def ink_on(shade: str) -> str:
    """The ink that reads on a cell with `shade`, one of the colours above: dark or light."""
    return "#ffffff" if shade and opacity(shade) > 0.8 else INK


def _corner(cell: int, size: int, corner: int) -> tuple[float, float]:
    """A corner of a hexagon, clockwise from its top."""
    x, y = centre(cell, size)
    right, down = ((0, -1), (0.5, -0.5), (0.5, 0.5), (0, 1), (-0.5, 0.5), (-0.5, -0.5))[corner]
    return x + right * WIDE, y + down * SIDE


def _points(points: Iterable[Sequence[float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


_ACROSS, _DOWN = 58.0, 96.0  # from leaf to leaf, and from level to level
_NARROWEST = 460.0


@dataclass
class DrawnNode:
    """A move in the picture of a tree."""

    label: str
    """Name of the move; at the root another word."""
    colour: int
    """`BLACK` or `WHITE`, the player of the move; 0 at the root."""
    visits: int
    value: float
    """Value for the player to move at the root, in [-1, 1]."""
    expected: bool = False
    """Whether it belongs to the expected line of play."""
    children: "list[DrawnNode]" = field(default_factory=list)


def tree_svg(root: DrawnNode, *, title: str = "", caption: str = "") -> str:
    """The picture of the tree, a complete SVG document; the root is at the top."""
    spots: list[dict[str, Any]] = []
    leaves = _place(root, None, 0, spots)
    width = max(80 + _ACROSS * leaves, _NARROWEST, 24 + 8.5 * len(title), 24 + 6.8 * len(caption))
    height, shift = max(spot["y"] for spot in spots) + 130, (width - _ACROSS * leaves) / 2
    for spot in spots:
        node = spot["node"]
        spot |= {"share": node.visits / max(1, root.visits), "value": format_hundredths(node.value)}
    words = {"title": title, "caption": caption}
    return filled("tree.svg", spots=spots, width=width, height=height, shift=shift, look=LOOK, **words)


def _place(node: DrawnNode, above: dict[str, Any] | None, first: int, spots: list[dict[str, Any]]) -> int:
    """Set the places of `node` and all below it, leaves from the number `first` on; returns its number of leaves."""
    spot: dict[str, Any] = {"node": node, "above": above, "y": 10 if above is None else above["y"] + _DOWN}
    spots.append(spot)
    leaves, below = 0, []
    for child in node.children:
        below.append(len(spots))
        leaves += _place(child, spot, first + leaves, spots)
    spot["x"] = (spots[below[0]]["x"] + spots[below[-1]]["x"]) / 2 if below else (first + 0.5) * _ACROSS
    return max(1, leaves)
