"""One game as SVG: the board with coordinates, edges in the players' colours, stones numbered by move, the swap."""

from collections.abc import Iterator
from html import escape
from math import sqrt

from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell
from hexlit.reporting.game import ShownGame, placed, result_of

_SIDE = 22.0  # of a hexagon, in pixels
_WIDE = _SIDE * sqrt(3)
_MARGIN = 46.0
_HEAD = 58.0  # for the names, above the board
_FOOT = 34.0  # for the result, below it
_NARROWEST = 420.0
_EDGE = 9.0  # width of the coloured edges

_PAPER, _CELL, _GRID, _INK, _QUIET = "#faf7f0", "#efe6d2", "#b9a987", "#2b2722", "#8a8073"
_FILL = {BLACK: "#26242b", WHITE: "#fdfdfb"}
_NUMBER = {BLACK: "#f4f1ea", WHITE: "#26242b"}
_LAST = "#d6453d"
_FONT = "font-family='Helvetica, Arial, sans-serif'"


def game_svg(shown: ShownGame) -> str:
    """The picture of the game as far as it is shown, a complete SVG document."""
    size = shown.record.size
    board = 2 * _MARGIN + _WIDE * (1.5 * size - 0.5)
    width = max(board, _NARROWEST)
    height = _HEAD + 2 * _MARGIN + _SIDE * (1.5 * size + 0.5) + _FOOT
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.1f} {height:.1f}' "
        f"width='{width:.0f}' height='{height:.0f}' {_FONT}>",
        f"<title>{escape(f'{_names(shown)}, {result_of(shown.record)}')}</title>",
        f"<rect width='100%' height='100%' fill='{_PAPER}'/>",
        _text(width / 2, 32, _names(shown), 18, _INK, " font-weight='bold'"),
        _text(width / 2, 53, " · ".join([f"{size}×{size}", *shown.facts.values()]), 12, _QUIET),
        f"<g transform='translate({(width - board) / 2:.1f} 0)'>",
        *_edges(size),
        *(_hexagon(cell, size) for cell in range(size * size)),
        *_coordinates(size),
        *_stones(shown),
        "</g>",
        *(_text(width / 2, height - _FOOT + 18 * number, line, 13, _INK) for number, line in enumerate(_foot(shown))),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _centre(cell: int, size: int) -> tuple[float, float]:
    row, column = divmod(cell, size)
    return (
        _MARGIN + _WIDE * (column + row / 2 + 0.5),
        _HEAD + _MARGIN + _SIDE * (1.5 * row + 1),
    )


def _corner(cell: int, size: int, corner: int) -> tuple[float, float]:
    """A corner of a hexagon, clockwise from its top."""
    x, y = _centre(cell, size)
    right, down = ((0, -1), (0.5, -0.5), (0.5, 0.5), (0, 1), (-0.5, 0.5), (-0.5, -0.5))[corner]
    return x + right * _WIDE, y + down * _SIDE


