"""Training on a CPU by Winograd's convolutions in float32: values and gradients of convolutions of
3x3 cells.
"""

from collections.abc import Callable
from functools import cache, lru_cache, reduce
from threading import get_ident
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.amp import custom_bwd, custom_fwd
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional

from hexlit.hex.jit import kernel, over_slices
from hexlit.nets.blocks import ConvNorm
from hexlit.nets.winograd.forward import Map, Part
from hexlit.nets.winograd.kernels import (
    Floats,
    Layer,
    Places,
    cells_of,
    columns_of,
    kernel_matrix,
    panels,
    parts_of,
)
from hexlit.nets.winograd.vectors import (
    KERNEL,
    LANES,
    SUMS,
    add_products,
    best_tile,
    transform_data,
)

T = TypeVar("T")


def train_by_winograd(net: nn.Module, on: bool) -> None:
    """Train the 3x3 convolutions of `net` this way, or as torch does.

    Parameters, checkpoints and evaluation do not change.
    """
    for layer in net.modules():
        if isinstance(layer, ConvNorm) and layer.conv.kernel_size == (KERNEL, KERNEL):
            layer.conv.__class__ = WinogradConv2d if on else nn.Conv2d


class WinogradConv2d(nn.Conv2d):
    """A convolution of 3x3 cells that keeps the board's size, without bias; as torch's in all but
    training.

    It computes in float32 under `torch.autocast`, too. What its kernels cannot do goes to torch:
    other devices, other dtypes, boards that are not square. Results depend on the inputs, the
    number of threads and the batch, which decides the tiles.
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
    @custom_fwd(device_type="cpu", cast_inputs=torch.float32)  # type: ignore[untyped-decorator]
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        rows = _rows(x)
        ctx.tile = best_tile(x.shape[2], x.shape[1], len(x))
        ctx.save_for_backward(rows, weight)
        return _convolved(rows, weight, ctx.tile)

    @staticmethod
    @once_differentiable
    @custom_bwd(device_type="cpu")  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        x, weight = ctx.saved_tensors
        rows = _rows(gradient)
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = _convolved(rows, weight.flip(2, 3).transpose(0, 1), ctx.tile)
        if ctx.needs_input_grad[1]:
            whole = _weight_gradient(x, rows, ctx.tile)
            grad_weight = whole[: len(weight), : weight.shape[1]]
        return grad_x, grad_weight


def _rows(x: Tensor) -> Tensor:
    """`[B, C, n, n]` → contiguous `[B, n, n, row]`, with the channels padded to whole vectors."""
    rows = x.detach().permute(0, 2, 3, 1)
    missing = -x.shape[1] % LANES
    if missing:
        rows = functional.pad(rows, (0, missing))
    return rows.contiguous()


def _over_parts(work: Callable[[Part, slice], T], x: Tensor) -> list[T]:
    """The results of `work` for slices of the positions of x, one a thread."""

    def on_slice(first: int, last: int) -> T:
        return work(_part(get_ident(), x.shape[1], last - first), slice(first, last))

    return over_slices(on_slice, len(x), torch.get_num_threads())


@lru_cache(16)
def _part(thread: int, size: int, positions: int) -> Part:
    """Kept for its memory: fresh memory in each step would cost as much as the transforms."""
    return Part(size, positions)


def _convolved(x: Tensor, weight: Tensor, tile: int) -> Tensor:
    """`[B, n, n, row]` and `[O, I, 3, 3]` → `[B, O, n, n]`, channels last."""
    outputs, depth = weight.shape[:2]
    columns, channels, parts = columns_of([outputs]), outputs + -outputs % LANES, parts_of(tile)
    weights = _part(get_ident(), x.shape[1], len(x)).memory("weights", parts * depth * channels)
    panels(weight, tile, columns, torch.from_numpy(weights).view(parts, -1))
    layer = Layer(tile, columns, depth, channels, weights, torch.zeros(channels).numpy())
    out = x.new_empty(*x.shape[:3], channels)

    def work(part: Part, at: slice) -> None:
        source, target = (
            Map(rows[at].view(-1).numpy(), part.size, rows.shape[3]) for rows in (x, out)
        )
        part.step(layer, source, target, relu=False)()

    _over_parts(work, x)
    return out[..., :outputs].contiguous().permute(0, 3, 1, 2)


def _weight_gradient(x: Tensor, gradient: Tensor, tile: int) -> Tensor:
    """`[B, n, n, I]` and the gradient of the result, `[B, n, n, O]` → `[O, I, 3, 3]`, I and O whole
    vectors.
    """
    parts, depth, channels = parts_of(tile), x.shape[3], gradient.shape[3]
    add = weight_products(tile, columns_of([channels]))

    def work(part: Part, at: slice) -> Tensor:
        cells = (
            cells_of(part.size, tile, depth, KERNEL // 2),
            cells_of(part.size, tile, channels, 0),
        )
        data = part.memory("data", parts * (BLOCK * depth + LANES))
        found = part.memory("found", parts * (BLOCK * channels + LANES))
        total = torch.zeros(parts, depth, channels)
        add(x[at].numpy(), gradient[at].numpy(), *cells, data, found, total.numpy())
        return total

    total = reduce(torch.add, _over_parts(work, x)).view(parts, -1)
    taps = kernel_matrix(tile, torch.float32).T @ total
    return taps.view(KERNEL, KERNEL, depth, channels).permute(3, 2, 0, 1)


BLOCK = 32
"""Tiles whose products are added to the gradient of the weights at a time: what they need stays in
a core's cache.
"""


@cache
def weight_products(tile: int, columns: int) -> Callable[..., None]:
    """The kernel of the gradient of weights by tiles of side `tile`, with products `columns`
    vectors wide.
    """
    parts, outputs, width = parts_of(tile), tile * tile, columns * LANES
    rows = min(LANES, 1 << ((SUMS // columns).bit_length() - 1))

    @kernel
    def add(
        x: Floats,
        gradient: Floats,
        reads: Places,
        cells: Places,
        data: Floats,
        found: Floats,
        total: Floats,
    ) -> None:
        """Add the transformed gradient of the weights to `total`.

        Args:
            x: `[P, n, n, I]`
            gradient: of the result, `[P, n, n, O]`
            reads, cells: start of the cells of each tile in x and in `gradient`, see `cells_of`.
            data, found: scratch for BLOCK tiles and a vector more in each of the t*t parts.
            total: `[t*t, I, O]`
        """
        depth, channels, tiles = x.shape[3], gradient.shape[3], cells.size // outputs
        data_step, found_step = BLOCK * depth + LANES, BLOCK * channels + LANES
        count = tiles * x.shape[0]
        for begin in range(0, count, BLOCK):
            end = min(count, begin + BLOCK)
            for number in range(begin, end):
                position, which = divmod(number, tiles)
                for channel in range(0, depth, LANES):
                    start = position * (x.size // x.shape[0]) + channel
                    place = (number - begin) * depth + channel
                    transform_data(
                        tile, False, x, start, reads, which * parts, data, place, data_step
                    )
                for channel in range(0, channels, LANES):
                    start = position * (gradient.size // x.shape[0]) + channel
                    panel = channel // width * width
                    place = panel * BLOCK + (number - begin) * width + channel - panel
                    transform_data(
                        tile,
                        True,
                        gradient,
                        start,
                        cells,
                        which * outputs,
                        found,
                        place,
                        found_step,
                    )
            for part in range(parts):
                for column in range(0, channels, width):
                    b = part * found_step + column * BLOCK
                    for row in range(0, depth, rows):
                        a, out = part * data_step + row, (part * depth + row) * channels + column
                        add_products(
                            rows,
                            columns,
                            True,
                            data,
                            a,
                            1,
                            depth,
                            found,
                            b,
                            end - begin,
                            total,
                            out,
                            channels,
                        )

    return add
