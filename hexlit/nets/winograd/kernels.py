"""Compiled code of the layers, each for the positions of one thread.

A map holds the features of P positions, channels last: `[P, n*n, row]`, flat. A row is the channels
padded to whole vectors.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hexlit.hex.arrays import FloatArray, Int8Array, Int64Array
from hexlit.hex.jit import kernel
from hexlit.nets.winograd.vectors import (
    KERNEL,
    LANES,
    MOST_COLUMNS,
    SUMS,
    add_products,
    tiles_across,
    transform_data,
    transform_result,
    transforms,
    weighted_sum,
)

Floats = FloatArray

NEAR_BYTES = 2**20
"""Weights of a layer that stay in a core's own cache; larger ones are read once for more tiles."""

MOST_TILES = 2 * SUMS
"""Tiles that are computed together, at most."""


class Layer(NamedTuple):
    """A convolution, or a linear layer seen as one on a single cell, with its weights transformed
    and packed.
    """

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


def packed(weight: Tensor, bias: Tensor, tile: int, columns: int) -> Layer:
    """The layer of weight `[O, I, k, k]` and bias `[O]`, float32 on the CPU."""
    offsets: Floats = stretched(bias, columns * LANES).numpy()
    weights = panels(weight.double(), tile, columns).float().flatten().numpy()
    return Layer(tile, columns, weight.shape[1], offsets.size, weights, offsets)


def stretched(x: Tensor, unit: int) -> Tensor:
    """A copy of `[O, ...]` with zeros up to a multiple of `unit` of O."""
    return functional.pad(x, (0,) * (2 * x.dim() - 1) + (-len(x) % unit,))


def panels(weight: Tensor, tile: int, columns: int, out: Tensor | None = None) -> Tensor:
    """`[O, I, k, k]`, transformed in its own dtype → `[t*t, O / width, I, width]` with O padded, as
    `[t*t, ...]`.
    """
    width = columns * LANES
    if len(weight) % width:
        weight = stretched(weight, width)
    taps = (
        weight.reshape(-1, width, *weight.shape[1:])
        .permute(3, 4, 0, 2, 1)
        .reshape(weight[0, 0].numel(), -1)
    )
    return torch.mm(kernel_matrix(tile, weight.dtype), taps, out=out)


@cache
def kernel_matrix(tile: int, dtype: torch.dtype) -> Tensor:
    """The transform of all cells of a kernel, `[t*t, k*k]`; k is 3, and 1 for tiles of side 1."""
    rows = [list(map(float, row)) for row in transforms(tile).kernel]
    matrix = torch.tensor(rows, dtype=torch.float64)
    return torch.kron(matrix, matrix).to(dtype)


