"""The maps of one thread: input and output of its layers."""

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from hexlit.nets.winograd.kernels import Floats, Places, add_gated, convolution, parts_of, pool
from hexlit.nets.winograd.layers import Layer, aligned, padded
from hexlit.nets.winograd.transforms import KERNEL, tiles_across
from hexlit.nets.winograd.vectors import LANES

Step = Callable[[], None]
"""A kernel with its arguments."""

OUTSIDE = 2
"""Cells of a map outside the board."""


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
        return self.row * (1 if self.side == 1 else self.side**2 + OUTSIDE)


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
        self._scratches = {"data": aligned(0), "found": aligned(0)}

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
            cells_read(source.side, layer.tile, source.row),
            layer.depth,
            layer.weights,
            layer.bias if bias is None else bias.values,
            0 if bias is None else bias.row,
            relu,
            total is not None,
            out.values if total is None else total.values,
            out.values,
            out.step,
            cells_written(out.side, layer.tile, out.row),
            layer.channels,
            self._scratch("data", parts * (layer.block * padded(layer.depth, LANES) + LANES)),
            self._scratch("found", parts * (layer.block * layer.channels + LANES)),
            layer.block,
            self.positions,
        )

    def pooled(self, x: Map, channels: int) -> Pooled:
        """Mean and maximum of the first `channels` of x, concatenated."""
        found = self.vector(f"pooled {channels}", 2 * channels)
        step = partial(pool, x.values, x.step, x.row, self.size**2, channels, found.values, found.row)
        return Pooled(found, step)

    def gated(self, found: Map, gates: Map, bias: Map, total: Map) -> Step:
        """`total = relu(total + found * sigmoid(gates) + bias)`, where gates and bias are vectors."""
        shape = (found.row, self.size**2, found.step, self.positions)
        return partial(add_gated, found.values, gates.values, bias.values, *shape, total.values)

    def _scratch(self, name: str, count: int) -> Floats:
        if self._scratches[name].size < count:
            self._scratches[name] = aligned(count)
        return self._scratches[name]


@cache
def cells_read(side: int, tile: int, row: int) -> Places:
    """The cells that each tile reads, `[tiles * t*t]`, tile by tile; beyond the edge the cell that is always zero."""
    border = KERNEL // 2 if tile > 1 else 0
    return _places(side, tile, tile + 2 * border, border, side * side) * row


@cache
def cells_written(side: int, tile: int, row: int) -> Places:
    """The cells that each tile writes, `[tiles * m*m]`, tile by tile; beyond the edge the cell never read."""
    return _places(side, tile, tile, 0, side * side + 1) * row


def _places(side: int, tile: int, width: int, border: int, outside: int) -> Places:
    found = []
    across = tiles_across(side, tile)
    for top in range(across):
        for left in range(across):
            rows, columns = np.ogrid[:width, :width]
            rows, columns = rows + top * tile - border, columns + left * tile - border
            on_board = (rows >= 0) & (rows < side) & (columns >= 0) & (columns < side)
            found.append(np.where(on_board, rows * side + columns, outside).ravel())
    return np.concatenate(found).astype(np.int64)
