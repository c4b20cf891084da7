"""The replay window: the latest games, as the source of training batches.

Only moves and targets are kept. A position is replayed from its game's moves when it is drawn.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.arrays import BoolArray, FloatArray, Int16Array, Int64Array
from hexlit.hex.record import GameRecord
from hexlit.selfplay.dataset import GameRows
from hexlit.selfplay.rebuild import (
    Batch,
    Epoch,
    Histories,
    drawn_part,
    further_targets,
    with_policy,
)
from hexlit.selfplay.targets import Target


class ReplayWindow:
    """The positions of the latest games."""

    def __init__(
        self,
        size: int,
        swap: bool,
        capacity: float,
        search_value_share: float = 0.0,
        targets: Sequence[Target] = (),
    ) -> None:
        """An empty window for games on boards of `size`, with or without the swap rule.

        It has `capacity` positions at most (whole games, so up to one game more).
        `search_value_share` is the share of the searched value in the value target, see
        `value_targets`. The `targets` are added to policy and value.
        """
        self.size = size
        self.swap = swap
        self.capacity = capacity
        self.search_value_share = search_value_share
        self.targets = targets
        self._records: deque[GameRecord] = deque()
        self._index: _Index | None = None

    def __len__(self) -> int:
        """Number of positions."""
        return 0 if self._index is None else len(self._index.value)

    @property
    def game_ids(self) -> list[int]:
        """Ids of the games, oldest first."""
        return [record.game_id for record in self._records]

    def extend(self, records: Iterable[GameRecord]) -> None:
        """Add games; the oldest leave if the others fill the window without them.

        Games without a position to learn from are left out.
        """
        fresh = [record for record in records if len(record.policy_plies)]
        if not fresh:
            return
        self._records.extend(fresh)
        index = self._index_of(fresh)
        if self._index is not None:
            index = self._index.followed_by(index)
        surplus = len(index.value) - self.capacity
        gone = 0
        while gone + len(self._records[0].policy_plies) <= surplus:
            gone += len(self._records.popleft().policy_plies)
        self._index = index.without(gone)

    def epoch(
        self,
        *,
        batch: int,
        steps: int,
        seed: int,
        epoch: int,
        others: GameRows | None = None,
        share: float = 0.0,
    ) -> Epoch:
        """`steps` batches of `batch` positions, drawn without repeats as long as the window lasts.

        Each position is turned by 180 degrees with probability one half. The draws depend on `seed`
        and `epoch` only. With `others`, each batch takes a `share` of its positions from them, also
        without repeats as long as they last. The share is rounded so that it holds over the epoch.
        """
        if self._index is None:
            raise UsageError("the replay window holds no position to learn from")
        random = np.random.default_rng([seed, epoch])
        ends = np.arange(1, steps + 1) * batch
        ends_of_others = np.rint(ends * share).astype(np.int64)
        all_rows = np.arange(len(self))
        part = drawn_part(random, self._index, all_rows, ends - ends_of_others)
        if others is None:
            return Epoch(part)
        part_of_others = drawn_part(random, others.positions, others.rows, ends_of_others)
        return Epoch(part, part_of_others)

    def _index_of(self, records: Sequence[GameRecord]) -> "_Index":
        lengths = np.array([len(record.moves) for record in records])
        counts = [len(record.policy_plies) for record in records]
        further = {}
        for target in self.targets:
            rows = [target.of_game(record)[record.policy_plies] for record in records]
            further[target.name] = np.concatenate(rows)
        return _Index(
            size=self.size,
            swap=self.swap,
            moves=np.concatenate([record.moves for record in records]),
            first=np.repeat(np.cumsum(lengths) - lengths, counts),
            ply=np.concatenate([record.policy_plies for record in records]),
            policy=np.concatenate([record.policies for record in records]),
            value=value_targets(records, self.search_value_share),
            further=further,
        )


OF_POSITIONS = ("first", "ply", "policy", "value")
"""Arrays of an index with a row for each position."""


class _Index(NamedTuple):
    """The games of a window as flat arrays: P positions of games with M moves in all."""

    size: int
    swap: bool
    moves: Int16Array
    """The moves of all games, one game after the other, `[M]`."""
    first: Int64Array
    """Index in `moves` of the first move of the position's game, `[P]`."""
    ply: Int16Array
    """Moves before the position, `[P]`."""
    policy: NDArray[np.float16] | FloatArray
    """Over the board's actions, `[P, A]`."""
    value: FloatArray
    """For the player to move, `[P]`."""
    further: dict[str, NDArray[np.float16]]
    """Further targets by name, on the board, `[P, ...]` each."""

    def followed_by(self, other: "_Index") -> "_Index":
        """The index of the games of both, in new arrays: epochs drawn before have the old ones."""
        after = other._replace(first=other.first + len(self.moves))
        joined: dict[str, Any] = {}
        for name in ("moves", *OF_POSITIONS):
            joined[name] = np.concatenate([getattr(self, name), getattr(after, name)])
        further = {}
        for name, rows in self.further.items():
            further[name] = np.concatenate([rows, after.further[name]])
        return self._replace(**joined, further=further)

    def without(self, count: int) -> "_Index":
        """The index without its first `count` positions, which are those of whole games."""
        start = self.first[count]
        rest: dict[str, Any] = {name: getattr(self, name)[count:] for name in OF_POSITIONS}
        rest["first"] = rest["first"] - start
        further = {name: rows[count:] for name, rows in self.further.items()}
        return self._replace(**rest, moves=self.moves[start:], further=further)

    def batch(self, rows: Int64Array, turned: BoolArray) -> Batch:
        """The positions `rows` `[B]`, each turned by 180 degrees where `turned` `[B]` is set."""
        ply = self.ply[rows]
        histories = Histories(self.moves, self.first[rows], ply, (ply == 1) & self.swap)
        source = self.policy[rows].astype(np.float32)
        planes, policy = with_policy(histories, self.size, source, turned)
        further = further_targets(self.further, rows, ply, turned, self.size)
        return Batch(planes, policy, self.value[rows], further)


def value_targets(records: Sequence[GameRecord], search_share: float) -> FloatArray:
    """Targets in [-1, 1] for the player to move at the `policy_plies` of all `records`, `[P]`.

    `search_share` of a target is the searched value, the rest the result.
    """
    values, result = _values_and_results(records)
    targets: FloatArray = ((1 - search_share) * result + search_share * values).astype(np.float32)
    return targets


def brier_score(records: Sequence[GameRecord]) -> float:
    """Mean squared difference of the searched chance to win and the result, over all
    `policy_plies`; 1 without any.
    """
    if not sum(len(record.policy_plies) for record in records):
        return 1.0
    values, result = _values_and_results(records)
    return float(np.square((values - result) / 2).mean())


def _values_and_results(
    records: Sequence[GameRecord],
) -> tuple[FloatArray, Int64Array]:
    """Searched values and results for the player to move at the `policy_plies` of all `records`,
    `[P]` each.
    """
    values = np.concatenate([record.values[record.policy_plies] for record in records])
    result = np.concatenate(
        [np.where(record.policy_plies % 2 == 0, 1, -1) * record.winner for record in records]
    )
    return values, result
