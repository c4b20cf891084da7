"""Winograd's minimal filtering: the three matrices of each tile size, and which tile suits a board.

A 3x3 convolution of an m x m tile takes (m + 2)^2 products instead of 9 m^2 (Lavin & Gray 2015, "Fast Algorithms for
Convolutional Neural Networks"): `A^T [(G g G^T) * (B^T d B)] A` for a kernel g and an input d of m + 2 a side.
"""

from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

KERNEL = 3
"""Rows and columns of a kernel."""

TILES = (2, 3, 4, 5, 6)
"""Sides m of a tile. Above 6 the rounding of float32 grows too large."""

POINTS = tuple(map(Fraction, ("0", "1", "-1", "2", "-2", "1/2", "-1/2")))
"""Where the polynomials are evaluated; a tile takes the first m + 1 of them, and infinity. Small ones round least."""

Rows = tuple[tuple[Fraction, ...], ...]


class Transforms(NamedTuple):
    """The matrices of one tile size, exact. With t = m + 2:"""

    data: Rows
    """B^T, `[t, t]`."""
    kernel: Rows
    """G, `[t, 3]`."""
    result: Rows
    """A^T, `[m, t]`."""


@cache
def transforms(tile: int) -> Transforms:
    """The matrices by Toom and Cook's scheme for tiles of side `tile`."""
    points = POINTS[: tile + 1]
    data, kernel = [], []
    for point in points:
        others = [other for other in points if other != point]
        scale = Fraction(1)
        for other in others:
            scale *= point - other
        # A sign moved from G to B^T makes rows of opposite points alike, so that their sums can be shared.
        data.append([*_product(others), Fraction(0)])
        kernel.append([point**power / scale for power in range(KERNEL)])
    data.append(_product(points))
    kernel.append([Fraction(0)] * (KERNEL - 1) + [Fraction(1)])
    result = [[*(point**power for point in points), Fraction(int(power == tile - 1))] for power in range(tile)]
    return Transforms(_rows(data), _rows(kernel), _rows(result))


def best_tile(size: int) -> int:
    """The side of the tile that takes the fewest products on boards of `size`, what hangs over the edge included."""
    return min(TILES, key=lambda tile: (products(size, tile), tile))


def products(size: int, tile: int) -> int:
    """Products for each pair of channels on a board of `size`; the plain convolution takes 9 * size^2."""
    return tiles_across(size, tile) ** 2 * (tile + KERNEL - 1) ** 2


def tiles_across(size: int, tile: int) -> int:
    """Tiles in a row of a board."""
    return -(-size // tile)


def transformed_kernels(weight: NDArray[np.float32], tile: int) -> NDArray[np.float32]:
    """`[O, I, 3, 3]` → `[t*t, I, O]`, computed in float64."""
    matrix = np.array(transforms(tile).kernel, dtype=np.float64)
    found = np.einsum("ia,jb,ocab->ijco", matrix, matrix, weight.astype(np.float64), optimize=True)
    return found.reshape(-1, *found.shape[2:]).astype(np.float32)


def _product(roots: tuple[Fraction, ...] | list[Fraction]) -> list[Fraction]:
    """Coefficients of the polynomial with these roots, the constant first."""
    found = [Fraction(1)]
    for root in roots:
        shifted, scaled = [Fraction(0), *found], [*(-root * value for value in found), Fraction(0)]
        found = [a + b for a, b in zip(shifted, scaled, strict=True)]
    return found


def _rows(rows: list[list[Fraction]]) -> Rows:
    return tuple(tuple(row) for row in rows)
