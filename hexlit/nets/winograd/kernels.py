"""Compiled code of the layers, each for the positions of one thread.

A map holds the features of P positions, channels last: `[P, cells, row]`, flat. A row is the channels padded to whole
vectors. Two cells of each position lie outside the board, for tiles that hang over its edge. The first is always zero
and is read there. The second takes results and is never read.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.jit import kernel
from hexlit.nets.winograd.transforms import KERNEL
from hexlit.nets.winograd.vectors import (
    LANES,
    SUMS,
    add_products,
    transform_data,
    transform_result,
    weigh,
)

Floats = NDArray[np.float32]
Places = NDArray[np.int64]


def parts_of(tile: int) -> int:
    """Products t*t of a tile for each pair of channels; tiles of side 1 serve kernels of one cell."""
    return (tile + KERNEL - 1) ** 2 if tile > 1 else 1


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
        source_step: int,
        reads: Places,
        depth: int,
        weights: Floats,
        bias: Floats,
        bias_step: int,
        relu: bool,
        adds: bool,
        total: Floats,
        out: Floats,
        out_step: int,
        writes: Places,
        channels: int,
        data: Floats,
        found: Floats,
        block: int,
        positions: int,
    ) -> None:
        """`out = relu(convolution(source) + bias + total)`; without relu or `total` where these flags are off.

        Tiles are processed in blocks of `block`, so that all data between the two transforms stays in the cache.

        Args:
            source, source_step: a map, and its elements for each position.
            reads: `[tiles * t*t]`, start of each tile's cells in a position of `source`.
            depth: number of channels I of `source` in use.
            weights: `[t*t, O / width, I, width]`, flat.
            bias, bias_step: `[O]` with 0, or `[P, O]` with its elements for each position.
            total, out, out_step: maps; they may be the same.
            writes: `[tiles * m*m]`, as `reads` for `out`.
            channels: O, a multiple of `width`.
            data, found: scratch for `block` tiles and a vector more in each of the t*t parts.
            block: tiles, a multiple of SUMS.
        """
        padded = -(-depth // LANES) * LANES
        data_step, found_step = block * padded + LANES, block * channels + LANES  # the vector keeps them off one set
        least = np.float32(0) if relu else np.float32(-np.inf)
        tiles = writes.size // outputs
        count = tiles * positions
        for begin in range(0, count, block):
            end = min(count, begin + block)
            for number in range(begin, end):
                position, which = divmod(number, tiles)
                for channel in range(0, padded, LANES):
                    start, place = position * source_step + channel, (number - begin) * padded + channel
                    transform_data(tile, source, start, reads, which * parts, data, place, data_step)
            for part in range(parts):
                for column in range(0, channels, width):
                    panel = (part * channels + column) * depth
                    for row in range(0, end - begin, rows):
                        x, y = part * data_step + row * padded, part * found_step + row * channels + column
                        add_products(rows, columns, data, x, padded, weights, panel, depth, found, y, channels)
            for number in range(begin, end):
                position, which = divmod(number, tiles)
                cells = which * outputs
                for channel in range(0, channels, LANES):
                    place, offset = (number - begin) * channels + channel, position * bias_step + channel
                    start = position * out_step + channel
                    if adds:
                        transform_result(
                            tile, True, found, place, found_step, bias, offset, least, total, out, start, writes, cells
                        )
                    else:
                        transform_result(
                            tile, False, found, place, found_step, bias, offset, least, out, out, start, writes, cells
                        )

    return convolve


@kernel
def spread_planes(planes: NDArray[np.int8], out: Floats, out_step: int, row: int) -> None:
    """int8 `[P, planes, n*n]` → a map with one channel per plane."""
    for position in range(planes.shape[0]):
        for plane in range(planes.shape[1]):
            for cell in range(planes.shape[2]):
                out[position * out_step + cell * row + plane] = planes[position, plane, cell]


@kernel
def pool(source: Floats, step: int, row: int, cells: int, channels: int, out: Floats, out_step: int) -> None:
    """Mean and maximum of the first `channels` over the board, concatenated: `[P, 2 * channels]`, `out_step` apart."""
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
def add_gated(
    found: Floats, gates: Floats, bias: Floats, row: int, cells: int, step: int, positions: int, total: Floats
) -> None:
    """`total = relu(total + found * sigmoid(gates) + bias)`, of maps and of `[P, row]`; `gates` is overwritten."""
    for position in range(positions):
        gate = position * row
        for channel in range(row):
            gates[gate + channel] = 1 / (1 + np.exp(-gates[gate + channel]))
        for cell in range(cells):
            start = position * step + cell * row
            for channel in range(row):
                value = total[start + channel] + found[start + channel] * gates[gate + channel] + bias[gate + channel]
                total[start + channel] = np.float32(0) if value < 0 else value  # NaN stays


@kernel
def answer(
    features: Floats,
    row: int,
    step: int,
    summary: Floats,
    summary_row: int,
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
        features, row, step: a map, the input of the policy.
        summary, summary_row: `[P, summary_row]`, the summary of the whole board: the bias of the policy's features, the
            hidden units of the value and the logit of the swap begin at `places`.
        cell_weights, value_weights: whole vectors, zero beyond the end.
        no_bias: zeros, as many as `value_weights`.
        cells_bias, value_bias: added to each of their logits.
    """
    of_policy, of_value, of_swap = places
    for position in range(value.size):
        offset = position * summary_row
        for cell in range(logits.shape[1] - 1):
            start = position * step + cell * row
            logits[position, cell] = cells_bias + weigh(
                features, start, summary, offset + of_policy, cell_weights, cell_weights.size // LANES
            )
        logits[position, -1] = summary[offset + of_swap]
        hidden = weigh(summary, offset + of_value, no_bias, 0, value_weights, value_weights.size // LANES)
        value[position] = value_bias + hidden
