"""Self-play by the actors of a Ray cluster, behind the same calls as self-play on this machine.

`Shares` is the account: the share of a round that each actor plays, and the games that came back. It knows no Ray and
no threads. A round is cut into the parts that worker processes would have (`slots_of`). A share, one part of one round,
follows from its start, the weights and the seed alone, so it can be played again anywhere with the same result. A part
plays its rounds one after the other; parts need not wait for one another.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor, wait
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexlit.cluster.actors import Actors
from hexlit.cluster.config import RayConfig
from hexlit.cluster.dispatch import WrongNewsError
from hexlit.cluster.versions import greeting
from hexlit.errors import UsageError
from hexlit.files import cache_folder
from hexlit.hex.jit import is_compiled, mark_compiled
from hexlit.hex.record import GameRecord
from hexlit.locks import alone
from hexlit.selfplay.actor import SelfPlay, SelfPlayCounts, Snapshot, share_of, slots_of
from hexlit.selfplay.checking import faults_of
from hexlit.selfplay.players import PlayerSettings, RoundRequest, RoundResult, compile_play
from hexlit.selfplay.store import to_table

_SECONDS_TO_ANSWER = 1.0
_KERNELS = "selfplay-actor"


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
        self.parts = len(starts)
        self._slots = [slots_of(games, part, self.parts) for part in range(self.parts)]
        self._rounds: deque[Round] = deque()
        self.restart(starts)

    def restart(self, starts: list[Snapshot]) -> None:
        """Continue from `starts` instead; not during a round."""
        self._starts = list(starts)
        self._due: list[NDArray[np.int64]] = [start["slot.game_id"].astype(np.int64) for start in starts]
        self._first = 0
        self._next = [0] * len(starts)
        self._playing: dict[int, Share] = {}

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
        positions = share_of(round_.request.positions, self._games, part, self.parts)
        self._playing[part] = Share(round_, part, positions, self._starts[part])
        return self._playing[part]

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
        for row, (_, said) in faults_of(to_table(news.records)).items():
            raise WrongNewsError(f"game {news.records[row].game_id} is none: {said}")
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
            if record.game_id < 0 or slot not in slots or record.game_id > due[slot - slots.start]:
                raise WrongNewsError(f"game {record.game_id} is not the next one of part {share.part} of {self.parts}")
            if record.game_id == due[slot - slots.start]:
                due[slot - slots.start] += self._games
                fresh.append(record)
        self._due[share.part] = due
        for record in fresh:
            share.round.accepted.add(record)
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


class GameActor:
    """Plays one share at a time, its games batched into the calls of one evaluator."""

    def hello(self) -> dict[str, str]:
        """See `greeting`."""
        return greeting()

    def set_up(self, place: PlayerSettings) -> None:
        """Make the evaluator of `place`, and compile the kernels of play.

        One actor of a host compiles, the others wait and load.
        """
        self._settings = place.settings
        # One thread calls compiled code and the network: the number of threads that a host sets is the thread's own.
        self._thread = ThreadPoolExecutor(1, "self-play")
        self._host = self._thread.submit(place.make_host).result()
        self._lock = threading.Lock()
        self._part: int | None = None
        with nullcontext() if is_compiled(_KERNELS) else alone(cache_folder() / "actors.lock"):
            self._thread.submit(compile_play, self._settings).result()
            mark_compiled(_KERNELS)

    def play(self, *share: Any) -> None:
        """Play the share of these `Shares.arguments`; `more` tells of it."""
        self._records: list[GameRecord] = []
        self._counts = SelfPlayCounts()
        self._playing: Future[Snapshot] = self._thread.submit(self._play, *share)

    def more(self) -> GameNews:
        """News of the share that is played: at once when it is done, else after a second.

        An exception of play is raised here.
        """
        done = bool(wait([self._playing], _SECONDS_TO_ANSWER).done)
        after = self._playing.result() if done else None
        with self._lock:
            records, self._records = self._records, []
            counts = self._counts
        return GameNews(records, counts, time.process_time(), after)

    def _play(
        self, weights: Any, part: int, start: Snapshot, positions: int, network_version: int, seconds: float | None
    ) -> Snapshot:
        """Continue the games of `part` from `start`, for `seconds` at most."""
        if part != self._part:
            self._games = SelfPlay(replace(self._settings, part=part))
            self._part = part
        self._games.restore(start)

        def on_games(records: list[GameRecord], counts: SelfPlayCounts) -> None:
            with self._lock:
                self._records.extend(records)
                self._counts = replace(counts)

        counts = self._games.play(
            self._host.refreshed(weights),
            positions=positions,
            network_version=network_version,
            on_games=on_games,
            deadline=None if seconds is None else time.monotonic() + seconds,
        )
        with self._lock:
            self._counts = counts
        return self._games.snapshot()


class RayPlayers:
    """Plays on the cluster of `config`: a `SelfPlayer` whose rounds overlap.

    Its games are those of `WorkerPlayers` with as many workers. The end of an actor or of a node costs only the shares
    played there at the time. The end of this process ends all actors.
    """

    def __init__(self, place: PlayerSettings, parts: int, config: RayConfig) -> None:
        """Join the cluster, with `parts` actors for the games of `place`.

        Raises:
            UsageError: there is no such cluster.
        """
        self._place = replace(place, settings=replace(place.settings, parts=parts))
        self._actors: Actors[Share] = Actors(config, parts, GameActor, "self-play")
        self._in_progress: list[Snapshot] | Future[RoundResult] | None = None
        self._published: tuple[Any, Any] | None = None
        self._shares: Shares | None = None

    def prepare(self) -> None:
        """See `SelfPlayer`. It waits until one actor can play; the others join when they can."""
        self._start()
        self._actors.wait()

    def start_async(self, request: RoundRequest) -> Future[RoundResult]:
        """See `SelfPlayer`. Weights go to the cluster once, however many rounds are played with them."""
        shares = self._start()
        if self._published is None or self._published[0] is not request.weights:
            self._published = request.weights, self._actors.put(request.weights)
        round_ = Round(replace(request, weights=self._published[1]), time.monotonic())
        self._in_progress = round_.ended
        self._actors.order(lambda: shares.add(round_))
        return round_.ended

    def play(self, request: RoundRequest) -> SelfPlayCounts:
        """See `SelfPlayer`."""
        return self.start_async(request).result().counts

    def snapshot(self) -> list[Snapshot]:
        """See `SelfPlayer`; it waits for the last round that was begun."""
        if self._in_progress is None:
            own = self._place.settings
            self._in_progress = [SelfPlay(replace(own, part=part)).snapshot() for part in range(own.parts)]
        if isinstance(self._in_progress, Future):
            return self._in_progress.result().in_progress
        return self._in_progress

    def restore(self, snapshots: list[Snapshot]) -> None:
        """See `SelfPlayer`; not while a round is played."""
        parts = self._place.settings.parts
        if len(snapshots) != parts:
            raise UsageError(f"selfplay.workers={parts}: the run was started with {len(snapshots)}; keep it to resume")
        self._in_progress = snapshots
        if self._shares is not None:
            self._actors.order(partial(self._shares.restart, snapshots))

    def cpu_seconds(self) -> float:
        """See `SelfPlayer`: of the actors, wherever they are."""
        return self._actors.cpu_seconds()

    @property
    def ready(self) -> int:
        """Actors that can play now."""
        return self._actors.ready

    def close(self) -> None:
        """See `SelfPlayer`."""
        self._actors.close()

    def _start(self) -> Shares:
        if self._shares is None:
            starts = self.snapshot()
            self._shares = Shares(self._place.settings.games, starts, time.monotonic)
            self._actors.start(self._shares, self._actors.put(self._place))
        return self._shares
