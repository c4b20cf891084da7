"""Pictures as SVG: a Hex board with its stones and notes, a game with its moves numbered, and a search tree.

A picture has its own background, so it reads alike on a light and on a dark page. `board_svg` draws a whole board, and
the functions below it draw the parts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from math import isqrt, sqrt

import numpy as np
import numpy.typing as npt

from hexlit.hex.board import Board
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.judging import judged_right
from hexlit.hex.notation import format_cell
from hexlit.hex.symmetry import stone_cells
from hexlit.reporting.board import ShownGame, result_of
from hexlit.reporting.page import OpeningsBoard, PositionBoard
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
DARK = {PAPER: "#4b463c", CELL: "#686051", GRID: "#8a8070", INK: "#f2ecdf", QUIET: "#b9b09d"}
"""Colours of a board, and their counterparts for a dark screen; stones keep theirs."""
LAST = "#d6453d"
MARK = "#2e8b57"
SHARE, GOOD, BAD = "#d9541e", "#2c7fb8", "#c8552b"
"""Colours of a share, of a good value for the player to move, and of a bad one."""
FONT = "font-family='Helvetica, Arial, sans-serif'"


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
    notes = notes or {}
    above, below = title.splitlines(), caption.splitlines()
    head, foot = 5 + 21 * len(above) if above else 0, 18 * len(below) - 8 if below else 0
    board, board_high = extent(size)
    width = max(board, *(24 + len(line) * (6.8 if place else 8.4) for place, line in enumerate([*above, *below])), 0)
    height = head + board_high + foot
    lines = [*_paper(width, height, ", ".join(above) or f"Hex board, {size} by {size}")]
    for place, line in enumerate(above):
        look = (12, QUIET) if place else (15, INK, " font-weight='bold'")
        lines.append(text(width / 2, 26 + 21 * place, line, *look))
    lines.append(f"<g transform='translate({(width - board) / 2:.1f} {head:.1f})'>")
    lines += empty_board(size, {cell: note.shade for cell, note in notes.items() if note.shade})
    for cell, colour in enumerate(cells.tolist()):
        (x, y), note = centre(cell, size), notes.get(cell, CellNote())
        if colour:
            lines.append(_circle(x, y, RADIUS, STONE[colour], INK, 1))
        rings = (LAST if cell == last else "", note.ring)
        lines += [
            _circle(x, y, RADIUS - 2.2, "none", colour_of_ring, 2.4) for colour_of_ring in rings if colour_of_ring
        ]
        if note.text:
            ink = ON_STONE[colour] if colour else ink_on(note.shade or CELL)
            height_of_text = 13 if len(note.text) < 3 else 11.5
            lines.append(text(x, y + 4.4, note.text, height_of_text, ink, " font-style='italic'" * note.italic))
    lines.append("</g>")
    lines += [text(width / 2, height - 12 - 18 * place, line, 12, INK) for place, line in enumerate(below[::-1])]
    return "\n".join([*lines, "</svg>"]) + "\n"


def moves_svg(moves: Sequence[int], size: int, *, opening: int = 0, title: str = "", caption: str = "") -> str:
    """The position after `moves`, stones numbered, those of the `opening` in italics, a ring around the last.

    After a swap the number 1 stays on the cell of the first stone until another stone takes it.
    """
    cells = stone_cells(moves, size)
    notes = {cell: CellNote(str(ply + 1), italic=ply < opening) for ply, cell in enumerate(cells)}
    board, last = Board(size, swap=True, moves=moves), cells[-1] if cells else None
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


def opening_tag(width: float, height: float) -> str:
    """The first line of a picture of `width` by `height` pixels, which shrinks when there is less room."""
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.1f} {height:.1f}' "
        f"width='{width:.0f}' height='{height:.0f}' style='max-width:100%;height:auto' {FONT}>"
    )


def _paper(width: float, height: float, title: str) -> Iterator[str]:
    yield opening_tag(width, height)
    yield f"<title>{escape(title)}</title>"
    yield f"<rect width='100%' height='100%' rx='8' fill='{PAPER}'/>"


def extent(size: int) -> tuple[float, float]:
    """Width and height of a board with its coordinates, in pixels."""
    return 2 * MARGIN + WIDE * (1.5 * size - 0.5), 2 * MARGIN + SIDE * (1.5 * size + 0.5)


def empty_board(size: int, shades: Mapping[int, str] | None = None) -> Iterator[str]:
    """Edges, cells and coordinates; the board's top left corner is that of the picture."""
    yield from _edges(size)
    for cell in range(size * size):
        corners = _points(_corner(cell, size, corner) for corner in range(6))
        yield f"<polygon points='{corners}' fill='{CELL}' stroke='{GRID}' stroke-width='1.2'/>"
        if shade := (shades or {}).get(cell):
            yield f"<polygon points='{corners}' fill='{shade[:7]}' fill-opacity='{_opacity(shade):.3g}'/>"
    yield from _coordinates(size)


