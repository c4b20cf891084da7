"""The replay window: the latest games, from which training batches are rebuilt.

Only moves and targets are kept. A position is replayed from its game's moves when it is drawn.
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.encoding import blank_planes, write_planes
from hexlit.hex.geometry import Geometry, geometry
from hexlit.hex.jit import kernel
from hexlit.hex.record import GameRecord


class Batch(NamedTuple):
    """Positions to learn from, in the mover's frame."""

    planes: NDArray[np.int8]
    """`[B, PLANES, size, size]`."""
    policy: NDArray[np.float32]
    """Searched policy, `[B, A]`."""
    value: NDArray[np.float32]
    """Value target in [-1, 1] for the player to move, `[B]`."""


class ReplayWindow:
    """The positions of the latest games, `capacity` of them at most (whole games, so up to one game more)."""

    def __init__(self, *, size: int, swap: bool, capacity: int, search_value_share: float = 0.0) -> None:
        """An empty window. The value target is the result, mixed with the searched value by `search_value_share`."""
        if capacity < 1:
            raise UsageError(f"data.window={capacity}: a window holds at least 1 position")
        self.size = size
        self.swap = swap
        self.capacity = capacity
        self._search_value_share = search_value_share
        self._records: deque[GameRecord] = deque()
        self._positions = 0
        self._index: _Index | None = None

    def __len__(self) -> int:
        """Number of positions."""
        return self._positions

    @property
    def games(self) -> int:
        """Number of games."""
        return len(self._records)

    @property
    def game_ids(self) -> list[int]:
        """Ids of the games, oldest first."""
        return [record.game_id for record in self._records]

    def extend(self, records: Iterable[GameRecord]) -> None:
        """Add games; the oldest leave when the others fill the window without them."""
        for record in records:
            if record.size != self.size or record.swap != self.swap:
                raise UsageError(
                    f"game {record.game_id}: board={record.size} swap={record.swap} "
                    f"does not fit a window of board={self.size} swap={self.swap}"
                )
            self._records.append(record)
            self._positions += len(record.policy_plies)
        while self._records and self._positions - len(self._records[0].policy_plies) >= self.capacity:
            self._positions -= len(self._records.popleft().policy_plies)
        self._index = None

    def epoch(self, *, batch: int, steps: int, seed: int, epoch: int) -> "ReplayEpoch":
        """`steps` batches of `batch` positions, drawn without repeats as long as the window lasts.

        Each position is turned by 180 degrees with probability one half. The draws depend on `seed` and `epoch` only.
        """
        if not self._positions:
            raise UsageError("the replay window holds no position to learn from")
        if self._index is None:
            self._index = _Index.of(self._records, self.size, self.swap, self._search_value_share)
        random = np.random.default_rng([seed, epoch])
        rounds = -(-batch * steps // self._positions)
        order = np.concatenate([random.permutation(self._positions) for _ in range(rounds)])[: batch * steps]
        return ReplayEpoch(self._index, order.reshape(steps, batch), random.random((steps, batch)) < 0.5)


class ReplayEpoch:
    """The batches of one epoch: a sequence, each batch rebuilt when it is asked for."""

    def __init__(self, index: "_Index", rows: NDArray[np.int64], turned: NDArray[np.bool_]) -> None:
        """Batch `i` holds the positions `rows[i]` `[B]` of `index`, turned where `turned[i]` says so."""
        self._index = index
        self._rows = rows
        self._turned = turned

    def __len__(self) -> int:
        """Number of batches."""
        return len(self._rows)

    def __getitem__(self, step: int) -> Batch:
        """Batch number `step`."""
        return self._index.batch(self._rows[step], self._turned[step])


class _Index(NamedTuple):
    """The games of a window as flat arrays: P positions of games with M moves in all."""

    size: int
    moves: NDArray[np.int16]
    """All moves, `[M]`."""
    first: NDArray[np.int64]
    """Index in `moves` of the first move of the position's game, `[P]`."""
    ply: NDArray[np.int16]
    """Moves before the position, `[P]`."""
    may_swap: NDArray[np.bool_]
    """Whether the mover may swap, `[P]`."""
    policy: NDArray[np.float16]
    """Over the board's actions, `[P, A]`."""
    value: NDArray[np.float32]
    """For the player to move, `[P]`."""

    @classmethod
    def of(cls, records: Iterable[GameRecord], size: int, swap: bool, search_value_share: float) -> "_Index":
        kept = [record for record in records if len(record.policy_plies)]
        lengths = np.array([len(record.moves) for record in kept])
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        counts = [len(record.policy_plies) for record in kept]
        ply = np.concatenate([record.policy_plies for record in kept])
        colour = np.where(ply % 2 == 0, 1, -1)
        result = np.repeat([record.winner for record in kept], counts) * colour
        searched = np.concatenate([record.values[record.policy_plies] for record in kept])
        value = (1 - search_value_share) * result + search_value_share * searched
        return cls(
            size=size,
            moves=np.concatenate([record.moves for record in kept]),
            first=np.repeat(starts, counts),
            ply=ply,
            may_swap=(ply == 1) & swap,
            policy=np.concatenate([record.policies for record in kept]),
            value=value.astype(np.float32),
        )

    def batch(self, rows: NDArray[np.int64], turned: NDArray[np.bool_]) -> Batch:
        """The positions `rows` `[B]`, each turned by 180 degrees where `turned` `[B]` says so."""
        planes = blank_planes(len(rows), self.size)
        source = self.policy[rows].astype(np.float32)
        policy = np.empty_like(source)
        ply = self.ply[rows]
        table = geometry(self.size)
        _rebuild(planes, policy, source, self.moves, self.first[rows], ply, self.may_swap[rows], turned, table)
        return Batch(planes, policy, self.value[rows])


@kernel
def _rebuild(
    planes: NDArray[np.int8],
    policy: NDArray[np.float32],
    source: NDArray[np.float32],
    moves: NDArray[np.int16],
    first: NDArray[np.int64],
    ply: NDArray[np.int16],
    may_swap: NDArray[np.bool_],
    turned: NDArray[np.bool_],
    table: Geometry,
) -> None:
    """Replay each position's moves and write it, and its policy, in the mover's frame."""
    swap = table.size * table.size
    cells = np.empty(swap, np.int8)
    for row in range(planes.shape[0]):
        cells[:] = 0
        for i in range(ply[row]):
            colour = 1 if i % 2 == 0 else -1
            move = moves[first[row] + i]
            if move == swap:
                move = moves[first[row]]
                cells[table.rotated[move] if turned[row] else move] = 0
                move = table.transposed[move]
            cells[table.rotated[move] if turned[row] else move] = colour
        to_move = 1 if ply[row] % 2 == 0 else -1
        write_planes(planes, row, cells, to_move, may_swap[row], table)
        for action in range(policy.shape[1]):
            board_action = action if to_move > 0 else table.transposed[action]
            policy[row, action] = source[row, table.rotated[board_action] if turned[row] else board_action]
