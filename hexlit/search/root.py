"""Positions for the searches without a network: in the mover's frame, each with its own draws."""

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.geometry import Geometry
from hexlit.hex.jit import borrowing_kernel
from hexlit.hex.rng import key


def to_mover(cells: NDArray[np.int8], to_move: int, table: Geometry) -> NDArray[np.int8]:
    """`cells` int8 `[size*size]` in the frame of the player to move: +1 its own stones, its goal top to bottom."""
    return np.where(to_move > 0, cells, -cells[table.transposed[: cells.size]])


@borrowing_kernel
def position_key(own: NDArray[np.int8], seed: int, purpose: int) -> np.uint64:
    """Key of the random draws for one position; they depend only on it and the seed."""
    digest = np.uint64(0)
    for cell in range(own.size):
        digest = digest * np.uint64(3) + np.uint64(own[cell] + 1)
    return key(seed, int(digest), 0, purpose)
