"""Positions rebuilt from their games' moves, as input of a network: in the mover's frame, turned or
not.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from hexlit.hex.arrays import BoolArray, FloatArray, Int8Array, Int16Array, Int64Array
from hexlit.hex.encoding import blank_planes, write_planes
from hexlit.hex.engine import colour_at
from hexlit.hex.frame import frame_maps, framed, mirrored
from hexlit.hex.geometry import Geometry, geometry
from hexlit.hex.jit import kernel

T = TypeVar("T", np.int64, np.bool_)

Ints = Int64Array
Floats = FloatArray


class Batch(NamedTuple):
    """Positions to learn from, in the mover's frame."""

    planes: Int8Array
    """`[B, PLANES, size, size]`."""
    policy: FloatArray
    """Policy target: searched, or one-hot on the move that was played, `[B, A]`."""
    value: FloatArray
    """Value target in [-1, 1] for the player to move, `[B]`."""
    further: dict[str, FloatArray]
    """Further targets by name, `[B, size*size]` or `[B]`; see `hexlit.selfplay.targets`."""


class PositionSource(Protocol):
    """Numbered positions, rebuilt on demand."""

    def batch(self, rows: Int64Array, turned: BoolArray) -> Batch:
        """The positions `rows` `[B]`, each turned by 180 degrees where `turned` `[B]` is set."""


Batches = Sequence[NDArray[T]] | NDArray[T]
"""Arrays `[B]`, one per batch; batches of one size may be the rows of one array."""


class Part(NamedTuple):
    """The share of some positions in each batch of an epoch."""

    positions: PositionSource
    rows: Batches[np.int64]
    """Numbers of the positions."""
    turned: Batches[np.bool_]
    """Whether each is turned by 180 degrees."""


def drawn_part(random: Generator, positions: PositionSource, rows: Ints, ends: Ints) -> Part:
    """Draws from `rows` of `positions` `[P]`, each equally often up to one, cut into batches at
    `ends` `[steps]`.
    """
    draws = int(ends[-1])
    rounds = [np.zeros(0, np.int64)]
    for _ in range(math.ceil(draws / len(rows))):
        rounds.append(random.permutation(len(rows)))
    order = np.concatenate(rounds)[:draws]
    turned = random.random(draws) < 0.5
    inner_ends = ends[:-1]
    return Part(positions, np.split(rows[order], inner_ends), np.split(turned, inner_ends))


class Epoch:
    """The batches of one epoch, a sequence; each batch is rebuilt on access."""

    def __init__(self, *parts: Part) -> None:
        """Each batch joins those of all `parts`, in order; all parts have the same number of
        batches.
        """
        self._parts = parts

    def __len__(self) -> int:
        """Number of batches."""
        return len(self._parts[0].rows)

    def __getitem__(self, step: int) -> Batch:
        """Batch number `step`."""
        return self.some(step, slice(None))

    def size(self, step: int) -> int:
        """Positions of batch number `step`."""
        return sum(len(rows[step]) for _, rows, _ in self._parts)

    def some(self, step: int, which: slice) -> Batch:
        """The positions `which` of batch number `step`; no others are rebuilt."""
        chosen = np.arange(self.size(step))[which]
        drawn = []
        first = 0
        for positions, all_rows, all_turned in self._parts:
            rows = all_rows[step]
            turned = all_turned[step]
            inside = (chosen >= first) & (chosen < first + len(rows))
            which_rows = chosen[inside] - first
            drawn.append(positions.batch(rows[which_rows], turned[which_rows]))
            first += len(rows)
        if len(drawn) == 1:
            return drawn[0]
        further = {}
        for name in drawn[0].further:
            further[name] = np.concatenate([batch.further[name] for batch in drawn])
        return Batch(
            planes=np.concatenate([batch.planes for batch in drawn]),
            policy=np.concatenate([batch.policy for batch in drawn]),
            value=np.concatenate([batch.value for batch in drawn]),
            further=further,
        )


class Histories(NamedTuple):
    """The moves that lead to some positions, in one array of whole games."""

    moves: Int16Array
    """The moves of all games, one game after the other, `[M]`."""
    first: Int64Array
    """Index in `moves` of the first move of the position's game, `[B]`."""
    ply: Int16Array
    """Moves before the position, `[B]`."""
    may_swap: BoolArray
    """Whether the mover may swap, `[B]`."""


def with_policy(
    histories: Histories, size: int, source: FloatArray, turned: BoolArray
) -> tuple[Int8Array, FloatArray]:
    """Planes and policies of the positions; `source` `[B, A]` holds the policies over the board's
    actions.
    """
    planes = blank_planes(len(source), size)
    policy = np.empty_like(source)
    _write_positions(planes, policy, source, histories, turned, geometry(size))
    return planes, policy


def further_targets(
    sources: Mapping[str, NDArray[np.float16]],
    rows: Int64Array,
    ply: Int16Array,
    turned: BoolArray,
    size: int,
) -> dict[str, FloatArray]:
    """The `rows` `[B]` of each of `sources`, maps of the board's cells `[P, size*size]` as the
    mover at `ply` `[B]` sees them.
    """
    colours = np.where(ply % 2 == 0, 1, -1).astype(np.int8)
    result = {}
    for name, source in sources.items():
        values = source[rows].astype(np.float32)
        if values.ndim == 2:
            values = frame_maps(values, colours, size)
            values = np.where(turned[:, None], values[:, ::-1], values)
        result[name] = values
    return result


@kernel
def _write_positions(
    planes: Int8Array,
    policy: Floats,
    source: Floats,
    of: Histories,
    turned: BoolArray,
    table: Geometry,
) -> None:
    """Replay the moves before each position, and write position and policy in the mover's frame."""
    swap = table.size * table.size
    cells = np.empty(swap, np.int8)
    for row in range(planes.shape[0]):
        first, ply, turn = of.first[row], of.ply[row], turned[row]
        cells[:] = 0
        for i in range(ply):
            move = of.moves[first + i]
            if move == swap:
                move = of.moves[first]
                cells[table.rotated[move] if turn else move] = 0
                move = mirrored(move, table)
            cells[table.rotated[move] if turn else move] = colour_at(i)
        write_planes(planes, row, cells, colour_at(ply), of.may_swap[row], table)
        for action in range(policy.shape[1]):
            board_action = framed(action, colour_at(ply), table)
            policy[row, action] = source[row, table.rotated[board_action] if turn else board_action]
