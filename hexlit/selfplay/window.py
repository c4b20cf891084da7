"""The replay window: the latest games, as the source of training batches.

Only moves and targets are kept. A position is replayed from its game's moves when it is drawn.
"""

from collections import defaultdict, deque
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.frame import frame_maps
from hexlit.hex.record import GameRecord
from hexlit.hex.symmetry import rotate_policy
from hexlit.selfplay.dataset import GameRows
from hexlit.selfplay.reanalysis import NewTargets, targets_of, with_targets
from hexlit.selfplay.rebuild import Batch, Epoch, Histories, Part, Positions, ReplyBatch, with_policy
from hexlit.selfplay.surprise import drawn_by_weight, surprise_weights


class ReplayWindow:
    """The positions of the latest games, at most `capacity` of them (whole games, so up to one game more)."""

    def __init__(
        self,
        *,
        size: int,
        swap: bool,
        capacity: int,
        search_value_share: float = 0.0,
        search_value_decay: float = 0.0,
        surprise_share: float = 0.0,
        replies: bool = False,
    ) -> None:
        """An empty window. Value targets are made as `hexlit.selfplay.window` says.

        A `surprise_share` of the draws goes by surprise (`hexlit.selfplay.surprise`). With `replies` the batches
        hold reply targets (`hexlit.selfplay.window`).
        """
        if capacity < 1:
            raise UsageError(f"data.window={capacity}: a window holds at least 1 position")
        self.size = size
        self.swap = swap
        self.capacity = capacity
        self._search_value = search_value_share, search_value_decay
        self._surprise_share = surprise_share
        self._replies = replies
        self._records: deque[GameRecord] = deque()
        self._renewed: defaultdict[int, set[int]] = defaultdict(set)
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
    def records(self) -> list[GameRecord]:
        """The games with their current targets, oldest first."""
        return list(self._records)

    @property
    def game_ids(self) -> list[int]:
        """Ids of the games, oldest first."""
        return [record.game_id for record in self._records]

    def extend(self, records: Iterable[GameRecord]) -> None:
        """Add games; the oldest leave if the others fill the window without them."""
        for record in records:
            if record.size != self.size or record.swap != self.swap:
                raise UsageError(
                    f"game {record.game_id}: board={record.size} swap={record.swap} "
                    f"does not fit a window of board={self.size} swap={self.swap}"
                )
            if self._surprise_share and len(record.surprises) != len(record.policy_plies):
                raise UsageError(
                    f"data.surprise_share={self._surprise_share}: game {record.game_id} was played before surprises "
                    "were recorded; resume with data.surprise_share=0"
                )
            self._records.append(record)
            self._positions += len(record.policy_plies)
        while self._records and self._positions - len(self._records[0].policy_plies) >= self.capacity:
            oldest = self._records.popleft()
            self._positions -= len(oldest.policy_plies)
            self._renewed.pop(oldest.game_id, None)
        self._index = None

    def renew(self, targets: NewTargets) -> None:
        """Replace the searched targets of the games by `targets`; those of other games are ignored."""
        rows: defaultdict[int, list[int]] = defaultdict(list)
        for row, game_id in enumerate(targets.game_id.tolist()):
            rows[game_id].append(row)
        for place, record in enumerate(self._records):
            if record.game_id in rows:
                found = targets.rows(np.array(rows[record.game_id]))
                self._records[place] = with_targets(record, found)
                self._renewed[record.game_id].update(found.ply.tolist())
        self._index = None

    def renewed(self) -> NewTargets | None:
        """All targets that `renew` has set, of the games still in the window; None without any."""
        games = (record for record in self._records if record.game_id in self._renewed)
        found = [targets_of(record, self._renewed[record.game_id]) for record in games]
        return NewTargets.joined(found) if found else None

    def epoch(
        self, *, batch: int, steps: int, seed: int, epoch: int, others: GameRows | None = None, share: float = 0.0
    ) -> Epoch:
        """`steps` batches of `batch` positions, drawn without repeats as long as the window lasts, or by surprise.

        Each position is turned by 180 degrees with probability one half. The draws depend on `seed` and `epoch` only.
        With `others`, each batch takes a `share` of its positions from them, also without repeats as long as they last.
        The share is rounded so that it holds over the epoch.
        """
        if not self._positions:
            raise UsageError("the replay window holds no position to learn from")
        if self._index is None:
            self._index = _Index.of(self._records, self.size, self.swap, *self._search_value)
            if self._replies:
                self._index = self._index.with_replies()
        weights = surprise_weights(self._index.surprise, self._surprise_share) if self._surprise_share else None
        random = np.random.default_rng([seed, epoch])
        if others is None:
            order = _drawn(random, len(self._index.ply), batch * steps, weights)
            return Epoch(Part(self._index, order.reshape(steps, batch), random.random((steps, batch)) < 0.5))
        if not 0 <= share < 1:
            raise UsageError(f"data.mix_share={share}: a share lies between 0 and 1, and is below 1")
        if (others.positions.size, others.positions.swap) != (self.size, self.swap):
            raise UsageError(
                f"games of board={others.positions.size} swap={others.positions.swap} do not fit a window of "
                f"board={self.size} swap={self.swap}"
            )
        ends = np.arange(1, steps + 1) * batch
        ends_of_others = np.rint(ends * share).astype(np.int64)
        own = _part(random, self._index, np.arange(len(self._index.ply)), ends - ends_of_others, weights)
        return Epoch(own, _part(random, *others, ends_of_others))