def _points(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _hexagon(cell: int, size: int) -> str:
    corners = _points([_corner(cell, size, corner) for corner in range(6)])
    return f"<polygon points='{corners}' fill='{_CELL}' stroke='{_GRID}' stroke-width='1.2'/>"


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
        yield _band(line, _GRID, 2 * _EDGE + 2.4, "round")  # an outline makes white stand out from the paper
        yield _band(line, _FILL[WHITE], 2 * _EDGE, "round")
    for line in ([*top, right], [left, *bottom]):
        yield _band(line, _FILL[BLACK], 2 * _EDGE, "butt")


def _band(points: list[tuple[float, float]], colour: str, width: float, cap: str) -> str:
    ends = f"stroke-linejoin='round' stroke-linecap='{cap}'"
    return f"<polyline points='{_points(points)}' fill='none' stroke='{colour}' stroke-width='{width:.1f}' {ends}/>"


def _middle(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return (one[0] + other[0]) / 2, (one[1] + other[1]) / 2


def _coordinates(size: int) -> Iterator[str]:
    away = _EDGE + 13
    for number in range(size):
        letter = chr(ord("a") + number)
        x, y = _corner(number, size, 0)
        yield _text(x - away / 2, y - away + 8, letter, 13, _QUIET)
        x, y = _corner((size - 1) * size + number, size, 3)
        yield _text(x + away / 2, y + away, letter, 13, _QUIET)
        x, y = _centre(number * size, size)
        yield _text(x - _WIDE / 2 - away, y + 4.5, str(number + 1), 13, _QUIET)
        x, y = _centre(number * size + size - 1, size)
        yield _text(x + _WIDE / 2 + away, y + 4.5, str(number + 1), 13, _QUIET)


def _stones(shown: ShownGame) -> Iterator[str]:
    size, moves = shown.record.size, shown.moves
    cells = placed(moves, size)
    swapped = size * size in moves[1:2]
    first_gone = swapped and cells[0] != cells[1]
    if first_gone:
        yield from _swap(cells[0], cells[1], size, free=cells[0] not in cells[1:])
    for ply, cell in enumerate(cells):
        if swapped and ply == 0:
            continue
        colour = BLACK if ply % 2 == 0 else WHITE
        x, y = _centre(cell, size)
        radius = 0.74 * _SIDE
        yield f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius:.1f}' fill='{_FILL[colour]}' stroke='{_INK}'/>"
        if ply == len(cells) - 1:
            ring = f"r='{radius - 2.2:.1f}' fill='none' stroke='{_LAST}' stroke-width='2.4'"
            yield f"<circle cx='{x:.1f}' cy='{y:.1f}' {ring}/>"
        weight = " font-style='italic'" if ply < shown.record.opening else ""
        yield _text(x, y + 4.6, str(ply + 1), 13 if ply < 99 else 11, _NUMBER[colour], weight)


def _swap(first: int, mirror: int, size: int, free: bool) -> Iterator[str]:
    """Where Black's first stone was, and the way to White's on the mirror image."""
    (x, y), (to_x, to_y) = _centre(first, size), _centre(mirror, size)
    radius = 0.74 * _SIDE
    if free:
        circle = f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius:.1f}' fill='none'"
        yield f"{circle} stroke='{_INK}' stroke-width='1.4' stroke-dasharray='3 3'/>"
        yield _text(x, y + 4.6, "1", 13, _QUIET)
    length = sqrt((to_x - x) ** 2 + (to_y - y) ** 2)
    right, down = (to_x - x) / length, (to_y - y) / length
    start_x, start_y = x + right * radius, y + down * radius
    tip_x, tip_y = to_x - right * (radius + 1), to_y - down * (radius + 1)
    back_x, back_y = tip_x - 9 * right, tip_y - 9 * down
    if length > 3 * radius:  # stones further apart than neighbours
        line = f"x1='{start_x:.1f}' y1='{start_y:.1f}' x2='{back_x:.1f}' y2='{back_y:.1f}'"
        yield f"<line {line} stroke='{_LAST}' stroke-width='1.8' stroke-dasharray='5 3' opacity='0.8'/>"
    arrow = _points([(tip_x, tip_y), (back_x - 4 * down, back_y + 4 * right), (back_x + 4 * down, back_y - 4 * right)])
    yield f"<polygon points='{arrow}' fill='{_LAST}' opacity='0.8'/>"


def _names(shown: ShownGame) -> str:
    return f"{shown.record.black or 'Black'} – {shown.record.white or 'White'}"


def _foot(shown: ShownGame) -> list[str]:
    record = shown.record
    moves = f"{shown.ply} of {len(record.moves)}" if shown.ply < len(record.moves) else f"{len(record.moves)}"
    lines = [f"{moves} moves · {result_of(record)}"]
    if record.size**2 in shown.moves[1:2]:
        first, mirror = (format_cell(cell, record.size) for cell in placed(shown.moves, record.size)[:2])
        lines.append(f"swap-pieces: {first} → {mirror}")
    return lines


def _text(x: float, y: float, text: str, height: int, colour: str, more: str = "") -> str:
    where = f"x='{x:.1f}' y='{y:.1f}' text-anchor='middle' font-size='{height}' fill='{colour}'{more}"
    return f"<text {where}>{escape(text)}</text>"
