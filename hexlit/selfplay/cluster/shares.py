"""The account of self-play on many machines: who plays which share of a round, and the games that came back.

It knows no Ray, no clock and no threads. A round is cut into the parts that worker processes would have (`slots_of`).
A share, one part of one round, follows from its start, the weights and the seed alone, so it can be played again
anywhere with the same result. A part plays its rounds one after the other; parts need not wait for one another.
"""

from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.record import GameRecord
from hexlit.selfplay.actor import SelfPlayCounts, Snapshot, count_game, share_of, slots_of
from hexlit.selfplay.player import OnGames, Played


class WrongGamesError(Exception):
    """Records that cannot come from the share that was given out; the message says why."""


@dataclass
class Round:
    """Games that are played with one network."""

    weights: Any
    """The weights, or a reference to them; it is only passed on."""
    network_version: int
    positions: int
    """Positions to collect in all parts together, at least."""
    on_games: OnGames
    """Hears of games as they come in."""
    deadline: float | None = None
    """When it is cut short, on the clock of who plays it."""
    begun: float = 0.0
    """When it was added, on the same clock."""
    ended: Future[Played] = field(default_factory=Future)
    accepted: SelfPlayCounts = field(default_factory=SelfPlayCounts)
    """The games that were taken over, of all parts."""
    spent: dict[int, SelfPlayCounts] = field(default_factory=dict)
    """By part: what the actor that plays it says it did; of a share that is played again, the last time."""
    after: dict[int, Snapshot] = field(default_factory=dict)
    """By part that is done: its games in progress."""

    def counts(self, now: float) -> SelfPlayCounts:
        """The work done so far; asked for with every batch of games, so it adds up no more than it must."""
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
    """Of the round, from 0."""
    part: int
    positions: int
    """Positions to collect, at least."""
    start: Snapshot
    """The games in progress."""


class Shares:
    """The shares of all rounds under way.

    Every game number is passed on once: the games of a slot come in the order of their numbers, so each part knows
    for every slot which number is due. A repeated share brings some again; those are passed over.
    """

    def __init__(self, games: int, starts: list[Snapshot]) -> None:
        """`games` slots, cut into as many parts as there are `starts`, their games in progress."""
        self._games = games
        self._slots = [slots_of(games, part, len(starts)) for part in range(len(starts))]
        self._rounds: deque[Round] = deque()
        self.restart(starts)

    def restart(self, starts: list[Snapshot]) -> None:
        """Go on from `starts` instead; not while a round is played."""
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
        """Have `round_` played after those that were added before."""
        round_.spent = {part: SelfPlayCounts() for part in range(self.parts)}
        self._rounds.append(round_)

    def take(self, liked: int | None = None) -> Share | None:
        """A share that can be played now and that nobody plays, of the oldest round; of part `liked` where it is one.

        None where there is none: nobody runs further ahead than the rounds that were added.
        """
        last = self._first + len(self._rounds)
        free = [part for part in range(self.parts) if part not in self._playing and self._next[part] < last]
        if not free:
            return None
        part = min(free, key=lambda part: (self._next[part], part != liked, part))
        round_ = self._rounds[self._next[part] - self._first]
        share = Share(
            round=round_,
            number=self._next[part],
            part=part,
            positions=share_of(round_.positions, self._games, part, self.parts),
            start=self._starts[part],
        )
        self._playing[part] = share
        return share

    def give_back(self, share: Share) -> None:
        """Nobody plays `share` any more; it is played again from its start."""
        if self._playing.get(share.part) is share:
            del self._playing[share.part]

    def accept(self, share: Share, records: list[GameRecord], spent: SelfPlayCounts) -> list[GameRecord]:
        """Those of `records`, which `share` has brought, that were not passed on before.

        Raises:
            WrongGamesError: they are not the next games of this part's slots.
        """
        due, slots = self._due[share.part].copy(), self._slots[share.part]
        fresh = []
        for record in records:
            slot = record.game_id % self._games
            if record.game_id < 0 or slot not in slots:
                raise WrongGamesError(f"game {record.game_id} does not belong to part {share.part} of {self.parts}")
            if record.game_id > due[slot - slots.start]:
                raise WrongGamesError(f"game {record.game_id} came before game {due[slot - slots.start]}")
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
            WrongGamesError: those games are not the next ones of this part's slots.
        """
        numbers = np.asarray(after["slot.game_id"], np.int64)
        due = self._due[share.part]
        # A share that was played again on other hardware may end fewer games than were passed on before.
        if numbers.shape != due.shape or np.any(numbers > due) or np.any((due - numbers) % self._games):
            raise WrongGamesError(f"part {share.part} of {self.parts} left games in progress that are not its own")
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
    """Raise `UsageError` unless there is one snapshot a part."""
    if len(snapshots) != parts:
        raise UsageError(f"selfplay.workers={parts}: the run was started with {len(snapshots)}; keep it to resume")
