"""The mover's frame: the board as the player to move sees it, whose goal always runs from top to
bottom.

Black's frame is the board itself. White's is the board with rows and columns exchanged. Exchanging
them twice changes nothing, so each function here leads from the board into the frame of `colour`
(+1 Black, -1 White), and back. All conversions of the package are here.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.arrays import Int8Array
from hexlit.hex.geometry import Geometry, geometry
from hexlit.hex.jit import inline


@inline
def framed(action: int, colour: int, table: Geometry) -> int:
    """`action` (a cell or the swap) in the other frame; for compiled code."""
    return action if colour > 0 else table.transposed[action]


@inline
def framed_cell(row: int, column: int, colour: int, size: int) -> int:
    """The cell at `row` and `column` of the other frame; for compiled code."""
    return row * size + column if colour > 0 else column * size + row


@inline
def mirrored(cell: int, table: Geometry) -> int:
    """The cell with row and column exchanged, where swap-pieces puts the white stone; for compiled
    code.
    """
    image: int = table.transposed[cell]
    return image


def frame_action(action: int, colour: int, size: int) -> int:
    """`action` (a cell or the swap) in the other frame."""
    return action if colour > 0 else int(geometry(size).transposed[action])


def frame_actions(actions: NDArray[Any], colours: Int8Array, size: int) -> NDArray[Any]:
    """`actions` `[B]` in the frames of `colours` `[B]`."""
    return np.where(colours > 0, actions, geometry(size).transposed[actions])


def frame_map(values: NDArray[Any], colour: int, size: int) -> NDArray[Any]:
    """`values` `[..., A]` over actions or cells, such as a policy, in the frame of one `colour`."""
    return values if colour > 0 else values[..., geometry(size).transposed[: values.shape[-1]]]


def frame_maps(values: NDArray[Any], colours: Int8Array, size: int) -> NDArray[Any]:
    """`values` `[B, A]` over actions or cells, each in the frame of its colour `[B]`."""
    return np.where(colours[:, None] > 0, values, frame_map(values, -1, size))


def frame_board(cells: Int8Array, to_move: int, size: int) -> Int8Array:
    """`cells` int8 `[..., size*size]`, +1 black, -1 white, as the mover's own stones (+1) and the
    opponent's (-1).
    """
    return frame_map(cells, to_move, size) * np.int8(to_move)
