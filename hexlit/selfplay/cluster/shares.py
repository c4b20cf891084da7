"""The account of self-play on many machines: the share of a round that each plays, and the games that came back.

It knows no Ray and no threads. A round is cut into the parts that worker processes would have (`slots_of`).
A share, one part of one round, follows from its start, the weights and the seed alone, so it can be played again
anywhere with the same result. A part plays its rounds one after the other; parts need not wait for one another.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexlit.cluster.dispatch import WrongNewsError
from hexlit.errors import UsageError
from hexlit.hex.record import GameRecord
from hexlit.selfplay.actor import SelfPlayCounts, Snapshot, count_game, share_of, slots_of
from hexlit.selfplay.checking import faults_of
from hexlit.selfplay.player import RoundRequest, RoundResult
from hexlit.selfplay.store import to_table


@dataclass(frozen=True)
class GameNews:
    """An actor's report on its share since the last one: see `News`."""

    records: list[GameRecord]
    """Games that have ended, each with the version of its network."""
    counts: SelfPlayCounts
    """Counts of the whole share so far."""
    cpu_seconds: float
    """Processor time of the actor so far."""
    after: Snapshot | None
    """The games in progress, when the share is done."""

    @property
    def done(self) -> bool:
        """See `News`."""
        return self.after is not None


@dataclass
class Round:
    """Games that are played with one network."""

    request: RoundRequest
    """The order for it. Its weights, or a reference to them, are only passed on."""
    begun: float
    """Time when it was added, on the clock of the order's deadline."""
    ended: Future[RoundResult] = field(default_factory=Future)
    accepted: SelfPlayCounts = field(default_factory=SelfPlayCounts)
    """The games that were taken over, of all parts."""
    spent: dict[int, SelfPlayCounts] = field(default_factory=dict)
    """By part: the counts that its actor reports; of a repeated share those of the last time."""
    after: dict[int, Snapshot] = field(default_factory=dict)
    """By part that is done: the games in progress."""

    def counts(self, now: float) -> SelfPlayCounts:
        """The work done so far. It is called with every batch of games, so it adds up as little as possible."""
        spent = self.spent.values()
        return replace(
            self.accepted,
            evaluations=sum(one.evaluations for one in spent),
            recalled=sum(one.recalled for one in spent),
            network_seconds=sum(one.network_seconds for one in spent) / len(spent),
            seconds=now - self.begun,
        )


@dataclass(frozen=True, eq=False)
class Share:
    """One part of one round: the work that an actor gets at a time."""

    round: Round
    number: int
    """Number of the round, from 0."""
    part: int
    positions: int
    """Least number of positions to collect."""
    start: Snapshot
    """The games in progress."""


