"""Self-play on a Ray cluster, behind the same calls as self-play on this machine.

A round is cut into the parts that worker processes would have. A share, one part of one round, is a
pure function: the weights, the games in progress and the seed give the games that end and the games
that go on. So a lost share is played again anywhere with the same result, and the games are those
of `WorkerPlayers`. A part plays its rounds one after the other; parts need not wait for one
another.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from hexlit.cluster.config import RayConfig
from hexlit.cluster.tasks import RayTasks
from hexlit.errors import UsageError
from hexlit.files import cache_folder
from hexlit.hex.jit import is_compiled, mark_compiled
from hexlit.hex.record import GameRecord
from hexlit.locks import alone
from hexlit.selfplay.actor import SelfPlay, SelfPlayCounts, Snapshot, share_of
from hexlit.selfplay.players import PlayerSettings, RoundRequest, RoundResult, compile_play

_KERNELS = "selfplay-actor"


@dataclass(frozen=True)
class SharePlayerMaker:
    """Sets a worker process of the cluster up for shares of the games of `place`."""

    place: PlayerSettings

    def __call__(self) -> Callable[..., tuple[list[GameRecord], SelfPlayCounts, Snapshot]]:
        """Make the evaluator and compile the kernels;
        one process of a host compiles, the others wait and load.
        """
        settings, hosts = self.place.settings, {self.place.settings.size: self.place.make_host()}
        with nullcontext() if is_compiled(_KERNELS) else alone(cache_folder() / "actors.lock"):
            compile_play(settings)
            mark_compiled(_KERNELS)

        def play(
            weights: Any,
            part: int,
            size: int,
            start: Snapshot,
            positions: int,
            version: int,
            seconds: float | None,
        ) -> tuple[list[GameRecord], SelfPlayCounts, Snapshot]:
            """The share of `part` from `start`, on a board of `size`: games that ended, counts,
            games that go on.

            Clocks of hosts may differ, so it gets at most `seconds` instead of a deadline. Names of
            the games on a smaller board begin with its rows.
            """
            place, board = (
                (self.place, "") if size == settings.size else (self.place.on(size), f"{size}/")
            )
            host = hosts[size] = hosts.get(size) or place.make_host()
            games = SelfPlay(replace(place.settings, part=part))
            names = [name for name in start if name.rpartition("/")[0] == board[:-1]]
            if names:
                games.restore({name.removeprefix(board): start[name] for name in names})
            records: list[GameRecord] = []
            counts = games.play(
                host.refreshed(weights),
                positions=positions,
                network_version=version,
                on_games=lambda ended, _: records.extend(ended),
                deadline=None if seconds is None else time.monotonic() + seconds,
            )
            return (
                records,
                counts,
                start | {board + name: array for name, array in games.snapshot().items()},
            )

        return play


@dataclass
class _Round:
    """Games that are played with one network, by part."""

    request: RoundRequest
    weights: Any
    """A reference to the weights on the cluster."""
    begun: float
    counts: dict[int, SelfPlayCounts] = field(default_factory=dict)
    after: dict[int, Snapshot] = field(default_factory=dict)
    ended: Future[RoundResult] = field(default_factory=Future)


class RayPlayers:
    """Plays on the cluster of `config`: a `SelfPlayer` whose rounds overlap.

    The loss of a process or a node costs only the shares played there at the time.
    """

    def __init__(self, place: PlayerSettings, parts: int, config: RayConfig) -> None:
        """Join the cluster, with `parts` shares at a time for the games of `place`.

        Raises:
            UsageError: there is no such cluster.
        """
        self._settings = replace(place.settings, parts=parts)
        maker = SharePlayerMaker(replace(place, settings=self._settings))
        self._tasks = RayTasks(config, parts, maker, name="self-play")
        self._parts = [ThreadPoolExecutor(1, f"self-play {part}") for part in range(parts)]
        self._lock = threading.Lock()
        self._games: list[Snapshot] = []
        self._latest: Future[RoundResult] | None = None
        self._published: tuple[Any, Any] | None = None

    def prepare(self) -> None:
        """See `SelfPlayer`. It waits until the cluster works for this run."""
        self._tasks.wait()

    def start_async(self, request: RoundRequest) -> Future[RoundResult]:
        """See `SelfPlayer`. Weights go to the cluster once,
        however many rounds are played with them.
        """
        if not self._games:
            self._games = self.snapshot()
        if self._published is None or self._published[0] is not request.weights:
            self._published = request.weights, self._tasks.put(request.weights)
        current = _Round(request, self._published[1], time.monotonic())
        self._latest = current.ended
        for part, executor in enumerate(self._parts):
            executor.submit(self._play, current, part)
        return current.ended

    def play(self, request: RoundRequest) -> SelfPlayCounts:
        """See `SelfPlayer`."""
        return self.start_async(request).result().counts

    def snapshot(self) -> list[Snapshot]:
        """See `SelfPlayer`; it waits for the last round that was begun."""
        if self._latest is not None:
            return self._latest.result().in_progress
        parts = range(len(self._parts))
        return self._games or [
            SelfPlay(replace(self._settings, part=part)).snapshot() for part in parts
        ]

    def restore(self, snapshots: list[Snapshot]) -> None:
        """See `SelfPlayer`; not while a round is played."""
        if len(snapshots) != len(self._parts):
            raise UsageError(
                f"selfplay.workers={len(self._parts)}: the run was started with {len(snapshots)}; keep it to resume"
            )
        self._games, self._latest = list(snapshots), None

    def cpu_seconds(self) -> float:
        """See `SelfPlayer`: of the shares that are done, wherever they were played."""
        return self._tasks.cpu_seconds

    def close(self) -> None:
        """See `SelfPlayer`."""
        self._tasks.closing.set()
        for (
            executor
        ) in self._parts:  # a thread that waits on a connection that was closed would wait for ever
            executor.shutdown(wait=True, cancel_futures=True)
        self._tasks.close()

    def _play(self, current: _Round, part: int) -> None:
        """Play a share, after those of the earlier rounds of its part;
        pass its games on once they are all here.
        """
        request, own = current.request, self._settings
        try:
            positions = share_of(request.positions, own.games, part, own.parts)
            seconds = None if request.deadline is None else request.deadline - time.monotonic()
            what = (
                request.size or own.size,
                self._games[part],
                positions,
                request.network_version,
                seconds,
            )
            job = self._tasks.submit(current.weights, part, *what)
            records, counts, after = self._tasks.result(job)
            with self._lock:
                self._games[part] = current.after[part] = after
                current.counts[part] = counts
                total = SelfPlayCounts.total(
                    [*current.counts.values()], time.monotonic() - current.begun
                )
                request.on_games(records, total)
                if len(current.counts) == own.parts:
                    after_all = [current.after[number] for number in range(own.parts)]
                    current.ended.set_result(RoundResult(total, after_all))
        except BaseException as error:
            with self._lock:
                if not current.ended.done():
                    current.ended.set_exception(error)
