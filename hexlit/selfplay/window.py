"""The replay window: the latest games, as the source of training batches.

Only moves and targets are kept. A position is replayed from its game's moves when it is drawn.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.arrays import BoolArray, FloatArray, Int64Array
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
from hexlit.selfplay.targets import Target, targets_of

Further = dict[str, NDArray[np.float16]]
"""Further targets by name."""


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
        self._further: deque[Further] = deque()
        self._positions = 0
        self._index: _Index | None = None

    def __len__(self) -> int:
        """Number of positions."""
        return self._positions

    @property
    def records(self) -> list[GameRecord]:
        """The games, oldest first."""
        return list(self._records)

    @property
    def game_ids(self) -> list[int]:
        """Ids of the games, oldest first."""
        return [record.game_id for record in self._records]

    def extend(self, records: Iterable[GameRecord]) -> None:
        """Add games; the oldest leave if the others fill the window without them."""
        for record in records:
            self._records.append(record)
            self._further.append(targets_of(self.targets, record))
            self._positions += len(record.policy_plies)
        while (
            self._records and self._positions - len(self._records[0].policy_plies) >= self.capacity
        ):
            oldest = self._records.popleft()
            self._further.popleft()
            self._positions -= len(oldest.policy_plies)
        self._index = None

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
        if not self._positions:
            raise UsageError("the replay window holds no position to learn from")
        if self._index is None:
            self._index = self._make_index()
        random = np.random.default_rng([seed, epoch])
        ends = np.arange(1, steps + 1) * batch
        ends_of_others = np.rint(ends * share).astype(np.int64)
        all_rows = np.arange(self._positions)
        part = drawn_part(random, self._index, all_rows, ends - ends_of_others)
        if others is None:
            return Epoch(part)
        part_of_others = drawn_part(random, others.positions, others.rows, ends_of_others)
        return Epoch(part, part_of_others)

    def _make_index(self) -> "_Index":
        kept = [record for record in self._records if len(record.policy_plies)]
        lengths = np.array([len(record.moves) for record in kept])
        counts = [len(record.policy_plies) for record in kept]
        first = np.repeat(np.cumsum(lengths) - lengths, counts)
        moves = np.concatenate([record.moves for record in kept])
        ply = np.concatenate([record.policy_plies for record in kept])
        further = {}
        for target in self.targets:
            pairs = zip(self._records, self._further, strict=True)
            rows = [values[target.name][record.policy_plies] for record, values in pairs]
            further[target.name] = np.concatenate(rows)
        return _Index(
            size=self.size,
            histories=Histories(moves, first, ply, (ply == 1) & self.swap),
            policy=np.concatenate([record.policies for record in kept]),
            value=value_targets(kept, self.search_value_share),
            further=further,
        )


class _Index(NamedTuple):
    """The games of a window as flat arrays: P positions of games with M moves in all."""

    size: int
    histories: Histories
    """Of all P positions."""
    policy: NDArray[np.float16] | FloatArray
    """Over the board's actions, `[P, A]`."""
    value: FloatArray
    """For the player to move, `[P]`."""
    further: Further
    """On the board, `[P, ...]` each."""

    def batch(self, rows: Int64Array, turned: BoolArray) -> Batch:
        """The positions `rows` `[B]`, each turned by 180 degrees where `turned` `[B]` is set."""
        of = self.histories
        histories = Histories(of.moves, of.first[rows], of.ply[rows], of.may_swap[rows])
        planes, policy = with_policy(
            histories, self.size, self.policy[rows].astype(np.float32), turned
        )
        further = further_targets(self.further, rows, histories.ply, turned, self.size)
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