def _drawn(
    random: np.random.Generator, count: int, draws: int, weights: NDArray[np.float64] | None = None
) -> NDArray[np.int64]:
    """`draws` numbers below `count`, each equally often or in proportion to its weight, up to one."""
    if weights is not None:
        return drawn_by_weight(random, weights, draws)
    rounds = -(-draws // count)
    return np.concatenate([np.zeros(0, np.int64), *(random.permutation(count) for _ in range(rounds))])[:draws]


def _part(
    random: np.random.Generator,
    positions: Positions,
    rows: NDArray[np.int64],
    ends: NDArray[np.int64],
    weights: NDArray[np.float64] | None = None,
) -> Part:
    """Draws from `rows` of `positions` `[P]`, cut into batches at `ends` `[steps]`."""
    order = rows[_drawn(random, len(rows), int(ends[-1]), weights)]
    turned = random.random(len(order)) < 0.5
    return Part(positions, np.split(order, ends[:-1]), np.split(turned, ends[:-1]))


def _surprises(record: GameRecord) -> NDArray[np.float32]:
    return record.surprises if len(record.surprises) else np.zeros(len(record.policy_plies), np.float32)


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
    policy: NDArray[np.float16] | NDArray[np.float32]
    """Over the board's actions, `[P, A]`."""
    value: NDArray[np.float32]
    """For the player to move, `[P]`."""
    surprise: NDArray[np.float32]
    """Divergence of the searched policy from the prior, `[P]`; see `GameRecord.surprises`."""
    reply: NDArray[np.float16] | NDArray[np.float32] | None = None
    """Policy of the next position, zeros if unknown, `[P, A]`; None without reply targets."""

    @classmethod
    def of(
        cls, records: Iterable[GameRecord], size: int, swap: bool, search_share: float, search_decay: float
    ) -> "_Index":
        kept = [record for record in records if len(record.policy_plies)]
        lengths = np.array([len(record.moves) for record in kept])
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        counts = [len(record.policy_plies) for record in kept]
        ply = np.concatenate([record.policy_plies for record in kept])
        return cls(
            size=size,
            moves=np.concatenate([record.moves for record in kept]),
            first=np.repeat(starts, counts),
            ply=ply,
            may_swap=(ply == 1) & swap,
            policy=np.concatenate([record.policies for record in kept]),
            value=np.concatenate([value_targets(record, search_share, search_decay) for record in kept]),
            surprise=np.concatenate([_surprises(record) for record in kept]),
        )

    def with_replies(self) -> "_Index":
        """The same positions with reply targets."""
        return self._replace(reply=next_policies(self.policy, self.first, self.ply))

    def batch(self, rows: NDArray[np.int64], turned: NDArray[np.bool_]) -> Batch | ReplyBatch:
        """The positions `rows` `[B]`, each turned by 180 degrees where `turned` `[B]` says so."""
        histories = Histories(self.moves, self.first[rows], self.ply[rows], self.may_swap[rows])
        planes, policy = with_policy(histories, self.size, self.policy[rows].astype(np.float32), turned)
        if self.reply is None:
            return Batch(planes, policy, self.value[rows])
        reply = seen_by_mover(self.reply[rows].astype(np.float32), histories.ply, self.size, turned)
        return ReplyBatch(planes, policy, self.value[rows], reply)


Policies = NDArray[np.float16] | NDArray[np.float32]


def next_policies(policies: Policies, first: NDArray[np.int64], ply: NDArray[np.int16]) -> Policies:
    """For each of P positions the policy of the same game's next ply, `[P, A]`; zeros if unknown.

    Args:
        policies: over the board's actions, `[P, A]`; the positions of a game follow each other.
        first: tells the games apart, `[P]`.
        ply: moves before the position, `[P]`. A fast search between two positions leaves a gap here.
    """
    known = np.flatnonzero((first[1:] == first[:-1]) & (ply[1:] == ply[:-1] + 1))
    replies = np.zeros_like(policies)
    replies[known] = policies[known + 1]
    return replies


def seen_by_mover(
    replies: NDArray[np.float32], ply: NDArray[np.int16], size: int, turned: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Policies over the board's actions `[B, A]` in the frame of the player who moves at `ply`, turned or not."""
    colours = np.where(ply % 2 == 0, 1, -1).astype(np.int8)
    seen = frame_maps(replies, colours, size)
    return np.where(turned[:, None], rotate_policy(seen, size), seen)


def value_targets(record: GameRecord, search_share: float, search_decay: float) -> NDArray[np.float32]:
    """Targets in [-1, 1] for the player to move at `record.policy_plies`, `[K]`.

    `search_share` of a target is the searched value, the rest the result. With `search_decay` the searched value is the
    mean over this search and all later ones, each weighing `search_decay` times the one before. The result stands for
    all searches after the last move.
    """
    plies = record.policy_plies
    colour = np.where(plies % 2 == 0, 1, -1)
    searched = _smoothed(record, search_decay)[plies] * colour if search_decay else record.values[plies]
    return ((1 - search_share) * (record.winner * colour) + search_share * searched).astype(np.float32)


def _smoothed(record: GameRecord, decay: float) -> NDArray[np.float64]:
    """Means of the searched values from each ply on, for Black, `[T]`."""
    black = np.where(np.arange(len(record.values)) % 2 == 0, record.values, -record.values)
    backwards = accumulate(
        black[::-1].tolist(), lambda later, value: decay * later + (1 - decay) * value, initial=float(record.winner)
    )
    return np.array(list(backwards)[:0:-1])