def centre(cell: int, size: int) -> tuple[float, float]:
    """The middle of a cell."""
    row, column = divmod(cell, size)
    return MARGIN + WIDE * (column + row / 2 + 0.5), MARGIN + SIDE * (1.5 * row + 1)


def _circle(x: float, y: float, radius: float, fill: str, stroke: str, thick: float) -> str:
    look = f"fill='{fill}' stroke='{stroke}' stroke-width='{thick:g}'"
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius:.1f}' {look}/>"


def text(x: float, y: float, words: str, height: float, colour: str, more: str = "") -> str:
    """`words` whose middle is at `x` and whose foot is at `y`; `more` are further attributes."""
    where = f"x='{x:.1f}' y='{y:.1f}' text-anchor='middle' font-size='{height:g}' fill='{colour}'{more}"
    return f"<text {where}>{escape(words)}</text>"


def blend(one: str, other: str, share: float) -> str:
    """The colour between `one` (share 0) and `other` (share 1)."""
    parts = zip(_rgb(one), _rgb(other), strict=True)
    mixed = (round(a + (b - a) * min(1.0, max(0.0, share))) for a, b in parts)
    return "#" + "".join(f"{part:02x}" for part in mixed)


def tint(colour: str, share: float) -> str:
    """A shade of a cell: `colour` with an opacity from 0 to 1."""
    return f"{colour}{round(255 * min(1.0, max(0.0, share))):02x}"


def _opacity(shade: str) -> float:
    return int(shade[7:9], 16) / 255 if len(shade) > 7 else 1.0


def for_dark_screens(svg: str) -> str:
    """The same board with `DARK` colours for dark screens; as a document of its own, not inside a notebook."""
    rules = "".join(f'[{key}="{old}"]{{{key}:{new}}}' for old, new in DARK.items() for key in ("fill", "stroke"))
    style = f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"
    return svg.replace("</title>", f"</title>{style}", 1)


def ink_on(shade: str) -> str:
    """The ink that reads on a cell with `shade`: dark or light."""
    red, green, blue = _rgb(blend(CELL, shade, _opacity(shade)))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 135 else "#ffffff"


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _corner(cell: int, size: int, corner: int) -> tuple[float, float]:
    """A corner of a hexagon, clockwise from its top."""
    x, y = centre(cell, size)
    right, down = ((0, -1), (0.5, -0.5), (0.5, 0.5), (0, 1), (-0.5, 0.5), (-0.5, -0.5))[corner]
    return x + right * WIDE, y + down * SIDE


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _edges(size: int) -> Iterator[str]:
    """Bands along the borders, below the cells: Black's at top and bottom, White's at the left and the right."""
    last = size - 1
    right = _middle(_corner(last, size, 0), _corner(last, size, 1))  # of the borders that meet at the sharp corners
    left = _middle(_corner(last * size, size, 3), _corner(last * size, size, 4))
    top = [_corner(column, size, corner) for column in range(size) for corner in (5, 0)]
    bottom = [_corner(last * size + column, size, corner) for column in range(size) for corner in (3, 2)]
    west = [_corner(row * size, size, corner) for row in range(size) for corner in (5, 4)]
    east = [_corner(row * size + last, size, corner) for row in range(size) for corner in (1, 2)]
    for line in ([*west, left], [right, *east]):
        yield _band(line, GRID, 2 * EDGE + 2.4, "round")  # an outline makes white stand out from the paper
        yield _band(line, STONE[WHITE], 2 * EDGE, "round")
    for line in ([*top, right], [left, *bottom]):
        yield _band(line, STONE[BLACK], 2 * EDGE, "butt")


def _band(points: Iterable[tuple[float, float]], colour: str, width: float, cap: str) -> str:
    ends = f"stroke-linejoin='round' stroke-linecap='{cap}'"
    return f"<polyline points='{_points(points)}' fill='none' stroke='{colour}' stroke-width='{width:.1f}' {ends}/>"


