"""Shares are handed to workers that come and go; another worker plays the share of a lost one again.

It knows no Ray: `Hands` does what it decides, and tells it what happened. Time comes from a clock that is given.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from hexlit.errors import UsageError
from hexlit.hex.record import GameRecord
from hexlit.selfplay.actor import SelfPlayCounts, Snapshot
from hexlit.selfplay.checking import faults_of
from hexlit.selfplay.cluster.config import RayConfig
from hexlit.selfplay.cluster.shares import Share, Shares, WrongGamesError
from hexlit.selfplay.player import Played
from hexlit.selfplay.store import to_table

log = logging.getLogger(__name__)

SECONDS_TO_FIRST_WORD = 8.0
"""While a worker has no place for so long, a line says so; the next one follows after twice the time, and so on."""


class Hands(Protocol):
    """Starts and ends workers, and gives them work. No call waits for its effect."""

    def hire(self, worker: int) -> None:
        """Start `worker`; `Dispatch.arrived` or `Dispatch.lost` follows, perhaps much later."""
        ...

    def give(self, worker: int, share: Share) -> None:
        """Have `worker` play `share`."""
        ...

    def dismiss(self, worker: int) -> None:
        """End `worker`, whatever it does; nothing more is heard of it."""
        ...

    def room(self) -> str:
        """The room for workers, in words."""
        ...


@dataclass
class _Seat:
    """A place for a worker; the successor of a lost worker has another number."""

    worker: int
    host: str | None = None
    """None until it has arrived."""
    ready: bool = False
    """Whether it can play."""
    share: Share | None = None
    deaths: int = 0
    """In a row, with nothing finished in between."""
    cpu_seconds: float = 0.0
    """Processor time of this worker so far."""
    last_part: int | None = None


class Dispatch:
    """Hands out the shares of `shares` to one worker a part.

    Fewer workers than parts play the parts of the others too.
    """

    def __init__(self, hands: Hands, shares: Shares, config: RayConfig, clock: Callable[[], float]) -> None:
        """No worker is started before `open`."""
        self._hands = hands
        self.shares = shares
        self._config = config
        self._clock = clock
        self._seats: dict[int, _Seat] = {}
        self._hired = 0
        self._gone_cpu_seconds = 0.0
        self._given_up: list[str] = []
        self._missed_since = self._gone_since = clock()
        self._next_word = SECONDS_TO_FIRST_WORD

    def open(self) -> None:
        """Start a worker for each part."""
        self._missed_since = self._gone_since = self._clock()
        for _ in range(self.shares.parts):
            self._hire(deaths=0)

    @property
    def cpu_seconds(self) -> float:
        """Processor time of all workers so far, the lost ones included."""
        return self._gone_cpu_seconds + sum(seat.cpu_seconds for seat in list(self._seats.values()))

    def arrived(self, worker: int, host: str) -> None:
        """`worker` has a place on `host`, where it gets ready."""
        self._seats[worker].host = host

    def ready(self, worker: int) -> None:
        """`worker` can play."""
        self._seats[worker].ready = True

    def heard(
        self,
        worker: int,
        records: list[GameRecord],
        counts: SelfPlayCounts,
        cpu_seconds: float,
        after: Snapshot | None,
    ) -> None:
        """`worker` has played `records`, and is done with its share where it tells the games in progress `after` it.

        Games that are none, or not its own, end the worker. Errors of `Round.on_games` are passed on.
        """
        seat = self._seats[worker]
        share = seat.share
        assert share is not None
        seat.cpu_seconds = cpu_seconds
        try:
            for fault in faults_of(to_table(records)) if records else []:
                raise WrongGamesError(f"game {records[fault.row].game_id} is none: {fault.said}")
            fresh = self.shares.accept(share, records, counts)
            done = [] if after is None else self.shares.finish(share, after)
        except WrongGamesError as error:
            self._hands.dismiss(worker)
            self.lost(worker, str(error))
            return
        now = self._clock()
        if fresh:
            share.round.on_games(fresh, share.round.counts(now))
        if after is None:
            return
        seat.share, seat.deaths, seat.last_part = None, 0, share.part
        for ended in done:
            in_progress = [ended.after[part] for part in range(self.shares.parts)]
            ended.ended.set_result(Played(ended.counts(now), in_progress))

    def lost(self, worker: int, reason: str) -> None:
        """`worker` is gone; its share is free again, and another worker takes its place.

        Raises:
            UsageError: no place is left where workers do not die.
        """
        seat = self._seats.pop(worker)
        self._gone_cpu_seconds += seat.cpu_seconds
        if seat.share is not None:
            self.shares.give_back(seat.share)
        deaths = seat.deaths + 1
        where = f"on {seat.host}" if seat.host else "before it could play"
        if deaths < self._config.deaths:
            log.warning("self-play: an actor was lost %s (%s); another takes its place", where, reason)
            self._hire(deaths)
            return
        self._given_up.append(f"{deaths} actors in a row were lost {where} ({reason})")
        if not self._seats:
            raise UsageError(f"self-play on Ray: {self._given_up[-1]}; nobody is left to play")
        log.warning("self-play: %s; %d places are left", self._given_up[-1], len(self._seats))

    def tick(self) -> None:
        """Give work to whoever is free, and say what is waited for. To be called several times a second.

        Raises:
            UsageError: no worker has been there for too long.
        """
        for worker, seat in self._seats.items():
            if not seat.ready or seat.share is not None:
                continue
            seat.share = self.shares.take(seat.last_part)
            if seat.share is None:
                break
            self._hands.give(worker, seat.share)
        now = self._clock()
        missing = sum(seat.host is None for seat in self._seats.values())
        if not missing:
            self._missed_since = now
            self._next_word = SECONDS_TO_FIRST_WORD
        if missing < len(self._seats):
            self._gone_since = now
        else:
            self._give_up_in_time(now - self._gone_since)
        if now - self._missed_since > self._next_word:
            log.warning(
                "self-play: %d of %d actors have not started yet (%s)",
                missing,
                len(self._seats),
                self._hands.room(),
            )
            self._next_word = 2 * (now - self._missed_since)

    def _give_up_in_time(self, waited: float) -> None:
        if self._config.wait is not None and waited > self._config.wait:
            raise UsageError(
                f"self-play on Ray: for {waited:.0f} s none of {len(self._seats)} actors has started "
                f"({self._hands.room()}); add nodes, ask for less (ray.cpus, ray.gpus), or wait longer (ray.wait)"
            )

    def _hire(self, deaths: int) -> None:
        worker = self._hired
        self._hired += 1
        self._seats[worker] = _Seat(worker, deaths=deaths)
        self._hands.hire(worker)
