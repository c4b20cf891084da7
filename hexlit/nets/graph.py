"""The folded network as a chain of array operators, written once for every runtime that builds its own graph."""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from hexlit.nets.blocks import ConvNorm, ResidualBlock, size_scale
from hexlit.nets.config import BLOCKS
from hexlit.nets.tower import HexNet

Array = NDArray[np.float32]
T = TypeVar("T")


class Operators(Protocol[T]):
    """Operators of a runtime; T is its handle of a node. Every constant is a C-contiguous float32 array."""

    def planes(self) -> T:
        """The input, int8 `[B, 5, n, n]`, as float32."""

    def convolve(self, x: T, weight: Array, bias: Array) -> T:
        """`[B, I, n, n]` by weight `[O, I, k, k]` and bias `[O]`, padded by k // 2 → `[B, O, n, n]`."""

    def activate(self, x: T, name: str) -> T:
        """The activation `net.activation=name`, or `sigmoid`, of every element."""

    def add(self, x: T, y: T) -> T:
        """The sum; `[B, C, 1, 1]` is broadcast to every cell."""

    def multiply(self, x: T, y: T) -> T:
        """The product; `[B, C, 1, 1]` is broadcast to every cell."""

    def mean(self, x: T) -> T:
        """Mean over the board, `[B, C, n, n]` → `[B, C]`."""

    def largest(self, x: T) -> T:
        """Maximum over the board, `[B, C, n, n]` → `[B, C]`."""

    def concatenate(self, x: T, y: T) -> T:
        """`[B, I]` and `[B, J]` → `[B, I + J]`."""

    def connect(self, x: T, weight: Array, bias: Array) -> T:
        """`[B, I]` by weight `[I, O]` and bias `[O]` → `[B, O]`."""

    def flatten(self, x: T) -> T:
        """`[B, C, n, n]` → `[B, C*n*n]`."""

    def spread(self, x: T) -> T:
        """`[B, C]` → `[B, C, 1, 1]`."""


class OpenOperators(Operators[T], Protocol[T]):
    """Operators of a runtime whose graph takes boards of every size."""

    def scale_by_size(self, x: T) -> T:
        """`x` times `size_scale` of the input's board."""


def graph_obstacle(net: HexNet) -> str:
    """Why `net` cannot be written by `Operators`; empty if it can."""
    if net.config.block not in BLOCKS:
        return f"net.block={net.config.block} is not in its graph, {' and '.join(BLOCKS)} are"
    if net.config.attention == "self":
        return f"net.attention={net.config.attention} is not in its graph, none and se are"
    return ""


def write_network(net: HexNet, size: int, to: Operators[T]) -> tuple[T, T]:
    """Write the network with its current weights for boards of `size`.

    Returns:
        Policy logits `[B, n*n + 1]` and value logits `[B, 1]`.

    Raises:
        RuntimeError: the network has a part that `Operators` lacks.
    """
    return _Writer(to, size_scale(size), net.config.activation).network(net)


def write_open_network(net: HexNet, to: OpenOperators[T]) -> tuple[T, T]:
    """As `write_network`, for boards of every size n."""
    return _Writer(to, to.scale_by_size, net.config.activation).network(net)


class _Writer(Generic[T]):
    def __init__(self, to: Operators[T], scale: float | Callable[[T], T], activation: str) -> None:
        """`scale` is the factor of a board's size, or the operator that applies it."""
        self.to = to
        self.scale = scale
        self.activation = activation

    def network(self, net: HexNet) -> tuple[T, T]:
        obstacle = graph_obstacle(net)
        if obstacle:
            raise RuntimeError(obstacle)
        to = self.to
        x = self.activate(self.convolve(to.planes(), net.stem))
        for block in net.blocks:
            x = self.block(cast(ResidualBlock, block), x)
        found = self.activate(self.convolve(x, net.summary.layer))
        bias = to.spread(self.connect_pooled(found, net.policy.bias))
        features = self.activate(to.add(self.convolve(x, net.policy.layer), bias))
        last = net.policy.cells
        cells = to.flatten(to.convolve(features, _array(last.weight), _array(cast(Tensor, last.bias))))
        swap = self.connect_pooled(found, net.policy.swap)
        value = self.connect(self.activate(self.connect_pooled(found, net.value.hidden)), net.value.last)
        return to.concatenate(cells, swap), value

    def block(self, block: ResidualBlock, x: T) -> T:
        to, inner = self.to, x
        for layer in block.layers[:-1]:
            inner = self.activate(self.convolve(inner, cast(ConvNorm, layer)))
        found = self.convolve(inner, cast(ConvNorm, block.layers[-1]))
        if block.gate is not None:
            hidden = self.activate(self.connect(to.mean(found), block.gate.squeeze))
            gate = to.activate(self.connect(hidden, block.gate.excite), "sigmoid")
            found = to.multiply(found, to.spread(gate))
        y = to.add(found, x)
        if block.bias is not None:
            y = to.add(y, to.spread(self.connect_pooled(inner, block.bias.linear)))
        return self.activate(y)

    def activate(self, x: T) -> T:
        return self.to.activate(x, self.activation)

    def convolve(self, x: T, layer: ConvNorm) -> T:
        weight, bias = layer.folded()
        return self.to.convolve(x, _array(weight), _array(bias))

    def connect(self, x: T, layer: nn.Linear) -> T:
        return self.to.connect(x, _array(layer.weight.t()), _array(layer.bias))

    def connect_pooled(self, x: T, layer: nn.Linear) -> T:
        """`layer` after `pool_board`; for one size, the weights of both means become one matrix."""
        to, pooled = self.to, self.to.mean(x)
        if callable(self.scale):
            pooled = to.concatenate(pooled, self.scale(pooled))
            weight = _array(layer.weight.t())
        else:
            mean, scaled, largest = layer.weight.detach().float().t().chunk(3)
            weight = np.concatenate((_array(mean + self.scale * scaled), _array(largest)))
        return to.connect(to.concatenate(pooled, to.largest(x)), weight, _array(layer.bias))


def _array(tensor: Tensor) -> Array:
    """The tensor as float32 in C order, a copy if needed."""
    array: Array = np.ascontiguousarray(tensor.detach().float().cpu().numpy())
    return array