def _middle(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return (one[0] + other[0]) / 2, (one[1] + other[1]) / 2


def _coordinates(size: int) -> Iterator[str]:
    away = EDGE + 13
    for number in range(size):
        for row, corner, side in ((0, 0, -1), (size - 1, 3, 1)):
            x, y = _corner(row * size + number, size, corner)
            yield text(x + side * away / 2, y + side * away + (8 if side < 0 else 0), chr(97 + number), 13, QUIET)
        for column, side in ((0, -1), (size - 1, 1)):
            x, y = centre(number * size + column, size)
            yield text(x + side * (WIDE / 2 + away), y + 4.5, str(number + 1), 13, QUIET)


_ACROSS, _DOWN = 58.0, 96.0  # from leaf to leaf, and from level to level
_MARGIN, _HEAD, _FOOT = 40.0, 62.0, 48.0
_LARGEST, _SMALLEST = 19.0, 11.0  # radius of a stone
_NARROWEST = 460.0
_HALO = f" stroke='{PAPER}' stroke-width='4' paint-order='stroke'"  # numbers stand out from the lines behind them


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
    places: dict[int, tuple[float, float]] = {}
    leaves = _place(root, 0, 0, places)
    width = max(2 * _MARGIN + _ACROSS * leaves, _NARROWEST, 24 + 8.5 * len(title), 24 + 6.8 * len(caption))
    height = _HEAD + max(y for _, y in places.values()) - 10 + _FOOT + 30
    shift = (width - _ACROSS * leaves) / 2
    lines = [
        *_paper(width, height, title),
        text(width / 2, 26, title, 15, INK, " font-weight='bold'"),
        f"<g transform='translate({shift:.1f} {_HEAD:.1f})'>",
        *_lines(root, places, root.visits),
        *_stones(root, places, root.visits),
        "</g>",
        text(width / 2, height - 12, caption, 12, QUIET),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _place(node: DrawnNode, depth: int, first: int, places: dict[int, tuple[float, float]]) -> int:
    """Set the places of `node` and all below it, leaves from the number `first` on; returns its number of leaves."""
    leaves, across = 0, (first + 0.5) * _ACROSS
    for child in node.children:
        leaves += _place(child, depth + 1, first + leaves, places)
    if node.children:
        across = sum(places[id(child)][0] for child in (node.children[0], node.children[-1])) / 2
    places[id(node)] = across, 10 + depth * _DOWN
    return max(1, leaves)


def _lines(node: DrawnNode, places: dict[int, tuple[float, float]], most: int) -> Iterator[str]:
    x, y = places[id(node)]
    for child in node.children:
        to_x, to_y = places[id(child)]
        thick = 1 + 9 * child.visits / max(1, most)
        colour = LAST if child.expected else GRID
        middle = (y + to_y) / 2
        path = f"M{x:.1f},{y:.1f} C{x:.1f},{middle:.1f} {to_x:.1f},{middle:.1f} {to_x:.1f},{to_y:.1f}"
        yield f"<path d='{path}' fill='none' stroke='{colour}' stroke-width='{thick:.1f}' opacity='0.75'/>"
        yield from _lines(child, places, most)


def _stones(node: DrawnNode, places: dict[int, tuple[float, float]], most: int) -> Iterator[str]:
    (x, y), radius = places[id(node)], _SMALLEST + (_LARGEST - _SMALLEST) * sqrt(node.visits / max(1, most))
    if node.colour:
        ring = blend(GRID, GOOD if node.value > 0 else BAD, 0.25 + 0.75 * abs(node.value))
        yield _circle(x, y, radius, STONE[node.colour], ring, 4)
        yield text(x, y + 4, node.label, 12 if radius > 13 else 10, ON_STONE[node.colour])
        yield text(x, y + radius + 15, f"{node.visits:,}", 10.5, INK, _HALO)
        yield text(x, y + radius + 27, format_hundredths(node.value), 10.5, ring, f" font-weight='bold'{_HALO}")
    else:
        yield f"<rect x='{x - 54:.1f}' y='{y - 16:.1f}' width='108' height='32' rx='8' fill='{GRID}'/>"
        yield text(x, y + 4.5, node.label, 12, INK)
    for child in node.children:
        yield from _stones(child, places, most)
