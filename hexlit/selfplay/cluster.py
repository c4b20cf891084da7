"""Self-play on a Ray cluster, behind the same calls as self-play on this machine.

A round is cut into the parts that worker processes would have. A share, one part of one round, is a
pure function: the weights, the games in progress and the seed give the games that end and the games
that go on. So a lost share is played again anywhere with the same result, and the games are those
of `WorkerPool`.
"""

import threading
import time
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
from hexlit.selfplay.workers import PlayerSettings, RoundRequest, compile_play, of_board

_KERNELS = "selfplay-actor"


Share = tuple[list[GameRecord], SelfPlayCounts, Snapshot]
"""Result of a share: games that ended, counts, games that go on."""


@dataclass(frozen=True)
class SharePlayerMaker:
    """Sets a worker process of the cluster up for shares of the games of `settings`."""

    settings: PlayerSettings

    def __call__(self) -> "SharePlayer":
        """Make the evaluator and compile the kernels; one process of a host compiles, the others
        wait and load.
        """
        player = SharePlayer(self.settings)
        with nullcontext() if is_compiled(_KERNELS) else alone(cache_folder() / "actors.lock"):
            compile_play(self.settings.games)
            mark_compiled(_KERNELS)
        return player


class SharePlayer:
    """Plays shares in a worker process of the cluster."""

    def __init__(self, settings: PlayerSettings) -> None:
        self._settings = settings
        self._hosts = {settings.games.size: settings.make_host()}

    def __call__(
        self,
        weights: Any,
        part: int,
        size: int,
        start: Snapshot,
        positions: int,
        version: int,
        seconds: float | None,
    ) -> Share:
        """The share of `part` from `start`, on a board of `size`.

        Clocks of hosts may differ, so it gets at most `seconds` instead of a deadline. Names of
        the games on a smaller board begin with its rows.
        """
        settings = self._settings
        prefix = ""
        if size != settings.games.size:
            settings = settings.with_board(size)
            prefix = f"{size}/"
        if size not in self._hosts:
            self._hosts[size] = settings.make_host()
        games = SelfPlay(replace(settings.games, part=part))
        in_progress = of_board(prefix.removesuffix("/"), start)
        if in_progress:
            games.restore(in_progress)
        records: list[GameRecord] = []
        counts = games.play(
            self._hosts[size].refreshed(weights),
            positions=positions,
            network_version=version,
            on_games=lambda ended, _: records.extend(ended),
            deadline=None if seconds is None else time.monotonic() + seconds,
        )
        after = {prefix + name: array for name, array in games.snapshot().items()}
        return records, counts, start | after


@dataclass
class _Round:
    """Games that are played with one network, by part."""

    request: RoundRequest
    weights: Any
    """A reference to the weights on the cluster."""
    begun: float
    """Time of the beginning, on `time.monotonic()`."""
    counts: dict[int, SelfPlayCounts] = field(default_factory=dict)
    ended: Future[SelfPlayCounts] = field(default_factory=Future)


class RayPool:
    """A `SelfPlayer` that plays on a cluster.

    The loss of a process or a node costs only the shares played there at the time.
    """

    def __init__(self, settings: PlayerSettings, parts: int, config: RayConfig) -> None:
        """Join the cluster, with `parts` shares at a time for the games of `settings`.

        Raises:
            UsageError: there is no such cluster.
        """
        self._settings = replace(settings.games, parts=parts)
        maker = SharePlayerMaker(replace(settings, games=self._settings))
        self._tasks = RayTasks(config, parts, maker, name="self-play")
        self._executor = ThreadPoolExecutor(parts, "self-play")
        self._lock = threading.Lock()
        self._games: list[Snapshot] = []
        self._latest: Future[SelfPlayCounts] | None = None

    def prepare(self) -> None:
        """See `SelfPlayer`. It waits until the cluster works for this run."""
        self._tasks.wait()

    def start_async(self, request: RoundRequest) -> Future[SelfPlayCounts]:
        """See `SelfPlayer`."""
        if not self._games:
            self._games = self.snapshot()
        current = _Round(request, self._tasks.put(request.weights), time.monotonic())
        self._latest = current.ended
        for part in range(self._settings.parts):
            self._executor.submit(self._play, current, part)
        return current.ended

    def play(self, request: RoundRequest) -> SelfPlayCounts:
        """See `SelfPlayer`."""
        return self.start_async(request).result()

    def snapshot(self) -> list[Snapshot]:
        """See `SelfPlayer`; it waits for the last round that was begun."""
        if self._latest is not None:
            self._latest.result()
        if self._games:
            return list(self._games)
        return [
            SelfPlay(replace(self._settings, part=part)).snapshot()
            for part in range(self._settings.parts)
        ]

    def restore(self, snapshots: list[Snapshot]) -> None:
        """See `SelfPlayer`; not while a round is played."""
        parts = self._settings.parts
        if len(snapshots) != parts:
            raise UsageError(
                f"selfplay.workers={parts}: the run was started with {len(snapshots)}; keep it to resume"
            )
        self._games = list(snapshots)
        self._latest = None

    def cpu_seconds(self) -> float:
        """See `SelfPlayer`: of the shares that are done, on any host."""
        return self._tasks.cpu_seconds

    def close(self) -> None:
        """See `SelfPlayer`."""
        self._tasks.closing.set()
        # A thread that waits on a connection that was closed would wait for ever.
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._tasks.close()

    def _play(self, current: _Round, part: int) -> None:
        """Play a share; pass its games on once they are all here."""
        request = current.request
        settings = self._settings
        try:
            positions = share_of(request.positions, settings.games, part, settings.parts)
            seconds = None if request.deadline is None else request.deadline - time.monotonic()
            job = self._tasks.submit(
                current.weights,
                part,
                request.size or settings.size,
                self._games[part],
                positions,
                request.network_version,
                seconds,
            )
            records, counts, after = self._tasks.result(job)
            with self._lock:
                self._games[part] = after
                current.counts[part] = counts
                seconds = time.monotonic() - current.begun
                total = SelfPlayCounts.total(list(current.counts.values()), seconds)
                request.on_games(records, total)
                if len(current.counts) == settings.parts:
                    current.ended.set_result(total)
        except BaseException as error:
            with self._lock:
                if not current.ended.done():
                    current.ended.set_exception(error)
