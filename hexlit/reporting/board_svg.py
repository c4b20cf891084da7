"""A Hex board as SVG: coordinates, edges in the players' colours, stones, and notes that shade and label cells.

The picture has its own background, so it reads alike on a light and on a dark page. `board_svg` draws a whole
picture, and the functions below it draw the parts.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from math import isqrt, sqrt

import numpy as np
import numpy.typing as npt

from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.judging import judged_right
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
    over: Iterable[str] = (),
) -> str:
    """The picture of a position, a complete SVG document.

    Args:
        cells: int8 `[size*size]`, +1 black, -1 white, 0 empty, row 0 at the top.
        size: side of the board.
        notes: by cell, see `CellNote`.
        last: cell of the last move, whose stone gets a ring.
        title: lines above the board; all but the first are small.
        caption: lines below it.
        over: elements on top of the board.
    """
    notes = notes or {}
    above, below = title.splitlines(), caption.splitlines()
    head, foot = 5 + 21 * len(above) if above else 0, 18 * len(below) - 8 if below else 0
    board, board_high = extent(size)
    width = max(
        board, *(24 + len(line) * 0.56 * (12 if place else 15) for place, line in enumerate([*above, *below])), 0
    )
    height = head + board_high + foot
    lines = [
        opening_tag(width, height),
        f"<title>{escape(', '.join(above) or f'Hex board, {size} by {size}')}</title>",
        f"<rect width='100%' height='100%' rx='8' fill='{PAPER}'/>",
    ]
    for place, line in enumerate(above):
        look = (12, QUIET) if place else (15, INK, " font-weight='bold'")
        lines.append(text(width / 2, 26 + 21 * place, line, *look))
    lines.append(f"<g transform='translate({(width - board) / 2:.1f} {head:.1f})'>")
    lines += empty_board(size, {cell: note.shade for cell, note in notes.items() if note.shade})
    for cell in range(size * size):
        note = notes.get(cell, CellNote())
        colour = int(cells[cell])
        if colour:
            lines.append(stone(cell, size, colour))
        if cell == last:
            lines.append(ring(cell, size, LAST))
        if note.ring:
            lines.append(ring(cell, size, note.ring))
        if note.text:
            ink = ON_STONE[colour] if colour else ink_on(note.shade or CELL)
            lines.append(cell_text(cell, size, note.text, ink, " font-style='italic'" * note.italic))
    lines += [*over, "</g>"]
    lines += [text(width / 2, height - 12 - 18 * place, line, 12, INK) for place, line in enumerate(below[::-1])]
    return "\n".join([*lines, "</svg>"]) + "\n"


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
        cell: CellNote(
            format_hundredths(value),
            tint(GOOD if value > 0 else BAD, abs(value)),
        )
        for cell, value in values.items()
    }


def opening_tag(width: float, height: float) -> str:
    """The first line of a picture of `width` by `height` pixels, which shrinks when there is less room."""
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.1f} {height:.1f}' "
        f"width='{width:.0f}' height='{height:.0f}' style='max-width:100%;height:auto' {FONT}>"
    )


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


def stone(cell: int, size: int, colour: int) -> str:
    """A stone of `BLACK` or `WHITE`."""
    x, y = centre(cell, size)
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{RADIUS:.1f}' fill='{STONE[colour]}' stroke='{INK}'/>"


def ring(cell: int, size: int, colour: str) -> str:
    """A ring at the rim of a stone, to point it out."""
    x, y = centre(cell, size)
    look = f"r='{RADIUS - 2.2:.1f}' fill='none' stroke='{colour}' stroke-width='2.4'"
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' {look}/>"


def cell_text(cell: int, size: int, words: str, colour: str, more: str = "") -> str:
    """A few characters in the middle of a cell."""
    x, y = centre(cell, size)
    return text(x, y + 4.4, words, 13 if len(words) < 3 else 11.5, colour, more)


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
        letter = chr(ord("a") + number)
        x, y = _corner(number, size, 0)
        yield text(x - away / 2, y - away + 8, letter, 13, QUIET)
        x, y = _corner((size - 1) * size + number, size, 3)
        yield text(x + away / 2, y + away, letter, 13, QUIET)
        x, y = centre(number * size, size)
        yield text(x - WIDE / 2 - away, y + 4.5, str(number + 1), 13, QUIET)
        x, y = centre(number * size + size - 1, size)
        yield text(x + WIDE / 2 + away, y + 4.5, str(number + 1), 13, QUIET)
