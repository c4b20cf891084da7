"""The weights of a network for its kernels, and the forward pass of positions through them."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from hexlit.hex.encoding import PLANES
from hexlit.nets.blocks import ConvNorm, ResidualBlock
from hexlit.nets.tower import HexNet
from hexlit.nets.winograd.kernels import Floats, answer, spread_planes
from hexlit.nets.winograd.layers import Layer, columns_of, packed_conv, packed_linear, packed_pooled, padded, stretched
from hexlit.nets.winograd.maps import Map, Part, Step
from hexlit.nets.winograd.transforms import KERNEL, best_tile
from hexlit.nets.winograd.vectors import LANES

Evaluate = Callable[[NDArray[np.int8], Floats, Floats], None]


class PackedBlock(NamedTuple):
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
        found = part.board("summary", self.summary.channels)
        steps.append(part.step(self.summary, x, found, relu=True))
        pooled = part.pooled(found, self.summarised)
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

    def _block_steps(self, part: Part, block: PackedBlock, x: Map) -> list[Step]:
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
        found = part.board("found", last.channels)
        squeeze, excite = block.gate
        hidden, gates = part.vector("hidden", squeeze.channels), part.vector("gates", excite.channels)
        bias = part.vector("no bias", excite.channels) if bias is None else bias
        pooled = part.pooled(found, squeeze.depth)
        return [
            *steps,
            part.step(last, inner, found, relu=False),
            pooled.step,
            part.step(squeeze, pooled.map, hidden, relu=True),
            part.step(excite, hidden, gates, relu=False),
            part.gated(found, gates, bias, x),
        ]

    def _block(self, block: ResidualBlock) -> PackedBlock:
        layers = [packed_conv(cast(ConvNorm, layer), self.tile, self.columns) for layer in block.layers]
        bias, gate = None, None
        if block.bias is not None:
            # Its bias replaces that of the last convolution, and so includes it.
            bias = packed_pooled([block.bias.linear], self.size, self.columns)
            if block.gate is None:
                bias.bias[:] += layers[-1].bias
        if block.gate is not None:
            gate = (
                packed_linear([block.gate.squeeze], self.columns),
                packed_linear([block.gate.excite], self.columns),
            )
        return PackedBlock(layers, bias, gate)
