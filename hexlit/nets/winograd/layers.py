"""Layers with their weights transformed and packed for the kernels."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from hexlit.nets.blocks import ConvNorm, size_scale
from hexlit.nets.winograd.kernels import Floats, parts_of
from hexlit.nets.winograd.transforms import KERNEL, transformed_kernels
from hexlit.nets.winograd.vectors import LANES, MOST_COLUMNS, SUMS

NEAR_BYTES = 2**20
"""Weights of a layer that stay in a core's own cache; larger ones are read once for more tiles."""


class Layer(NamedTuple):
    """A convolution, or a linear layer seen as one on a single cell, with its weights transformed and packed."""

    tile: int
    columns: int
    depth: int
    """Channels I that it reads."""
    channels: int
    """Channels O that it writes, padded."""
    weights: Floats
    """`[t*t, O / width, I, width]`, flat."""
    bias: Floats
    """`[O]`"""

    @property
    def block(self) -> int:
        """Tiles that are computed together."""
        return SUMS if self.weights.nbytes < NEAR_BYTES else 2 * SUMS


def packed(weight: Floats, bias: Floats, tile: int, columns: int) -> Layer:
    """The layer of weight `[O, I, k, k]` and bias `[O]`."""
    width = columns * LANES
    depth, channels = weight.shape[1], padded(len(weight), width)
    parts = np.zeros((parts_of(tile), depth, channels), np.float32)
    parts[:, :, : len(weight)] = transformed_kernels(weight, tile)
    panels = parts.reshape(len(parts), depth, -1, width).transpose(0, 2, 1, 3)
    offsets = aligned(channels)
    offsets[: len(bias)] = bias
    weights = aligned(parts.size)
    weights[:] = panels.ravel()
    return Layer(tile, columns, depth, channels, weights, offsets)


def packed_conv(layer: ConvNorm, tile: int, columns: int) -> Layer:
    """A convolution and its batch norm; a 1x1 kernel takes tiles of side 1."""
    weight, bias = layer.folded()
    return packed(weight.cpu().numpy(), bias.cpu().numpy(), tile if weight.shape[2] == KERNEL else 1, columns)


def packed_linear(layers: Sequence[nn.Linear], columns: int) -> Layer:
    """Linear layers of one input, concatenated; each begins at a whole vector."""
    weights = [stretched(layer.weight) for layer in layers]
    biases = [stretched(layer.bias) for layer in layers]
    return packed(np.concatenate(weights)[:, :, None, None], np.concatenate(biases), 1, columns)


def packed_pooled(layers: Sequence[nn.Linear], size: int, columns: int) -> Layer:
    """Linear layers after `pool_board`, on mean and maximum: the weights of the two means become one."""
    merged = []
    for layer in layers:
        mean, scaled, largest = layer.weight.detach().float().chunk(3, dim=1)
        merged.append(nn.Linear(2 * mean.shape[1], len(mean), device="meta"))
        merged[-1].weight = nn.Parameter(torch.cat((mean + size_scale(size) * scaled, largest), 1), requires_grad=False)
        merged[-1].bias = nn.Parameter(layer.bias.detach(), requires_grad=False)
    return packed_linear(merged, columns)


def stretched(tensor: Tensor) -> Floats:
    """`[O, ...]` with zeros up to whole vectors of O."""
    array: Floats = tensor.detach().float().cpu().numpy()
    return np.concatenate((array, np.zeros((padded(len(array), LANES) - len(array), *array.shape[1:]), np.float32)))


def columns_of(channels: Sequence[int]) -> int:
    """The widest products that waste nothing on maps of these numbers of channels."""
    vectors = [padded(count, LANES) // LANES for count in channels]
    return max(width for width in range(1, MOST_COLUMNS + 1) if all(count % width == 0 for count in vectors))


def padded(count: int, unit: int) -> int:
    """`count` rounded up to a multiple of `unit`."""
    return -(-count // unit) * unit


def aligned(count: int) -> Floats:
    """Zeros that begin at a line of the cache."""
    array: Floats = torch.zeros(count).numpy()
    return array
