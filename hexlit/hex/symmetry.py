"""The two symmetries of Hex: rotation by 180 degrees, and transpose with exchange of colours.

The mover's frame absorbs the second (see `encoding`), so only rotation is left in it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.frame import frame_action, frame_actions, frame_map
from hexlit.hex.geometry import WHITE, geometry


def rotate_planes(planes: NDArray[Any]) -> NDArray[Any]:
    """Planes `[..., size, size]` turned by 180 degrees (a view)."""
    return planes[..., ::-1, ::-1]


def rotate_policy(policy: NDArray[Any], size: int) -> NDArray[Any]:
    """Policy `[..., A]` of the turned position; a swap action at the end stays where it is."""
    turned: NDArray[Any] = policy[..., geometry(size).rotated[: policy.shape[-1]]]
    return turned


def rotate_moves(moves: NDArray[Any], size: int) -> NDArray[Any]:
    """Moves (cells or the swap) turned by 180 degrees."""
    turned: NDArray[Any] = geometry(size).rotated[moves]
    return turned


def exchange_colours(cells: NDArray[np.int8]) -> NDArray[np.int8]:
    """Boards int8 `[..., size*size]` with rows and columns and the colours exchanged: the same for the other player."""
    size = round(cells.shape[-1] ** 0.5)
    mirrored: NDArray[np.int8] = -frame_map(cells, WHITE, size)
    return mirrored


def exchange_moves(moves: NDArray[Any], size: int) -> NDArray[Any]:
    """Moves (cells or the swap) on the colour-exchanged board."""
    return frame_actions(moves, np.full(moves.shape, WHITE, np.int8), size)


def mirror_cell(cell: int, size: int) -> int:
    """The cell with row and column exchanged, where swap-pieces puts a white stone for the black one on `cell`."""
    return frame_action(cell, WHITE, size)


def stone_cells(moves: Sequence[int], size: int) -> list[int]:
    """The cell of the stone after each move; a swap puts Black's on its mirror image."""
    cells = list(moves)
    if len(cells) > 1 and cells[1] == size**2:
        cells[1] = mirror_cell(cells[0], size)
    return cells
