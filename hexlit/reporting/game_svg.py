"""One game as SVG: the board with coordinates, edges in the players' colours, stones numbered by move, the swap."""

from collections.abc import Iterator
from html import escape
from math import sqrt

from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell
from hexlit.hex.symmetry import stone_cells
from hexlit.reporting.board_svg import (
    INK,
    LAST,
    ON_STONE,
    PAPER,
    QUIET,
    RADIUS,
    centre,
    empty_board,
    extent,
    opening_tag,
    ring,
    stone,
    text,
)
from hexlit.reporting.game import ShownGame, result_of

_HEAD = 58.0  # for the names, above the board
_FOOT = 34.0  # for the result, below it
_NARROWEST = 420.0


def game_svg(shown: ShownGame) -> str:
    """The picture of the game up to the shown move, a complete SVG document."""
    size = shown.record.size
    board, board_high = extent(size)
    width = max(board, _NARROWEST)
    height = _HEAD + board_high + _FOOT
    lines = [
        opening_tag(width, height),
        f"<title>{escape(f'{_names(shown)}, {result_of(shown.record)}')}</title>",
        f"<rect width='100%' height='100%' rx='8' fill='{PAPER}'/>",
        text(width / 2, 32, _names(shown), 18, INK, " font-weight='bold'"),
        text(width / 2, 53, " · ".join([f"{size}×{size}", *shown.facts.values()]), 12, QUIET),
        f"<g transform='translate({(width - board) / 2:.1f} {_HEAD:.1f})'>",
        *empty_board(size),
        *_stones(shown),
        "</g>",
        *(text(width / 2, height - _FOOT + 18 * number, line, 13, INK) for number, line in enumerate(_foot(shown))),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _stones(shown: ShownGame) -> Iterator[str]:
    size, moves = shown.record.size, shown.moves
    cells = stone_cells(moves, size)
    swapped = size * size in moves[1:2]
    first_gone = swapped and cells[0] != cells[1]
    if first_gone:
        yield from _swap(cells[0], cells[1], size, free=cells[0] not in cells[1:])
    for ply, cell in enumerate(cells):
        if swapped and ply == 0:
            continue
        colour = BLACK if ply % 2 == 0 else WHITE
        yield stone(cell, size, colour)
        if ply == len(cells) - 1:
            yield ring(cell, size, LAST)
        weight = " font-style='italic'" if ply < shown.record.opening else ""
        x, y = centre(cell, size)
        yield text(x, y + 4.6, str(ply + 1), 13 if ply < 99 else 11, ON_STONE[colour], weight)


def _swap(first: int, mirror: int, size: int, free: bool) -> Iterator[str]:
    """The place of Black's first stone, and an arrow to White's on the mirror image."""
    (x, y), (to_x, to_y) = centre(first, size), centre(mirror, size)
    if free:
        circle = f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{RADIUS:.1f}' fill='none'"
        yield f"{circle} stroke='{INK}' stroke-width='1.4' stroke-dasharray='3 3'/>"
        yield text(x, y + 4.6, "1", 13, QUIET)
    length = sqrt((to_x - x) ** 2 + (to_y - y) ** 2)
    right, down = (to_x - x) / length, (to_y - y) / length
    start_x, start_y = x + right * RADIUS, y + down * RADIUS
    tip_x, tip_y = to_x - right * (RADIUS + 1), to_y - down * (RADIUS + 1)
    back_x, back_y = tip_x - 9 * right, tip_y - 9 * down
    if length > 3 * RADIUS:  # stones further apart than neighbours
        line = f"x1='{start_x:.1f}' y1='{start_y:.1f}' x2='{back_x:.1f}' y2='{back_y:.1f}'"
        yield f"<line {line} stroke='{LAST}' stroke-width='1.8' stroke-dasharray='5 3' opacity='0.8'/>"
    corners = [(tip_x, tip_y), (back_x - 4 * down, back_y + 4 * right), (back_x + 4 * down, back_y - 4 * right)]
    arrow = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    yield f"<polygon points='{arrow}' fill='{LAST}' opacity='0.8'/>"


def _names(shown: ShownGame) -> str:
    return f"{shown.record.black or 'Black'} – {shown.record.white or 'White'}"


def _foot(shown: ShownGame) -> list[str]:
    record = shown.record
    moves = f"{shown.ply} of {len(record.moves)}" if shown.ply < len(record.moves) else f"{len(record.moves)}"
    lines = [f"{moves} moves · {result_of(record)}"]
    if record.size**2 in shown.moves[1:2]:
        first, mirror = (format_cell(cell, record.size) for cell in stone_cells(shown.moves, record.size)[:2])
        lines.append(f"swap-pieces: {first} → {mirror}")
    return lines
