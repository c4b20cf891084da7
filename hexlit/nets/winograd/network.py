"""The weights of a network for its kernels, and the way of positions through them."""

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from hexlit.hex.encoding import PLANES
from hexlit.nets.blocks import ConvNorm, ResidualBlock
from hexlit.nets.tower import HexNet
from hexlit.nets.winograd.kernels import Floats, add_gated, answer, pool, spread_planes
from hexlit.nets.winograd.layers import Layer, columns_of, packed_conv, packed_linear, packed_pooled, padded, stretched
from hexlit.nets.winograd.maps import Map, Part
from hexlit.nets.winograd.transforms import KERNEL, best_tile
from hexlit.nets.winograd.vectors import LANES


class PackedBlock(NamedTuple):
    """A residual block."""

    layers: list[Layer]
    bias: Layer | None
    gate: tuple[Layer, Layer] | None


class PackedNet:
    """The weights of a `HexNet`, packed for one board size; a snapshot that does not follow the net."""

    def __init__(self, net: HexNet, size: int) -> None:
        config = net.config
        layers = [cast(ConvNorm, layer).conv for layer in cast(ResidualBlock, net.blocks[0]).layers]
        self.size = size
        self.columns = columns_of([layer.out_channels for layer in layers])
        self.tile = best_tile(size, next(layer.out_channels for layer in layers if layer.kernel_size[0] == KERNEL))
        self.stem = packed_conv(net.stem, self.tile, self.columns)
        self.blocks = [self._block(cast(ResidualBlock, block)) for block in net.blocks]
        self.summary = packed_conv(net.summary.layer, self.tile, self.columns)
        self.summarised = config.value_channels
        self.from_summary = packed_pooled([net.policy.bias, net.value.hidden, net.policy.swap], size, self.columns)
        self.policy = packed_conv(net.policy.layer, self.tile, self.columns)
        of_value = padded(config.policy_channels, LANES)
        self.places = (0, of_value, of_value + padded(config.value_hidden, LANES))
        self.cell_weights, self.value_weights = stretched(net.policy.cells.weight[0]), stretched(net.value.last.weight[0])
        self.last = tuple(float(cast(Tensor, layer.bias).detach()) for layer in (net.policy.cells, net.value.last))

    def evaluate(self, part: Part, planes: NDArray[np.int8], logits: Floats, value: Floats) -> None:
        """int8 `[P, 5, n*n]` → policy logits `[P, n*n + 1]` and value logits `[P]`, written."""
        seen, x = part.board("planes", PLANES), part.board("x", self.stem.channels)
        spread_planes(planes, seen.values, seen.step, seen.row)
        part.apply(self.stem, seen, x, relu=True)
        for block in self.blocks:
            self._apply_block(part, block, x)
        found = part.board("summary", self.summary.channels)
        part.apply(self.summary, x, found, relu=True)
        summary = part.vector("from summary", self.from_summary.channels)
        part.apply(self.from_summary, self._pooled(part, found, self.summarised), summary, relu=False)
        features = part.board("policy", self.policy.channels)
        part.apply(self.policy, x, features, relu=False)
        answer(
            features.values,
            features.row,
            features.step,
            summary.values,
            summary.row,
            self.places,
            self.cell_weights,
            self.value_weights,
            self.last,
            logits,
            value,
        )

    def _apply_block(self, part: Part, block: PackedBlock, x: Map) -> None:
        inner = x
        for number, layer in enumerate(block.layers[:-1]):
            y = part.board(f"inner {number}", layer.channels)
            part.apply(layer, inner, y, relu=True)
            inner = y
        bias = None
        if block.bias is not None:
            bias = part.vector("bias", block.bias.channels)
            part.apply(block.bias, self._pooled(part, inner, block.bias.depth // 2), bias, relu=False)
        last = block.layers[-1]
        if block.gate is None:
            part.apply(last, inner, x, relu=True, total=x, bias=bias)
            return
        found = part.board("found", last.channels)
        part.apply(last, inner, found, relu=False)
        squeeze, excite = block.gate
        hidden, gates = part.vector("hidden", squeeze.channels), part.vector("gates", excite.channels)
        part.apply(squeeze, self._pooled(part, found, squeeze.depth), hidden, relu=True)
        part.apply(excite, hidden, gates, relu=False)
        bias = part.vector("no bias", excite.channels) if bias is None else bias
        add_gated(found.values, gates.values, bias.values, x.row, self.size**2, x.step, part.positions, x.values)

    def _pooled(self, part: Part, x: Map, channels: int) -> Map:
        """Mean and largest of the first `channels`, side by side."""
        found = part.vector(f"pooled {channels}", 2 * channels)
        pool(x.values, x.step, x.row, self.size**2, channels, found.values, found.row)
        return found

    def _block(self, block: ResidualBlock) -> PackedBlock:
        layers = [packed_conv(cast(ConvNorm, layer), self.tile, self.columns) for layer in block.layers]
        bias, gate = None, None
        if block.bias is not None:
            # Its bias takes the place of that of the last convolution, and so has it in it.
            bias = packed_pooled([block.bias.linear], self.size, self.columns)
            if block.gate is None:
                bias.bias[:] += layers[-1].bias
        if block.gate is not None:
            gate = (
                packed_linear([block.gate.squeeze], self.columns),
                packed_linear([block.gate.excite], self.columns),
            )
        return PackedBlock(layers, bias, gate)
