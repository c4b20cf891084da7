"""The network on a CPU by Winograd's convolutions in float32: fewer products than a plain convolution."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, cast

import numpy as np
import torch
from numba.core.errors import NumbaError
from numpy.typing import NDArray
from torch import Tensor

from hexlit.hex.encoding import PLANES
from hexlit.hex.jit import over_slices
from hexlit.nets.blocks import ConvNorm, ResidualBlock
from hexlit.nets.tower import HexNet
from hexlit.nets.winograd import winograd_obstacle
from hexlit.nets.winograd.kernels import (
    Floats,
    Layer,
    add_gated,
    aligned,
    answer,
    cells_of,
    columns_of,
    convolution,
    packed_conv,
    packed_linear,
    packed_pooled,
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

    @property
    def step(self) -> int:
        """Elements for each position."""
        return self.row * self.side**2


class Pooled(NamedTuple):
    """A pooled vector of a board, and the step that computes it."""

    map: Map
    step: Step


class Part:
    """The positions of one thread: their maps, allocated on first use, and the scratch of the layers.

    Args:
        size: board size n.
        positions: positions P.
    """

    def __init__(self, size: int, positions: int) -> None:
        self.size = size
        self.positions = positions
        self._maps: dict[str, Map] = {}
        self._scratches: dict[str, Floats] = {}

    def board(self, name: str, channels: int) -> Map:
        """The map of that name with at least `channels` channels."""
        return self._map(name, self.size, channels)

    def vector(self, name: str, channels: int) -> Map:
        """As `board`, without cells: one row for each position."""
        return self._map(name, 1, channels)

    def _map(self, name: str, side: int, channels: int) -> Map:
        if name not in self._maps:
            shape = Map(aligned(0), side, padded(channels, LANES))
            self._maps[name] = shape._replace(values=aligned(self.positions * shape.step))
        return self._maps[name]

    def step(
        self, layer: Layer, source: Map, out: Map, *, relu: bool, total: Map | None = None, bias: Map | None = None
    ) -> Step:
        """`out = relu(layer(source) + total)`; `bias`, one per position, replaces that of the layer."""
        parts = parts_of(layer.tile)
        return partial(
            convolution(layer.tile, layer.columns),
            source.values,
            source.step,
            cells_of(source.side, layer.tile, source.row, KERNEL // 2 if layer.tile > 1 else 0),
            layer.depth,
            layer.weights,
            layer.bias if bias is None else bias.values,
            0 if bias is None else bias.row,
            relu,
            total is not None,
            out.values if total is None else total.values,
            out.values,
            out.step,
            cells_of(out.side, layer.tile, out.row, 0),
            layer.channels,
            self.scratch("data", parts * (layer.block * padded(layer.depth, LANES) + LANES)),
            self.scratch("found", parts * (layer.block * layer.channels + LANES)),
            layer.block,
            self.positions,
        )

    def pooled(self, x: Map, channels: int) -> Pooled:
        """Mean and maximum of the first `channels` of x, concatenated."""
        result = self.vector(f"pooled {channels}", 2 * channels)
        step = partial(pool, x.values, x.step, x.row, self.size**2, channels, result.values, result.row)
        return Pooled(result, step)

    def gated(self, found: Map, gates: Map, bias: Map, total: Map) -> Step:
        """`total = relu(total + found * sigmoid(gates) + bias)`, where gates and bias are vectors."""
        shape = (found.row, self.size**2, found.step, self.positions)
        return partial(add_gated, found.values, gates.values, bias.values, *shape, total.values)

    def scratch(self, name: str, count: int) -> Floats:
        """At least `count` floats for the use of one step."""
        if name not in self._scratches or self._scratches[name].size < count:
            self._scratches[name] = aligned(count)
        return self._scratches[name]


Evaluate = Callable[[NDArray[np.int8], Floats, Floats], None]


class WinogradBlock(NamedTuple):
    """A residual block."""

    layers: list[Layer]
    bias: Layer | None
    gate: tuple[Layer, Layer] | None


class PackedNet:
    """The weights of a `HexNet`, packed for one board size and batch size; a snapshot that does not follow the net."""

    def __init__(self, net: HexNet, size: int, batch: int) -> None:
        config = net.config
        layers = [cast(ConvNorm, layer).conv for layer in cast(ResidualBlock, net.blocks[0]).layers]
        self.size = size
        self.columns = columns_of([layer.out_channels for layer in layers])
        channels = next(layer.out_channels for layer in layers if layer.kernel_size[0] == KERNEL)
        self.tile = best_tile(size, channels, batch)
        self.stem = packed_conv(net.stem, self.tile, self.columns)
        self.blocks = [self._block(cast(ResidualBlock, block)) for block in net.blocks]
        self.summary = packed_conv(net.summary.layer, self.tile, self.columns)
        self.summarised = config.value_channels
        self.from_summary = packed_pooled([net.policy.bias, net.value.hidden, net.policy.swap], size, self.columns)
        self.policy = packed_conv(net.policy.layer, self.tile, self.columns)
        of_value = padded(config.policy_channels, LANES)
        places = (0, of_value, of_value + padded(config.value_hidden, LANES))
        cells, value = net.policy.cells, net.value.last
        cell_weights, value_weights = stretched(cells.weight[0]).ravel(), stretched(value.weight[0])
        biases = float(cast(Tensor, cells.bias).detach()), float(value.bias.detach())
        self.last = (places, cell_weights, value_weights, np.zeros_like(value_weights), *biases)

    def evaluator(self, part: Part) -> Evaluate:
        """Evaluates the positions of `part`: int8 `[P, 5, n*n]` → policy logits `[P, n*n + 1]` and value logits `[P]`.

        The arguments of every kernel are collected here, once.
        """
        seen, x = part.board("planes", PLANES), part.board("x", self.stem.channels)
        steps = [part.step(self.stem, seen, x, relu=True)]
        for block in self.blocks:
            steps += self._block_steps(part, block, x)
        result = part.board("summary", self.summary.channels)
        steps.append(part.step(self.summary, x, result, relu=True))
        pooled = part.pooled(result, self.summarised)
        summary = part.vector("from summary", self.from_summary.channels)
        steps += [pooled.step, part.step(self.from_summary, pooled.map, summary, relu=False)]
        features = part.board("policy", self.policy.channels)
        steps.append(part.step(self.policy, x, features, relu=False))
        judge = partial(answer, features.values, features.row, features.step, summary.values, summary.row, *self.last)

        def evaluate(planes: NDArray[np.int8], logits: Floats, value: Floats) -> None:
            spread_planes(planes, seen.values, seen.step, seen.row)
            for step in steps:
                step()
            judge(logits, value)

        return evaluate

    def _block_steps(self, part: Part, block: WinogradBlock, x: Map) -> list[Step]:
        steps, inner = [], x
        for number, layer in enumerate(block.layers[:-1]):
            y = part.board(f"inner {number}", layer.channels)
            steps.append(part.step(layer, inner, y, relu=True))
            inner = y
        bias = None
        if block.bias is not None:
            pooled = part.pooled(inner, block.bias.depth // 2)
            bias = part.vector("bias", block.bias.channels)
            steps += [pooled.step, part.step(block.bias, pooled.map, bias, relu=False)]
        last = block.layers[-1]
        if block.gate is None:
            return [*steps, part.step(last, inner, x, relu=True, total=x, bias=bias)]
        result = part.board("found", last.channels)
        squeeze, excite = block.gate
        hidden, gates = part.vector("hidden", squeeze.channels), part.vector("gates", excite.channels)
        bias = part.vector("no bias", excite.channels) if bias is None else bias
        pooled = part.pooled(result, squeeze.depth)
        return [
            *steps,
            part.step(last, inner, result, relu=False),
            pooled.step,
            part.step(squeeze, pooled.map, hidden, relu=True),
            part.step(excite, hidden, gates, relu=False),
            part.gated(result, gates, bias, x),
        ]

    def _block(self, block: ResidualBlock) -> WinogradBlock:
        layers = [packed_conv(cast(ConvNorm, layer), self.tile, self.columns) for layer in block.layers]
        bias = None
        if block.bias is not None:
            # Its bias replaces that of the last convolution, and so includes it.
            bias = packed_pooled([block.bias.linear], self.size, self.columns)
            if block.gate is None:
                bias.bias[:] += layers[-1].bias
        if block.gate is None:
            return WinogradBlock(layers, bias, None)
        squeeze, excite = (packed_linear([layer], self.columns) for layer in (block.gate.squeeze, block.gate.excite))
        return WinogradBlock(layers, bias, (squeeze, excite))


NEAR_FLOATS = 2**18
"""Size of a map that stays in a near cache until the next layer reads it; more positions go in several groups."""


class WinogradForward:
    """The network in compiled kernels, one slice of the positions per thread.

    A position's answers depend neither on the threads nor on the other positions. The batch decides the size of tiles,
    and with it the rounding.

    Args:
        net: the network; a snapshot is taken.
        size: board size n.
        batch: positions B in a call.
        threads: CPU threads of a call.

    Raises:
        RuntimeError: this network has a part without a kernel, or Numba cannot compile one here.
    """

    def __init__(self, net: HexNet, size: int, batch: int, threads: int) -> None:
        obstacle = winograd_obstacle(net)
        if obstacle:
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
                begin, end = (first + (last - first) * edge // groups for edge in (group, group + 1))
                self._evaluator(first, end - begin)(seen[begin:end], filled[begin:end], judged[begin:end])

        over_slices(work, self.batch, self.threads)
        return logits, value

    def refresh(self, net: HexNet) -> None:
        """Transform and pack the weights: milliseconds, tens of them for large networks."""
        self.packed = PackedNet(net, self.size, self.batch)
        self.evaluators: dict[tuple[int, int], Evaluate] = {}

    def _evaluator(self, first: int, positions: int) -> Evaluate:
        """The evaluator of the thread whose slice begins at `first`; it keeps its maps when the weights change."""
        key = first, positions
        if key not in self.evaluators:
            part = self.parts.setdefault(key, Part(self.size, positions))
            self.evaluators[key] = self.packed.evaluator(part)
        return self.evaluators[key]
