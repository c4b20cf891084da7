"""A layer on a map against torch's convolution in float64: every tile, every edge."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.nn import functional

from hexlit.nets.winograd.forward import Map, Part
from hexlit.nets.winograd.kernels import columns_of, packed
from hexlit.nets.winograd.vectors import LANES, POINTS, SUMS

Floats = NDArray[np.float32]


def filled(made: Map, values: Floats) -> Map:
    """The map with values `[P, C, n, n]`."""
    positions, channels = values.shape[:2]
    cells = made.values.reshape(positions, -1, made.row)
    cells[:, : made.side**2, :channels] = values.reshape(positions, channels, -1).transpose(0, 2, 1)
    return made


def board(made: Map, positions: int, channels: int) -> Floats:
    """`[P, C, n, n]` of a map."""
    cells = made.values.reshape(positions, -1, made.row)[:, : made.side**2, :channels]
    return cells.transpose(0, 2, 1).reshape(positions, channels, made.side, made.side)


def random(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def expected(x: Floats, weight: Floats, bias: Floats) -> Floats:
    """By torch in float64."""
    seen, kernels, offsets = (torch.from_numpy(array).double() for array in (x, weight, bias))
    found: Floats = functional.conv2d(seen, kernels, offsets, padding=weight.shape[2] // 2).numpy()
    return found


@pytest.mark.row("F3")
@pytest.mark.parametrize("tile", [1, *POINTS])
@pytest.mark.parametrize("size", [2, 5, 8])
def test_a_layer_equals_torchs_convolution(size: int, tile: int) -> None:
    kernel, positions, depth, outputs = 3 if tile > 1 else 1, 7, 5, 11
    x, weight, bias = random(positions, depth, size, size), random(outputs, depth, kernel, kernel), random(outputs)
    part, layer = Part(size, positions), packed(weight, bias, tile, 1)
    out = part.board("out", layer.channels)
    part.step(layer, filled(part.board("in", depth), x), out, relu=False)()
    np.testing.assert_allclose(board(out, positions, outputs), expected(x, weight, bias), atol=2e-4)
    outside = out.values.reshape(positions, size**2 + 2, out.row)[:, size**2]
    assert (outside == 0).all()  # the next layer reads it beyond the edge


@pytest.mark.row("F3")
@pytest.mark.parametrize("channels", [1, 2 * LANES, 3 * LANES, 4 * LANES, 5 * LANES])
def test_products_of_every_width(channels: int) -> None:
    positions, columns = SUMS + 1, columns_of([channels])
    x, weight, bias = random(positions, channels, 3, 3), random(channels, channels, 3, 3), random(channels)
    part, layer = Part(3, positions), packed(weight / channels**0.5, bias, 3, columns)
    out = part.board("out", layer.channels)
    part.step(layer, filled(part.board("in", channels), x), out, relu=False)()
    right = expected(x, weight / channels**0.5, bias)
    np.testing.assert_allclose(board(out, positions, channels), right, atol=2e-4)


@pytest.mark.row("F3")
def test_bias_of_each_position_sum_and_relu_come_with_the_result() -> None:
    positions, channels, size = 3, 6, 5
    x, weight = random(positions, channels, size, size), random(channels, channels, 3, 3)
    bias, added = random(positions, channels, 1, 1, seed=1), random(positions, channels, size, size, seed=2)
    part, layer = Part(size, positions), packed(weight, np.zeros(channels, np.float32), 5, 1)
    total = filled(part.board("total", channels), added)
    biases = filled(part.vector("bias", channels), bias)
    part.step(layer, filled(part.board("in", channels), x), total, relu=True, total=total, bias=biases)()
    right = np.maximum(0, expected(x, weight, np.zeros(channels, np.float32)) + bias + added)
    np.testing.assert_allclose(board(total, positions, channels), right, atol=2e-4)


def test_what_is_not_a_number_stays_so() -> None:
    """A network whose weights have diverged must not look like one that judges every position as even."""
    part, layer = Part(4, 1), packed(np.full((2, 2, 3, 3), np.nan, np.float32), np.zeros(2, np.float32), 4, 1)
    out = part.board("out", layer.channels)
    part.step(layer, filled(part.board("in", 2), random(1, 2, 4, 4)), out, relu=True)()
    assert np.isnan(board(out, 1, 2)).all()


def test_mean_and_largest_lie_side_by_side() -> None:
    x = random(4, 3, 5, 5)
    part = Part(5, 4)
    pooled = part.pooled(filled(part.board("in", 3), x), 3)
    pooled.step()
    found = pooled.map.values.reshape(4, -1)
    np.testing.assert_allclose(found[:, :3], x.mean((2, 3)), atol=1e-6)
    np.testing.assert_array_equal(found[:, 3:6], x.max((2, 3)))
    assert (found[:, 6:] == 0).all()
