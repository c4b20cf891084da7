"""The matrices of minimal filtering, checked against its definition in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from hexlit.nets.winograd.kernels import panels
from hexlit.nets.winograd.vectors import LANES, POINTS, best_tile, transforms


@pytest.mark.parametrize("tile", [1, *POINTS])
def test_the_matrices_give_a_correlation_exactly(tile: int) -> None:
    data, kernel, result = (np.array(rows, dtype=object) for rows in transforms(tile))
    generator = np.random.default_rng(0)
    cells, taps = data.shape[1], kernel.shape[1]
    d = np.array(
        [
            [Fraction(int(value)) for value in row]
            for row in generator.integers(-9, 9, (cells, cells))
        ]
    )
    g = np.array(
        [[Fraction(int(value)) for value in row] for row in generator.integers(-9, 9, (taps, taps))]
    )
    found = result @ ((kernel @ g @ kernel.T) * (data @ d @ data.T)) @ result.T
    expected = [
        [(d[i : i + taps, j : j + taps] * g).sum() for j in range(tile)] for i in range(tile)
    ]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("size", "channels", "tile"), [(5, 32, 5), (7, 32, 4), (11, 64, 4), (11, 128, 6), (2, 64, 2)]
)
def test_the_tile_of_a_board(size: int, channels: int, tile: int) -> None:
    assert best_tile(size, channels, 256) == tile


@pytest.mark.parametrize(("size", "channels"), [(5, 32), (11, 64), (19, 128)])
def test_fewer_positions_take_tiles_with_fewer_weights(size: int, channels: int) -> None:
    tiles = [best_tile(size, channels, batch) for batch in (1, 8, 64, 256)]
    assert tiles == sorted(tiles)
    assert tiles[0] < tiles[-1]


def test_kernels_of_one_cell_are_only_laid_out_anew() -> None:
    weight = torch.arange(6.0).reshape(2, 3, 1, 1)
    result = panels(weight, 1, 1).view(3, LANES)
    torch.testing.assert_close(result[:, :2], weight[:, :, 0, 0].T, rtol=0, atol=0)
    assert not result[:, 2:].any()
