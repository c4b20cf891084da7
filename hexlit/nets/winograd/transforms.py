"""Winograd's minimal filtering: the three matrices of each tile size, and the best tile for a board.

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

POINTS = {
    2: "0 1 -1",
    3: "0 1 -1 -1/2",
    4: "0 1/2 -1/2 3/2 -3/2",
    5: "0 1 -1 2 -2 -1/2",
    6: "0 1 -1 2 -2 1/2 -1/2",
}
"""Finite points of evaluation by side of the tile, m + 1 each; infinity is the last. They are small fractions in
pairs of opposite sign, which share sums. They have the least rounding error (against float64 on random layers). The
error of larger tiles is too large for float32."""

WEIGHT = 24
"""Cost of reading a weight from a far cache, in products (measured)."""

Rows = tuple[tuple[Fraction, ...], ...]


class Transforms(NamedTuple):
    """The exact matrices of one tile size; t is m + 2."""

    data: Rows
    """B^T, `[t, t]`."""
    kernel: Rows
    """G, `[t, 3]`."""
    result: Rows
    """A^T, `[m, t]`."""


@cache
def transforms(tile: int) -> Transforms:
    """The matrices by Toom and Cook's scheme for tiles of side `tile`; those of side 1 serve kernels of one cell."""
    if tile == 1:
        one = ((Fraction(1),),)
        return Transforms(one, one, one)
    points = [Fraction(point) for point in POINTS[tile].split()]
    data, kernel = [], []
    for point in points:
        others = [other for other in points if other != point]
        scale = Fraction(1)
        for other in others:
            scale *= point - other
        data.append([*_product(others), Fraction(0)])
        kernel.append([point**power / scale for power in range(KERNEL)])
    data.append(_product(points))
    kernel.append([Fraction(0)] * (KERNEL - 1) + [Fraction(1)])
    result = [[*(point**power for point in points), Fraction(int(power == tile - 1))] for power in range(tile)]
    return Transforms(_rows(data), _rows(kernel), _rows(result))


def best_tile(size: int, channels: int, batch: int) -> int:
    """The side of the tile with the least work on boards of `size`, overhanging tiles included."""
    return min(POINTS, key=lambda tile: work(size, channels, batch, tile))


def work(size: int, channels: int, batch: int, tile: int) -> int:
    """Cost of a call for each output channel, in products; a plain convolution takes `batch * 9 * size^2 * channels`.

    The transforms cost about as much as t*t more channels. Weights are read once in each call: few positions suit
    small tiles, which have fewer weights.
    """
    parts = (tile + KERNEL - 1) ** 2
    return batch * tiles_across(size, tile) ** 2 * parts * (channels + parts) + WEIGHT * parts * channels


def tiles_across(size: int, tile: int) -> int:
    """Tiles in a row of a board."""
    return -(-size // tile)


def transformed_kernels(weight: NDArray[np.float32], tile: int) -> NDArray[np.float32]:
    """`[O, I, k, k]` → `[t*t, I, O]`, computed in float64; k is 3, and 1 for tiles of side 1."""
    matrix = np.array(transforms(tile).kernel, dtype=np.float64)
    taps = weight.transpose(2, 3, 1, 0).reshape(weight.shape[2] * weight.shape[3], -1).astype(np.float64)
    parts: NDArray[np.float32] = (np.kron(matrix, matrix) @ taps).astype(np.float32)
    return parts.reshape(-1, weight.shape[1], weight.shape[0])


def _product(roots: list[Fraction]) -> list[Fraction]:
    """Coefficients of the polynomial with these roots, the constant first."""
    found = [Fraction(1)]
    for root in roots:
        shifted, scaled = [Fraction(0), *found], [*(-root * value for value in found), Fraction(0)]
        found = [a + b for a, b in zip(shifted, scaled, strict=True)]
    return found


def _rows(rows: list[list[Fraction]]) -> Rows:
    return tuple(tuple(row) for row in rows)
