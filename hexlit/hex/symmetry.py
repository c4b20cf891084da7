"""The two symmetries of Hex: rotation by 180 degrees, and transpose with exchange of colours.

The mover's frame absorbs the second (see `encoding`), so only rotation is left in it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.geometry import geometry


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
    mirrored: NDArray[np.int8] = -cells[..., geometry(size).transposed[:-1]]
    return mirrored


def exchange_moves(moves: NDArray[Any], size: int) -> NDArray[Any]:
    """Moves (cells or the swap) on the colour-exchanged board."""
    mirrored: NDArray[Any] = geometry(size).transposed[moves]
    return mirrored