def columns_of(channels: Sequence[int]) -> int:
    """The widest products that waste nothing on maps of these numbers of channels."""
    common = math.gcd(*(padded(count) // LANES for count in channels))
    return max(width for width in range(1, MOST_COLUMNS + 1) if common % width == 0)


def padded(count: int) -> int:
    """`count` rounded up to whole vectors."""
    return -(-count // LANES) * LANES


Places = Int64Array


def parts_of(tile: int) -> int:
    """Products t*t of a tile for each pair of channels; tiles of side 1 serve kernels of one
    cell.
    """
    return (tile + KERNEL - 1) ** 2 if tile > 1 else 1


@cache
def cells_of(side: int, tile: int, row: int, border: int) -> Places:
    """Start of the cells of each tile with `border` around it, tile by tile, negative beyond the
    edge of the board.
    """
    result = []
    across, width = tiles_across(side, tile), tile + 2 * border
    for top in range(across):
        for left in range(across):
            rows, columns = np.ogrid[:width, :width]
            rows, columns = rows + top * tile - border, columns + left * tile - border
            on_board = (rows >= 0) & (rows < side) & (columns >= 0) & (columns < side)
            result.append(np.where(on_board, (rows * side + columns) * row, -1).ravel())
    return np.concatenate(result).astype(np.int64)


@cache
def convolution(tile: int, columns: int) -> Callable[..., None]:
    """The kernel of convolutions by tiles of side `tile` with products `columns` vectors wide.

    Numba takes both numbers as constants.
    """
    parts = parts_of(tile)
    outputs = tile * tile
    rows = SUMS // columns
    width = columns * LANES

    @kernel
    def convolve(
        source: Floats,
        reads: Places,
        depth: int,
        weights: Floats,
        bias: Floats,
        relu: bool,
        adds: bool,
        out: Floats,
        writes: Places,
        data: Floats,
        found: Floats,
        positions: int,
    ) -> None:
        """`out = relu(convolution(source) + bias + out)`; without relu or the earlier `out` where
        these flags are off.

        Tiles are processed in blocks, so that all data between the two transforms stays in the
        cache.

        Args:
            source, out: maps.
            reads: `[tiles * t*t]`, start of each tile's cells in a position of `source`, see
                `cells_of`.
            depth: number of channels I of `source` in use.
            weights: `[t*t, O / width, I, width]`, flat; O is a multiple of `width`.
            bias: `[O]` or `[P, O]`.
            writes: `[tiles * m*m]`, as `reads` for `out`.
            data, found: scratch for MOST_TILES tiles and a vector more in each of the t*t parts.
            positions: P of both maps.
        """
        inputs, channels = -(-depth // LANES) * LANES, weights.size // (parts * depth)
        source_step, out_step = source.size // positions, out.size // positions
        bias_step = bias.size // positions if bias.size > channels else 0
        block = SUMS if weights.nbytes < NEAR_BYTES else MOST_TILES
        data_step, found_step = (
            block * inputs + LANES,
            block * channels + LANES,
        )  # the vector keeps them off one set
        least = np.float32(0) if relu else np.float32(-np.inf)
        tiles = writes.size // outputs
        count = tiles * positions
        for begin in range(0, count, block):
            end = min(count, begin + block)
            for number in range(begin, end):
                position, which = divmod(number, tiles)
                for channel in range(0, inputs, LANES):
                    start, place = (
                        position * source_step + channel,
                        (number - begin) * inputs + channel,
                    )
                    transform_data(
                        tile, False, source, start, reads, which * parts, data, place, data_step
                    )
            for part in range(parts):
                for column in range(0, channels, width):
                    panel = (part * channels + column) * depth
                    for row in range(0, end - begin, rows):
                        x, y = (
                            part * data_step + row * inputs,
                            part * found_step + row * channels + column,
                        )
                        add_products(
                            rows,
                            columns,
                            False,
                            data,
                            x,
                            inputs,
                            1,
                            weights,
                            panel,
                            depth,
                            found,
                            y,
                            channels,
                        )
            for number in range(begin, end):
                position, which = divmod(number, tiles)
                cells = which * outputs
                for channel in range(0, channels, LANES):
                    place, offset = (
                        (number - begin) * channels + channel,
                        position * bias_step + channel,
                    )
                    start = position * out_step + channel
                    if adds:
                        transform_result(
                            tile,
                            True,
                            found,
                            place,
                            found_step,
                            bias,
                            offset,
                            least,
                            out,
                            start,
                            writes,
                            cells,
                        )
                    else:
                        transform_result(
                            tile,
                            False,
                            found,
                            place,
                            found_step,
                            bias,
                            offset,
                            least,
                            out,
                            start,
                            writes,
                            cells,
                        )

    return convolve


@kernel
def spread_planes(planes: Int8Array, out: Floats, out_step: int, row: int) -> None:
    """int8 `[P, planes, n*n]` → a map with one channel per plane."""
    for position in range(planes.shape[0]):
        for plane in range(planes.shape[1]):
            for cell in range(planes.shape[2]):
                out[position * out_step + cell * row + plane] = planes[position, plane, cell]


@kernel
def pool(
    source: Floats, step: int, row: int, cells: int, channels: int, out: Floats, out_step: int
) -> None:
    """Mean and maximum of the first `channels` over the board, concatenated: `[P, 2 * channels]`,
    `out_step` apart.
    """
    for position in range(out.size // out_step):
        mean, start = position * out_step, position * step
        largest = mean + channels
        for channel in range(channels):
            out[mean + channel] = out[largest + channel] = source[start + channel]
        for cell in range(1, cells):
            values = start + cell * row
            for channel in range(channels):
                value = source[values + channel]
                out[mean + channel] += value
                out[largest + channel] = max(out[largest + channel], value)
        for channel in range(channels):
            out[mean + channel] /= np.float32(cells)


@kernel
def add_gated(found: Floats, gates: Floats, bias: Floats, row: int, total: Floats) -> None:
    """`total = relu(total + found * sigmoid(gates) + bias)`, of maps and of `[P, row]`; `gates` is
    overwritten.
    """
    cells = total.size // gates.size
    for gate in range(0, gates.size, row):
        for channel in range(row):
            gates[gate + channel] = 1 / (1 + np.exp(-gates[gate + channel]))
        for cell in range(cells):
            start = gate * cells + cell * row
            for channel in range(row):
                value = (
                    total[start + channel]
                    + found[start + channel] * gates[gate + channel]
                    + bias[gate + channel]
                )
                total[start + channel] = np.float32(0) if value < 0 else value  # NaN stays


@kernel
def answer(
    features: Floats,
    summary: Floats,
    places: tuple[int, int, int],
    cell_weights: Floats,
    value_weights: Floats,
    no_bias: Floats,
    cells_bias: float,
    value_bias: float,
    logits: Floats,
    value: Floats,
) -> None:
    """Policy logits `[P, n*n + 1]` and value logits `[P]`.

    Args:
        features: a map, the input of the policy.
        summary: `[P, row]`, the summary of the whole board: the bias of the policy's features, the
            hidden units of the value and the logit of the swap begin at `places`.
        cell_weights, value_weights: whole vectors, zero beyond the end.
        no_bias: zeros, as many as `value_weights`.
        cells_bias, value_bias: added to each of their logits.
    """
    of_policy, of_value, of_swap = places
    cells = logits.shape[1] - 1
    row = features.size // (value.size * cells)
    for position in range(value.size):
        offset = position * (summary.size // value.size)
        for cell in range(cells):
            start = (position * cells + cell) * row
            logits[position, cell] = cells_bias + weighted_sum(
                features,
                start,
                summary,
                offset + of_policy,
                cell_weights,
                cell_weights.size // LANES,
            )
        logits[position, -1] = summary[offset + of_swap]
        hidden = weighted_sum(
            summary, offset + of_value, no_bias, 0, value_weights, value_weights.size // LANES
        )
        value[position] = value_bias + hidden
