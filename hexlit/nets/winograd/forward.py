"""The network on a CPU by Winograd's convolutions in float32: fewer products than a plain
convolution.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple, cast

import numpy as np
import torch
from numba.core.errors import NumbaError
from torch import Tensor, nn

from hexlit.hex.arrays import Int8Array
from hexlit.hex.encoding import PLANES
from hexlit.hex.jit import over_slices
from hexlit.nets.blocks import ConvNorm, ResidualBlock, size_scale
from hexlit.nets.tower import HexNet
from hexlit.nets.winograd import winograd_obstacle
from hexlit.nets.winograd.kernels import (
    MOST_TILES,
    Floats,
    Layer,
    add_gated,
    answer,
    cells_of,
    columns_of,
    convolution,
    packed,
    padded,
    parts_of,
    pool,
    spread_planes,
    stretched,
)
from hexlit.nets.winograd.vectors import KERNEL, LANES, best_tile

Step = Callable[[], None]
"""A kernel with its arguments."""


class Map(NamedTuple):
    """Features of the positions of one thread, see `kernels`."""

    values: Floats
    side: int
    """Side of the board; 1 for vectors."""
    row: int
    """Channels, padded."""


class Part:
    """The positions of one thread, and the memory of their maps and layers, allocated on first use.

    Args:
        size: board size n.
        positions: positions P.
    """

    def __init__(self, size: int, positions: int) -> None:
        self.size = size
        self.positions = positions
        self._memory: dict[str, Floats] = {}

    def board(self, name: str, channels: int) -> Map:
        """The map of that name with at least `channels` channels."""
        return self._map(name, self.size, channels)

    def vector(self, name: str, channels: int) -> Map:
        """As `board`, without cells: one row for each position."""
        return self._map(name, 1, channels)

    def _map(self, name: str, side: int, channels: int) -> Map:
        row = padded(channels)
        return Map(self.memory(name, self.positions * side**2 * row), side, row)

    def memory(self, name: str, count: int) -> Floats:
        """`count` floats, zeros at first, that begin at a line of the cache; they move only when
        more are asked for.
        """
        if name not in self._memory or self._memory[name].size < count:
            self._memory[name] = torch.zeros(count).numpy()
        return self._memory[name][:count]

    def step(
        self,
        layer: Layer,
        source: Map,
        out: Map,
        *,
        relu: bool,
        adds: bool = False,
        bias: Map | None = None,
    ) -> Step:
        """`out = relu(layer(source))`, with `adds` plus `out`; `bias`, one per position, replaces
        that of the layer.
        """
        parts, border = parts_of(layer.tile), KERNEL // 2 if layer.tile > 1 else 0
        return partial(
            convolution(layer.tile, layer.columns),
            source.values,
            cells_of(source.side, layer.tile, source.row, border),
            layer.depth,
            layer.weights,
            layer.bias if bias is None else bias.values,
            relu,
            adds,
            out.values,
            cells_of(out.side, layer.tile, out.row, 0),
            self.memory("transformed", parts * (MOST_TILES * padded(layer.depth) + LANES)),
            self.memory("products", parts * (MOST_TILES * layer.channels + LANES)),
            self.positions,
        )

    def pooled_steps(
        self, layer: Layer, x: Map, channels: int, out: Map, *, relu: bool
    ) -> list[Step]:
        """`out = relu(layer(mean and maximum of the first `channels` of x, concatenated))`."""
        pooled = self.vector(f"pooled {channels}", 2 * channels)
        cells = self.size**2
        pooling = partial(
            pool, x.values, x.row * cells, x.row, cells, channels, pooled.values, pooled.row
        )
        return [pooling, self.step(layer, pooled, out, relu=relu)]


def packed_conv(layer: ConvNorm, tile: int, columns: int) -> Layer:
    """A convolution and its batch norm; a 1x1 kernel takes tiles of side 1."""
    weight, bias = layer.folded()
    return packed(weight.cpu(), bias.cpu(), tile if weight.shape[2] == KERNEL else 1, columns)


def packed_linear(layers: Sequence[nn.Linear], columns: int, size: int | None = None) -> Layer:
    """Linear layers of one input, concatenated; each begins at a whole vector.

    After `pool_board` on a board of `size` their input is mean and maximum: the weights of the two
    means become one.
    """
    weights, biases = [], []
    for layer in layers:
        weight = layer.weight.detach().float().cpu()
        if size is not None:
            mean, scaled, largest = weight.chunk(3, dim=1)
            weight = torch.cat((mean + size_scale(size) * scaled, largest), 1)
        weights.append(stretched(weight, LANES))
        biases.append(stretched(layer.bias.detach().float().cpu(), LANES))
    return packed(torch.cat(weights)[:, :, None, None], torch.cat(biases), 1, columns)


Evaluate = Callable[[Int8Array, Floats, Floats], None]


class WinogradBlock(NamedTuple):
    """A residual block."""

    layers: list[Layer]
    bias: Layer | None
    gate: tuple[Layer, Layer] | None


NEAR_FLOATS = 2**18
"""Size of a map that stays in a near cache until the next layer reads it; more positions go in
several groups.
"""


class WinogradForward:
    """The network in compiled kernels, one slice of the positions per thread.

    A position's answers depend neither on the threads nor on the other positions. The batch decides
    the size of tiles, and with it the rounding.

    Args:
        net: the network; a snapshot is taken.
        size: board size n.
        batch: positions B in a call.
        threads: CPU threads of a call.

    Raises:
        RuntimeError: this network has a part without a kernel, or Numba cannot compile one here.
    """

    def __init__(self, net: HexNet, size: int, batch: int, threads: int) -> None:
        if obstacle := winograd_obstacle(net):
            raise RuntimeError(obstacle)
        self.size = size
        self.batch = batch
        self.threads = threads
        self.together = max(1, NEAR_FLOATS // (net.config.channels * size**2))
        self.parts: dict[tuple[int, int], Part] = {}
        """Parts by first position and number of positions."""
        self.refresh(net)
        try:  # compiles the kernels that are not in the cache
            self(torch.from_numpy(np.zeros((batch, PLANES, size, size), np.int8)))
        except NumbaError as error:
            raise RuntimeError(f"Numba: {error}") from error

    def __call__(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """As `Forward`."""
        seen = planes.numpy().reshape(self.batch, PLANES, -1)
        logits, value = torch.empty(self.batch, self.size**2 + 1), torch.empty(self.batch)
        filled, judged = logits.numpy(), value.numpy()

        def work(first: int, last: int) -> None:
            groups = -(-(last - first) // self.together)
            for group in range(groups):
                begin, end = (
                    first + (last - first) * edge // groups for edge in (group, group + 1)
                )
                self._evaluator(first, end - begin)(
                    seen[begin:end], filled[begin:end], judged[begin:end]
                )

        over_slices(work, self.batch, self.threads)
        return logits, value

    def refresh(self, net: HexNet) -> None:
        """Transform and pack the weights: milliseconds, tens of them for large networks."""
        layers = [cast(ConvNorm, layer).conv for layer in cast(ResidualBlock, net.blocks[0]).layers]
        self.columns = columns_of([layer.out_channels for layer in layers])
        channels = next(layer.out_channels for layer in layers if layer.kernel_size[0] == KERNEL)
        self.tile = best_tile(self.size, channels, self.batch)
        self.stem = packed_conv(net.stem, self.tile, self.columns)
        self.blocks = [self._block(cast(ResidualBlock, block)) for block in net.blocks]
        self.summary = packed_conv(net.summary.layer, self.tile, self.columns)
        self.policy = packed_conv(net.policy.layer, self.tile, self.columns)
        on_summary = [net.policy.bias, net.value.hidden, net.policy.swap]
        self.from_summary = packed_linear(on_summary, self.columns, self.size)
        cells, value = net.policy.cells, net.value.last
        of_cells, of_hidden = (
            stretched(last.weight.detach().flatten().float().cpu(), LANES).numpy()
            for last in (cells, value)
        )
        places = (0, of_cells.size, of_cells.size + of_hidden.size)
        biases = float(cast(Tensor, cells.bias).detach()), float(value.bias.detach())
        self.last = (places, of_cells, of_hidden, np.zeros_like(of_hidden), *biases)
        self.evaluators: dict[tuple[int, int], Evaluate] = {}

    def _evaluator(self, first: int, positions: int) -> Evaluate:
        """The evaluator of the thread whose slice begins at `first`; it keeps its maps when the
        weights change.
        """
        key = first, positions
        if key not in self.evaluators:
            part = self.parts.setdefault(key, Part(self.size, positions))
            self.evaluators[key] = self._make_evaluator(part)
        return self.evaluators[key]

    def _make_evaluator(self, part: Part) -> Evaluate:
        """Evaluates the positions of `part`: int8 `[P, 5, n*n]` → policy logits `[P, n*n + 1]` and
        value logits `[P]`.

        The arguments of every kernel are collected here, once.
        """
        seen, x = part.board("planes", PLANES), part.board("x", self.stem.channels)
        pooled, features = (
            part.board("pooled", self.summary.channels),
            part.board("policy", self.policy.channels),
        )
        summary = part.vector("summary", self.from_summary.channels)
        steps = [
            part.step(self.stem, seen, x, relu=True),
            *chain.from_iterable(self._block_steps(part, block, x) for block in self.blocks),
            part.step(self.summary, x, pooled, relu=True),
            *part.pooled_steps(
                self.from_summary, pooled, self.from_summary.depth // 2, summary, relu=False
            ),
            part.step(self.policy, x, features, relu=False),
        ]
        judge = partial(answer, features.values, summary.values, *self.last)

        def evaluate(planes: Int8Array, logits: Floats, value: Floats) -> None:
            spread_planes(planes, seen.values, seen.row * self.size**2, seen.row)
            for step in steps:
                step()
            judge(logits, value)

        return evaluate

    def _block_steps(self, part: Part, block: WinogradBlock, x: Map) -> Iterator[Step]:
        inner, bias = x, None
        *layers, last = block.layers
        for number, layer in enumerate(layers):
            source, inner = inner, part.board(f"inner {number}", layer.channels)
            yield part.step(layer, source, inner, relu=True)
        if block.bias is not None:
            bias = part.vector("bias", block.bias.channels)
            yield from part.pooled_steps(block.bias, inner, block.bias.depth // 2, bias, relu=False)
        if block.gate is None:
            yield part.step(last, inner, x, relu=True, adds=True, bias=bias)
            return
        squeeze, excite = block.gate
        found, bias = (
            part.board("found", last.channels),
            bias or part.vector("no bias", excite.channels),
        )
        hidden, gates = (
            part.vector("hidden", squeeze.channels),
            part.vector("gates", excite.channels),
        )
        yield part.step(last, inner, found, relu=False)
        yield from part.pooled_steps(squeeze, found, squeeze.depth, hidden, relu=True)
        yield part.step(excite, hidden, gates, relu=False)
        yield partial(add_gated, found.values, gates.values, bias.values, found.row, x.values)

    def _block(self, block: ResidualBlock) -> WinogradBlock:
        layers = [
            packed_conv(cast(ConvNorm, layer), self.tile, self.columns) for layer in block.layers
        ]
        bias = (
            packed_linear([block.bias.linear], self.columns, self.size)
            if block.bias is not None
            else None
        )
        if block.gate is None:
            if bias is not None:
                bias.bias[:] += layers[-1].bias  # which it replaces
            return WinogradBlock(layers, bias, None)
        squeeze, excite = (
            packed_linear([layer], self.columns)
            for layer in (block.gate.squeeze, block.gate.excite)
        )
        return WinogradBlock(layers, bias, (squeeze, excite))
