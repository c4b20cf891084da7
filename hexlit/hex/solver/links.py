"""The points of one side's connections, and the short links between them: neighbours and bridges.

A point is an empty cell or a group of stones, named by the bit number of the cell, or of the group's first stone.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hexlit.hex.jit import borrowing_kernel, inline
from hexlit.hex.solver.bitboard import MAX_SIZE, ONE, STRIDE, ZERO, Words, flood, index, lowest, neighbours

Counts = npt.NDArray[np.int64]

POINTS = MAX_SIZE * MAX_SIZE
_LINKS = 48  # of a point; further ones are dropped

# A bridge leads over two cells that both ends touch: (row, column) steps to its end and to those cells.
_BRIDGES = (
    ((-1, -1), ((0, -1), (-1, 0))),
    ((1, 1), ((0, 1), (1, 0))),
    ((-2, 1), ((-1, 0), (-1, 1))),
    ((2, -1), ((1, 0), (1, -1))),
    ((-1, 2), ((-1, 1), (0, 1))),
    ((1, -2), ((1, -1), (0, -1))),
)


class Links(NamedTuple):
    """A board's geometry, and room for the points and links of one side."""

    beside: Words  # [64]: the neighbours of a cell
    bridge_to: Counts  # [64, 6]: the far end of a bridge, -1 off the board
    bridge_over: Words  # [64, 6]: its two cells
    point: Counts  # [64]: the points, groups first
    around: Words  # [64]: the empty cells beside a group
    to: Counts  # [64, 48]: points that a short link leads to
    over: Words  # [64, 48]: its carrier, empty for neighbours
    number: Counts  # [64]: of the links of a point


def new_links(size: int) -> Links:
    """The geometry of a `size`×`size` board."""
    beside = np.zeros(POINTS, np.uint64)
    bridge_to = np.full((POINTS, len(_BRIDGES)), -1, np.int64)
    bridge_over = np.zeros((POINTS, len(_BRIDGES)), np.uint64)
    on_board = {(row, column): row * STRIDE + column for row in range(size) for column in range(size)}
    for (row, column), cell in on_board.items():
        for down, right in ((0, 1), (0, -1), (1, 0), (-1, 0), (-1, 1), (1, -1)):
            other = on_board.get((row + down, column + right))
            beside[cell] |= ZERO if other is None else ONE << np.uint64(other)
        for i, ((down, right), over) in enumerate(_BRIDGES):
            end = on_board.get((row + down, column + right))
            if end is not None:
                bridge_to[cell, i] = end
                bridge_over[cell, i] = sum(1 << on_board[row + down, column + right] for down, right in over)
    return Links(
        beside=beside,
        bridge_to=bridge_to,
        bridge_over=bridge_over,
        point=np.zeros(POINTS, np.int64),
        around=np.zeros(POINTS, np.uint64),
        to=np.zeros((POINTS, _LINKS), np.int64),
        over=np.zeros((POINTS, _LINKS), np.uint64),
        number=np.zeros(POINTS, np.int64),
    )


@inline
def _link(link_to: Counts, link_over: Words, links: Counts, start: int, end: int, over: np.uint64) -> None:
    """A short link in one direction; dropped when the point has no room for it."""
    number = links[start]
    if number < _LINKS:
        link_to[start, number] = end
        link_over[start, number] = over
        links[start] = number + 1


@inline
def _link_over_pairs(link_to: Counts, link_over: Words, links: Counts, start: int, end: int, shared: np.uint64) -> None:
    """Links both ways between points that share the empty cells `shared`, over every two of them."""
    while shared:
        first = lowest(shared)
        shared &= ~first
        rest = shared
        while rest:
            second = lowest(rest)
            rest &= ~second
            _link(link_to, link_over, links, start, end, first | second)
            _link(link_to, link_over, links, end, start, first | second)


@borrowing_kernel
def find_points(stones: np.uint64, empty: np.uint64, found: Links) -> int:
    """List the groups of `stones` and the empty cells, with the short links between them; returns how many."""
    link_to, link_over, links, beside, around = found.to, found.over, found.number, found.beside, found.around
    bridge_to, bridge_over, points = found.bridge_to, found.bridge_over, found.point
    groups = 0
    while stones:
        group = flood(lowest(stones), stones)
        stones &= ~group
        point = index(group)
        points[groups] = point
        around[point] = neighbours(group) & empty
        links[point] = 0
        for i in range(groups):
            other = points[i]
            _link_over_pairs(link_to, link_over, links, point, other, around[point] & around[other])
        groups += 1
    number = groups
    cells = empty
    while cells:
        cell = lowest(cells)
        cells &= ~cell
        point = index(cell)
        points[number] = point
        links[point] = 0
        number += 1
        near = beside[point] & empty
        while near:
            _link(link_to, link_over, links, point, index(near), ZERO)
            near &= ~lowest(near)
        for i in range(bridge_to.shape[1]):
            end, over = bridge_to[point, i], bridge_over[point, i]
            if end >= 0 and (empty >> np.uint64(end)) & ONE and over & ~empty == ZERO:
                _link(link_to, link_over, links, point, end, over)
        for i in range(groups):
            other = points[i]
            if around[other] & cell:
                _link(link_to, link_over, links, point, other, ZERO)
                _link(link_to, link_over, links, other, point, ZERO)
            else:
                _link_over_pairs(link_to, link_over, links, point, other, around[other] & beside[point])
    return number
