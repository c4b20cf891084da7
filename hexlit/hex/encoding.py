"""Input planes of the network, in the mover's frame: the player to move always connects top to
bottom.
"""

import numpy as np

from hexlit.hex.arrays import BoolArray, Int8Array
from hexlit.hex.frame import framed_cell
from hexlit.hex.geometry import Geometry, geometry
from hexlit.hex.jit import uncounted_device_function, uncounted_kernel

PLANES = 5
"""0 the mover's stones, 1 the opponent's stones, 2 the mover's edges (first and last row), 3 the
opponent's edges (first and last column), 4 all ones where the mover may swap.
"""

OWN, OPPONENT, OWN_EDGES, OPPONENT_EDGES, MAY_SWAP = range(PLANES)


def blank_planes(batch: int, size: int) -> Int8Array:
    """Planes of `batch` empty boards, int8 `[B, PLANES, size, size]`, with the edges drawn in."""
    planes = np.zeros((batch, PLANES, size, size), np.int8)
    planes[:, OWN_EDGES, [0, -1], :] = 1
    planes[:, OPPONENT_EDGES, :, [0, -1]] = 1
    return planes


@uncounted_device_function
def write_planes(
    planes: Int8Array,
    row: int,
    cells: Int8Array,
    to_move: int,
    may_swap: bool,
    table: Geometry,
) -> None:
    """Write one position into row `row` of `blank_planes`; the edges stay as they are.

    `cells` int8 `[size*size]` (or more) holds +1 black, -1 white, 0 empty.
    """
    size = table.size
    for r in range(size):
        for c in range(size):
            stone = cells[framed_cell(r, c, to_move, size)]
            planes[row, OWN, r, c] = stone == to_move
            planes[row, OPPONENT, r, c] = stone == -to_move
            planes[row, MAY_SWAP, r, c] = may_swap


@uncounted_kernel
def _write_all(
    planes: Int8Array,
    cells: Int8Array,
    to_move: Int8Array,
    may_swap: BoolArray,
    table: Geometry,
) -> None:
    for row in range(planes.shape[0]):
        write_planes(planes, row, cells[row], to_move[row], may_swap[row], table)


def encode(cells: Int8Array, to_move: Int8Array, may_swap: BoolArray | None = None) -> Int8Array:
    """Planes int8 `[B, PLANES, size, size]` of the positions `cells` int8 `[B, size*size]`.

    `to_move` int8 `[B]` is +1 or -1; `may_swap` bool `[B]` is true if the mover may swap now (None:
    nowhere).
    """
    batch, count = cells.shape
    size = round(count**0.5)
    planes = blank_planes(batch, size)
    swaps = np.zeros(batch, np.bool_) if may_swap is None else may_swap
    _write_all(
        planes, np.ascontiguousarray(cells), np.ascontiguousarray(to_move), swaps, geometry(size)
    )
    return planes
