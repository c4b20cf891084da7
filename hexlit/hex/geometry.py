"""Tables of one board size: neighbours, cells on the edges, and the two symmetries."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hexlit.hex.arrays import Int8Array, Int16Array
from hexlit.hex.notation import check_size

BLACK, WHITE = 1, -1
"""The players, as the kernels know them. Black moves first and connects top to bottom, White left
to right.
"""

LARGEST_BOARD = 19
"""Most rows of a board that networks, searches and pages take."""

OUTSIDE = 2
"""Content of the one extra cell behind the board: a colour of neither player."""


class Geometry(NamedTuple):
    """Tables of one board size, for compiled code.

    The neighbours of a cell off the board are the extra cell `size * size`, so kernels need no
    bounds checks.
    """

    size: int
    """Rows, and columns."""
    neighbours: Int16Array
    """Cells that touch each cell, `[size*size, 6]`."""
    edges: Int8Array
    """For each colour (0 Black, 1 White) and cell the edges it lies on, `[2, size*size]`: 1 first,
    2 second, 3 both.
    """
    transposed: Int16Array
    """Action with row and column exchanged, `[size*size + 1]`; the swap action, the last, stays
    itself.
    """
    rotated: Int16Array
    """Action turned by 180 degrees, `[size*size + 1]`; the swap action stays itself."""


@lru_cache(maxsize=32)
def geometry(size: int) -> Geometry:
    """The tables of a `size` x `size` board, 2 to 26; built once, read-only."""
    check_size(size)
    cells = size * size
    row, column = np.divmod(np.arange(cells), size)
    neighbours = np.full((cells, 6), cells, np.int16)
    for k, (down, right) in enumerate(((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))):
        r, c = row + down, column + right
        inside = (r >= 0) & (r < size) & (c >= 0) & (c < size)
        neighbours[inside, k] = (r * size + c)[inside]
    edges = np.zeros((2, cells), np.int8)
    for colour, line in enumerate((row, column)):
        edges[colour] = (line == 0) + 2 * (line == size - 1)
    transposed = np.append(column * size + row, cells).astype(np.int16)
    rotated = np.append(np.arange(cells)[::-1], cells).astype(np.int16)
    for table in (neighbours, edges, transposed, rotated):
        table.flags.writeable = False
    return Geometry(size, neighbours, edges, transposed, rotated)
