"""Training on a CPU by Winograd's convolutions in float32: values and gradients of convolutions of 3x3 cells."""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.amp import custom_bwd, custom_fwd
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional

from hexlit.hex.jit import kernel, over_slices
from hexlit.nets.blocks import ConvNorm
from hexlit.nets.winograd.kernels import (
    NEAR_BYTES,
    Floats,
    Places,
    cells_of,
    columns_of,
    convolution,
    kernel_matrix,
    padded,
    panels,
    parts_of,
)
from hexlit.nets.winograd.vectors import KERNEL, LANES, SUMS, add_products, best_tile, tiles_across, transform_data


def train_by_winograd(net: nn.Module, on: bool) -> None:
    """Train the 3x3 convolutions of `net` this way, or as torch does; parameters and evaluation do not change."""
    for layer in net.modules():
        if isinstance(layer, ConvNorm) and layer.conv.kernel_size == (KERNEL, KERNEL):
            layer.conv.__class__ = WinogradConv2d if on else nn.Conv2d


class WinogradConv2d(nn.Conv2d):
    """A convolution of 3x3 cells that keeps the board's size, without bias; as torch's in all but training.

    It computes in float32 under `torch.autocast`, too.
    """

    def forward(self, x: Tensor) -> Tensor:
        """`[B, I, n, n]` → `[B, O, n, n]`."""
        in_float32 = x.dtype == torch.float32 or torch.is_autocast_enabled("cpu")
        on_board = x.dim() == 4 and x.shape[2] == x.shape[3] and len(x) > 0
        learns = self.training and torch.is_grad_enabled() and self.weight.dtype == torch.float32
        if learns and in_float32 and on_board and x.device.type == "cpu":
            result: Tensor = _Convolution.apply(x, self.weight)  # type: ignore[no-untyped-call]
            return result
        return super().forward(x)


class _Convolution(Function):
    @staticmethod
    @custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        rows = _rows(x)
        ctx.tile = best_tile(x.shape[2], x.shape[1], len(x))
        ctx.save_for_backward(rows, weight)
        return _convolved(rows, weight, ctx.tile)

    @staticmethod
    @once_differentiable
    @custom_bwd(device_type="cpu")
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        rows, weight = ctx.saved_tensors
        of_result = _rows(gradient)
        of_x, of_weight = None, None
        if ctx.needs_input_grad[0]:
            of_x = _convolved(of_result, weight.flip(2, 3).transpose(0, 1), ctx.tile)
        if ctx.needs_input_grad[1]:
            of_weight = _weight_gradient(rows, of_result, ctx.tile)[: len(weight), : weight.shape[1]]
        return of_x, of_weight


def _rows(x: Tensor) -> Tensor:
    """`[B, C, n, n]` → contiguous `[B, n, n, row]`, with the channels padded to whole vectors."""
    rows = x.permute(0, 2, 3, 1)
    if missing := -x.shape[1] % LANES:
        rows = functional.pad(rows, (0, missing))
    return rows.contiguous()


