"""One game as SVG: the board with coordinates, edges in the players' colours, stones numbered by move, the swap."""

from collections.abc import Iterator
from math import sqrt

from hexlit.hex.notation import format_cell
from hexlit.hex.symmetry import stone_cells
from hexlit.reporting.board_svg import INK, LAST, QUIET, RADIUS, CellNote, board_svg, centre, text
from hexlit.reporting.game import ShownGame, result_of


def game_svg(shown: ShownGame) -> str:
    """The picture of the game up to the shown move, a complete SVG document."""
    record, moves, size = shown.record, shown.moves, shown.record.size
    cells, swapped = stone_cells(moves, size), size * size in moves[1:2]
    notes = {
        cell: CellNote(str(ply + 1), italic=ply < record.opening)
        for ply, cell in enumerate(cells)
        if ply or not swapped
    }
    head = f"{record.black or 'Black'} – {record.white or 'White'}"
    head += "\n" + " · ".join([f"{size}×{size}", *shown.facts.values()])
    of = f" of {len(record.moves)}" if shown.ply < len(record.moves) else ""
    foot, over = f"{shown.ply}{of} moves · {result_of(record)}", list[str]()
    if swapped:
        first, mirror = (format_cell(cell, size) for cell in cells[:2])
        foot += f"\nswap-pieces: {first} → {mirror}"
        if cells[0] != cells[1]:
            over += _swap(cells[0], cells[1], size, free=cells[0] not in cells[1:])
    return board_svg(shown.board.cells, size, notes=notes, last=shown.last, title=head, caption=foot, over=over)


def _swap(first: int, mirror: int, size: int, free: bool) -> Iterator[str]:
    """The place of Black's first stone, and an arrow to White's on the mirror image."""
    (x, y), (to_x, to_y) = centre(first, size), centre(mirror, size)
    if free:
        circle = f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{RADIUS:.1f}' fill='none'"
        yield f"{circle} stroke='{INK}' stroke-width='1.4' stroke-dasharray='3 3'/>"
        yield text(x, y + 4.4, "1", 13, QUIET)
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