class Shares:
    """The shares of all rounds under way: see `Work`.

    Every game number is passed on once. The games of a slot come in the order of their numbers, so each part knows the
    number due in every slot. A repeated share brings some games again; they are skipped.
    """

    name = "self-play"

    def __init__(self, games: int, starts: list[Snapshot], clock: Callable[[], float]) -> None:
        """`games` slots, cut into one part for each of the `starts` (their games in progress); deadlines of rounds are
        read on `clock`.
        """
        self._games = games
        self._clock = clock
        self._slots = [slots_of(games, part, len(starts)) for part in range(len(starts))]
        self._rounds: deque[Round] = deque()
        self.restart(starts)

    def restart(self, starts: list[Snapshot]) -> None:
        """Continue from `starts` instead; not during a round."""
        assert not self._rounds
        self._starts = list(starts)
        self._due: list[NDArray[np.int64]] = [start["slot.game_id"].astype(np.int64) for start in starts]
        self._first = 0
        self._next = [0] * len(starts)
        self._playing: dict[int, Share] = {}

    @property
    def parts(self) -> int:
        """Shares of a round."""
        return len(self._slots)

    @property
    def rounds(self) -> list[Round]:
        """The rounds that are not done, the oldest first."""
        return list(self._rounds)

    def add(self, round_: Round) -> None:
        """Queue `round_` after those added before."""
        round_.spent = {part: SelfPlayCounts() for part in range(self.parts)}
        self._rounds.append(round_)

    def take(self, last: Share | None = None) -> Share | None:
        """A free share of the oldest round that can be played now, preferably of the part of `last`.

        None if there is none: no part is ahead of the rounds that were added.
        """
        liked = None if last is None else last.part
        until = self._first + len(self._rounds)
        free = [part for part in range(self.parts) if part not in self._playing and self._next[part] < until]
        if not free:
            return None
        part = min(free, key=lambda part: (self._next[part], part != liked, part))
        round_ = self._rounds[self._next[part] - self._first]
        share = Share(
            round=round_,
            number=self._next[part],
            part=part,
            positions=share_of(round_.request.positions, self._games, part, self.parts),
            start=self._starts[part],
        )
        self._playing[part] = share
        return share

    def give_back(self, share: Share) -> None:
        """Free `share`; it is played again from its start."""
        if self._playing.get(share.part) is share:
            del self._playing[share.part]

    def arguments(self, share: Share) -> tuple[Any, ...]:
        """The arguments of `GameActor.play`. Clocks of hosts may differ, so it gets durations."""
        request = share.round.request
        seconds = None if request.deadline is None else request.deadline - self._clock()
        return request.weights, share.part, share.start, share.positions, request.network_version, seconds

    def heard(self, share: Share, news: GameNews) -> None:
        """Pass on the games of `news`. Errors of `RoundRequest.on_games` are passed on, too.

        Raises:
            WrongNewsError: games that are invalid, or not those of `share`.
        """
        for fault in faults_of(to_table(news.records)) if news.records else []:
            raise WrongNewsError(f"game {news.records[fault.row].game_id} is none: {fault.said}")
        fresh = self.accept(share, news.records, news.counts)
        done = [] if news.after is None else self.finish(share, news.after)
        now = self._clock()
        if fresh:
            share.round.request.on_games(fresh, share.round.counts(now))
        for ended in done:
            in_progress = [ended.after[part] for part in range(self.parts)]
            ended.ended.set_result(RoundResult(ended.counts(now), in_progress))

    def fail(self, error: BaseException) -> None:
        """End every round with `error`."""
        for round_ in self._rounds:
            with suppress(InvalidStateError):  # it has its result already
                round_.ended.set_exception(error)

    def accept(self, share: Share, records: list[GameRecord], spent: SelfPlayCounts) -> list[GameRecord]:
        """The `records` of `share` that were not passed on before.

        Raises:
            WrongNewsError: they are not the next games of this part's slots.
        """
        due, slots = self._due[share.part].copy(), self._slots[share.part]
        fresh = []
        for record in records:
            slot = record.game_id % self._games
            if record.game_id < 0 or slot not in slots:
                raise WrongNewsError(f"game {record.game_id} does not belong to part {share.part} of {self.parts}")
            if record.game_id > due[slot - slots.start]:
                raise WrongNewsError(f"game {record.game_id} came before game {due[slot - slots.start]}")
            if record.game_id == due[slot - slots.start]:
                due[slot - slots.start] += self._games
                fresh.append(record)
        self._due[share.part] = due
        for record in fresh:
            count_game(share.round.accepted, record)
        share.round.spent[share.part] = spent
        return fresh

    def finish(self, share: Share, after: Snapshot) -> list[Round]:
        """`share` is done, and leaves the games `after` in progress. Returns the rounds that are done with it.

        Raises:
            WrongNewsError: those games are not the next ones of this part's slots.
        """
        numbers = np.asarray(after["slot.game_id"], np.int64)
        due = self._due[share.part]
        # A share that was played again on other hardware may end fewer games than were passed on before.
        if numbers.shape != due.shape or np.any(numbers > due) or np.any((due - numbers) % self._games):
            raise WrongNewsError(f"part {share.part} of {self.parts} left games in progress that are not its own")
        self.give_back(share)
        share.round.after[share.part] = after
        self._starts[share.part] = after
        self._next[share.part] += 1
        done = []
        while self._rounds and len(self._rounds[0].after) == self.parts:
            done.append(self._rounds.popleft())
            self._first += 1
        return done


def check_parts(snapshots: list[Snapshot], parts: int) -> None:
    """Raise `UsageError` unless there is one snapshot per part."""
    if len(snapshots) != parts:
        raise UsageError(f"selfplay.workers={parts}: the run was started with {len(snapshots)}; keep it to resume")
