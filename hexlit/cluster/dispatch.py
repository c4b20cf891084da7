"""Hands shares to workers that come and go; another worker repeats the share of a lost one.

It knows neither Ray nor the work. `Hands` carries out its decisions and reports events; `Work` gives the shares. A
clock is passed in.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from hexlit.cluster.config import RayConfig
from hexlit.errors import UsageError

log = logging.getLogger(__name__)

ShareT = TypeVar("ShareT")
GivenT = TypeVar("GivenT", contravariant=True)

SECONDS_TO_FIRST_WORD = 8.0
"""A line reports a worker without a place after this many seconds; the next one follows after twice the time."""


class WrongNewsError(Exception):
    """News that cannot come from the current share; the message says why."""


class News(Protocol):
    """A worker's report on its share since the last one."""

    @property
    def done(self) -> bool:
        """Whether the share is done."""
        ...

    @property
    def cpu_seconds(self) -> float:
        """Processor time of the worker so far."""
        ...


class Work(Protocol[ShareT]):
    """Work in shares that any worker can do and repeat. One thread makes all calls."""

    name: str
    """Name for messages, such as `self-play`."""

    @property
    def parts(self) -> int:
        """Most shares at a time."""
        ...

    def take(self, last: ShareT | None) -> ShareT | None:
        """A share for a worker with the previous share `last`; None if there is nothing to do now."""
        ...

    def give_back(self, share: ShareT) -> None:
        """Return `share`, which no worker does any more; it can be taken again."""
        ...

    def arguments(self, share: ShareT) -> tuple[Any, ...]:
        """Everything that a worker needs to do `share`."""
        ...

    def heard(self, share: ShareT, news: Any) -> None:
        """Process `news` (see `News`) of `share`.

        Raises:
            WrongNewsError: it cannot be true; nothing was changed.
        """
        ...

    def fail(self, error: BaseException) -> None:
        """End the work: all workers have stopped, and waiting callers get `error`."""
        ...


class Hands(Protocol[GivenT]):
    """Starts and ends workers, and gives them work. No call waits for its effect."""

    def hire(self, worker: int) -> None:
        """Start `worker`; `Dispatch.arrived` or `Dispatch.lost` follows, perhaps much later."""
        ...

    def give(self, worker: int, share: GivenT) -> None:
        """Have `worker` do `share`."""
        ...

    def dismiss(self, worker: int) -> None:
        """End `worker` in any state; it sends nothing afterwards."""
        ...

    def room(self) -> str:
        """The room for workers, in words."""
        ...


@dataclass
class _Seat(Generic[ShareT]):
    """A place for a worker; the successor of a lost worker has another number."""

    worker: int
    host: str | None = None
    """Host of the worker; None until it has arrived."""
    ready: bool = False
    """Whether it can work."""
    share: ShareT | None = None
    deaths: int = 0
    """Deaths in a row, without any finished work in between."""
    cpu_seconds: float = 0.0
    """Processor time of this worker so far."""
    last: ShareT | None = None
    """The latest finished share."""


class Dispatch(Generic[ShareT]):
    """Hands out the shares of `work` to one worker per part.

    With fewer workers than parts, these do the other parts too.
    """

    def __init__(self, hands: Hands[ShareT], work: Work[ShareT], config: RayConfig, clock: Callable[[], float]) -> None:
        """No worker starts before `open`."""
        self._hands = hands
        self.work = work
        self._config = config
        self._clock = clock
        self._seats: dict[int, _Seat[ShareT]] = {}
        self._hired = 0
        self._gone_cpu_seconds = 0.0
        self._given_up: list[str] = []
        self._missed_since = self._gone_since = clock()
        self._next_word = SECONDS_TO_FIRST_WORD

    def open(self) -> None:
        """Start a worker for each part."""
        self._missed_since = self._gone_since = self._clock()
        for _ in range(self.work.parts):
            self._hire(deaths=0)

    @property
    def cpu_seconds(self) -> float:
        """Processor time of all workers so far, including lost ones."""
        return self._gone_cpu_seconds + sum(seat.cpu_seconds for seat in list(self._seats.values()))

    @property
    def ready_workers(self) -> int:
        """Number of workers that can work now."""
        return sum(seat.ready for seat in list(self._seats.values()))

    def arrived(self, worker: int, host: str) -> None:
        """Record that `worker` has a place on `host`; it prepares itself there."""
        self._seats[worker].host = host

    def host(self, worker: int) -> str:
        """Host of `worker`, for messages."""
        return self._seats[worker].host or "a node"

    def ready(self, worker: int) -> None:
        """Record that `worker` can work."""
        self._seats[worker].ready = True

    def heard(self, worker: int, news: News) -> None:
        """Process the `news` of `worker`. Wrong news end the worker; other errors of the work are passed on."""
        seat = self._seats[worker]
        assert seat.share is not None
        seat.cpu_seconds = news.cpu_seconds
        try:
            self.work.heard(seat.share, news)
        except WrongNewsError as error:
            self._hands.dismiss(worker)
            self.lost(worker, str(error))
            return
        if news.done:
            seat.share, seat.deaths, seat.last = None, 0, seat.share

    def lost(self, worker: int, reason: str) -> None:
        """Record that `worker` is gone; its share is free again, and another worker takes its place.

        Raises:
            UsageError: in every place the workers have died too often.
        """
        seat = self._seats.pop(worker)
        self._gone_cpu_seconds += seat.cpu_seconds
        if seat.share is not None:
            self.work.give_back(seat.share)
        deaths = seat.deaths + 1
        where = f"on {seat.host}" if seat.host else "before it could work"
        if deaths < self._config.deaths:
            log.warning("%s: an actor was lost %s (%s); another takes its place", self.work.name, where, reason)
            self._hire(deaths)
            return
        self._given_up.append(f"{deaths} actors in a row were lost {where} ({reason})")
        if not self._seats:
            raise UsageError(f"{self.work.name} on Ray: {self._given_up[-1]}; no actor is left")
        log.warning("%s: %s; %d places are left", self.work.name, self._given_up[-1], len(self._seats))

    def tick(self) -> None:
        """Give work to free workers, and report what is missing. Call it several times a second.

        Raises:
            UsageError: no worker has been there for too long.
        """
        for worker, seat in self._seats.items():
            if not seat.ready or seat.share is not None:
                continue
            seat.share = self.work.take(seat.last)
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
                "%s: %d of %d actors have not started yet (%s)",
                self.work.name,
                missing,
                len(self._seats),
                self._hands.room(),
            )
            self._next_word = 2 * (now - self._missed_since)

    def _give_up_in_time(self, waited: float) -> None:
        if self._config.wait is not None and waited > self._config.wait:
            raise UsageError(
                f"{self.work.name} on Ray: for {waited:.0f} s none of {len(self._seats)} actors has started "
                f"({self._hands.room()}); add nodes, ask for less (ray.cpus, ray.gpus), or wait longer (ray.wait)"
            )

    def _hire(self, deaths: int) -> None:
        worker = self._hired
        self._hired += 1
        self._seats[worker] = _Seat(worker, deaths=deaths)
        self._hands.hire(worker)