def _convolved(x: Tensor, weight: Tensor, tile: int) -> Tensor:
    """`[B, n, n, row]` and `[O, I, 3, 3]` → `[B, O, n, n]`, channels last."""
    positions, side, _, row = x.shape
    outputs, depth = weight.shape[:2]
    channels = padded(outputs, LANES)
    columns = columns_of([channels])
    out = torch.empty(positions, side, side, channels)
    reads, writes = cells_of(side, tile, row, KERNEL // 2), cells_of(side, tile, channels, 0)
    weights, bias = panels(weight, tile, columns).numpy(), torch.zeros(channels).numpy()
    source, target, step, out_step = x.view(-1).numpy(), out.view(-1).numpy(), side * side * row, side * side * channels
    convolve, block = convolution(tile, columns), SUMS if weights.nbytes < NEAR_BYTES else 2 * SUMS

    def work(first: int, last: int) -> None:
        into = target[first * out_step :]
        convolve(
            source[first * step :],
            step,
            reads,
            depth,
            weights,
            bias,
            0,
            False,
            False,
            into,
            into,
            out_step,
            writes,
            channels,
            _scratch(tile, block, row),
            _scratch(tile, block, channels),
            block,
            last - first,
        )

    over_slices(work, positions, torch.get_num_threads())
    return out[..., :outputs].contiguous().permute(0, 3, 1, 2)


def _weight_gradient(x: Tensor, gradient: Tensor, tile: int) -> Tensor:
    """`[B, n, n, I]` and the gradient of the result, `[B, n, n, O]` → `[O, I, 3, 3]`, I and O whole vectors."""
    positions, side, _, depth = x.shape
    channels = gradient.shape[3]
    reads, cells = cells_of(side, tile, depth, KERNEL // 2), cells_of(side, tile, channels, 0)
    add = weight_products(tile, columns_of([channels]))

    def work(first: int, last: int) -> Tensor:
        total = torch.zeros(parts_of(tile), depth * channels)
        add(
            x[first:last].view(-1).numpy(),
            reads,
            depth,
            gradient[first:last].view(-1).numpy(),
            cells,
            channels,
            _scratch(tile, BLOCK, depth),
            _scratch(tile, BLOCK, channels),
            total.view(-1).numpy(),
            tiles_across(side, tile) ** 2,
            last - first,
        )
        return total

    total = torch.stack(over_slices(work, positions, torch.get_num_threads())).sum(0)
    return (kernel_matrix(tile).float().T @ total).view(KERNEL, KERNEL, depth, channels).permute(3, 2, 0, 1)


BLOCK = 32
"""Tiles whose products are added to the gradient of the weights at a time: what they need stays in a core's cache."""


def _scratch(tile: int, block: int, channels: int) -> Floats:
    array: Floats = torch.empty(parts_of(tile) * (block * channels + LANES)).numpy()
    return array


@cache
def weight_products(tile: int, columns: int) -> Callable[..., None]:
    """The kernel of the gradient of weights by tiles of side `tile`, with products `columns` vectors wide."""
    parts, outputs, width = parts_of(tile), tile * tile, columns * LANES
    rows = min(LANES, 1 << ((SUMS // columns).bit_length() - 1))

    @kernel
    def add(
        x: Floats,
        reads: Places,
        depth: int,
        gradient: Floats,
        cells: Places,
        channels: int,
        data: Floats,
        found: Floats,
        total: Floats,
        tiles: int,
        positions: int,
    ) -> None:
        """Add the transformed gradient of the weights, `[t*t, I, O]`, to `total`.

        Args:
            x, reads, depth: `[P, n*n, I]`, flat, the cells of its tiles, and I.
            gradient, cells, channels: `[P, n*n, O]`, flat, the gradient of the result, the cells of its tiles, and O.
            data, found: scratch for BLOCK tiles and a vector more in each of the t*t parts.
            tiles: tiles of a position.
        """
        data_step, found_step = BLOCK * depth + LANES, BLOCK * channels + LANES
        count = tiles * positions
        x_step, gradient_step = x.size // positions, gradient.size // positions
        for begin in range(0, count, BLOCK):
            end = min(count, begin + BLOCK)
            for number in range(begin, end):
                position, which = divmod(number, tiles)
                for channel in range(0, depth, LANES):
                    start, place = position * x_step + channel, (number - begin) * depth + channel
                    transform_data(tile, False, x, start, reads, which * parts, data, place, data_step)
                for channel in range(0, channels, LANES):
                    start, panel = position * gradient_step + channel, channel // width * width
                    place = panel * BLOCK + (number - begin) * width + channel - panel
                    transform_data(tile, True, gradient, start, cells, which * outputs, found, place, found_step)
            for part in range(parts):
                for column in range(0, channels, width):
                    b = part * found_step + column * BLOCK
                    for row in range(0, depth, rows):
                        a, out = part * data_step + row, (part * depth + row) * channels + column
                        add_products(
                            rows, columns, True, data, a, 1, depth, found, b, end - begin, total, out, channels
                        )

    return add
