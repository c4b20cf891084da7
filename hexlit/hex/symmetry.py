"""The two symmetries of Hex: rotation by 180 degrees, and transpose with exchange of colours.

The mover's frame absorbs the second (see `encoding`), so only rotation is left in it.
"""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from hexlit.hex.arrays import Int8Array
from hexlit.hex.frame import frame_action, frame_map
from hexlit.hex.geometry import WHITE, geometry


def rotate_moves(moves: NDArray[Any], size: int) -> NDArray[Any]:
    """Moves (cells or the swap) turned by 180 degrees."""
    turned: NDArray[Any] = geometry(size).rotated[moves]
    return turned


def exchange_colours(cells: Int8Array) -> Int8Array:
    """Boards int8 `[..., size*size]` with rows and columns and the colours exchanged: the same for
    the other player.
    """
    size = round(cells.shape[-1] ** 0.5)
    mirrored: Int8Array = -frame_map(cells, WHITE, size)
    return mirrored


def mirror_cell(cell: int, size: int) -> int:
    """The cell with row and column exchanged, where swap-pieces puts a white stone for the black
    one on `cell`.
    """
    return frame_action(cell, WHITE, size)


def stone_cells(moves: Sequence[int], size: int) -> list[int]:
    """The cell of the stone after each move; a swap puts Black's on its mirror image."""
    cells = list(moves)
    if len(cells) > 1 and cells[1] == size**2:
        cells[1] = mirror_cell(cells[0], size)
    return cells
