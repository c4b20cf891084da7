"""Players of self-play games: the interface of all of them, one in this process, and a pool of
worker processes.

Worker processes are started by spawn. Each plays games with different numbers (and so random draws),
and stops after its share of positions. So the games of a run do not depend on timing.
"""

import contextlib
import math
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol, cast

import psutil

from hexlit.cluster.lifeline import how_ended, spawn_tied
from hexlit.errors import UsageError
from hexlit.hex.jit import is_compiled
from hexlit.hex.record import GameRecord
from hexlit.search.evaluator import Evaluator, UniformEvaluator
from hexlit.selfplay.actor import GamesSettings, SelfPlay, SelfPlayCounts, Snapshot, share_of

NICENESS = 5
"""Niceness of worker processes: the training next to them, which they would wait for, should find
its cores free.
"""

SENT_EVERY = 0.05
"""Seconds between two messages with games of a worker: a message and its writing to the store take
the training's process half a millisecond.
"""

GAMES_OF_A_BOARD = 10**9
"""Numbers of games for each smaller board of a run."""


class NetworkHost(Protocol):
    """Builds an evaluator once and refreshes its weights."""

    def refreshed(self, weights: Any) -> Evaluator:
        """An evaluator with `weights`."""


def ignore(records: list[GameRecord], counts: SelfPlayCounts) -> None:
    """Drop games that nobody waits for."""


@dataclass(frozen=True)
class RoundRequest:
    """A round of self-play, as a player gets it."""

    weights: Any
    """Weights of the network, as `NetworkHost.refreshed` takes them."""
    positions: int
    """Least number of positions in the games that end, for all processes that play."""
    network_version: int
    """Version of these weights, for the records of the games."""
    on_games: Callable[[list[GameRecord], SelfPlayCounts], None] = ignore
    """Gets the games as they end, with the counts so far."""
    deadline: float | None = None
    """Time on `time.monotonic()`, which all processes of a machine share, when the round is cut
    short. None: never.
    """
    size: int | None = None
    """Rows of the board. None: those of the run's board."""


@dataclass(frozen=True)
class PlayerSettings:
    """Settings of a player, in this process or in another one; they can be sent there."""

    games: GamesSettings
    make_host: Callable[[], NetworkHost]
    """Makes the evaluator's host, in the process that plays."""

    def with_board(self, size: int) -> "PlayerSettings":
        """The settings of this player's games on boards of `size`; the games of each board have
        different numbers.
        """
        games = replace(self.games, size=size, first_game=size * GAMES_OF_A_BOARD)
        return PlayerSettings(games, replace(self.make_host, size=size))  # type: ignore[type-var]  # a HostMaker

    def cut(self, count: int) -> "list[PlayerSettings]":
        """The settings of `count` processes; if these games are one part of several, each is a part
        of that part.
        """
        first = count * self.games.part
        parts = count * self.games.parts
        return [
            PlayerSettings(replace(self.games, part=part, parts=parts), self.make_host)
            for part in range(first, first + count)
        ]


class SelfPlayer(Protocol):
    """Plays the games of an epoch, on this machine or on others."""

    def prepare(self) -> None:
        """Compile or load the kernels of play."""

    def play(self, request: RoundRequest) -> SelfPlayCounts:
        """Play until the games that ended hold this player's share of the positions; see
        `SelfPlay.play`.
        """

    def start_async(self, request: RoundRequest) -> Future[SelfPlayCounts]:
        """As `play`, in the background; the functions of `request` run in another thread."""

    def snapshot(self) -> list[Snapshot]:
        """The games in progress, one snapshot for each process that plays."""

    def restore(self, snapshots: list[Snapshot]) -> None:
        """Continue this player's share of the games of `snapshots`, those of all processes in
        order.
        """

    def cpu_seconds(self) -> float:
        """Processor time so far of the processes that play, other than this one."""

    def close(self) -> None:
        """End all processes and the play under way."""


def compile_play(games: GamesSettings) -> None:
    """Compile or load the kernels of play with these settings, by a separate game."""
    one_game = replace(games, games=1, groups=1, part=0, parts=1)
    SelfPlay(one_game).play(UniformEvaluator(), positions=1)


class LocalPlayer:
    """Plays in this process."""

    def __init__(self, settings: PlayerSettings) -> None:
        """Set up the games of `settings`."""
        self._settings = settings
        self._host = settings.make_host()  # first, for it sets the number of threads
        self._smaller: dict[int, LocalPlayer] = {}

    @cached_property
    def games(self) -> SelfPlay:
        """The games, made on first use because starting them needs compiled code."""
        return SelfPlay(self._settings.games)

    def prepare(self) -> None:
        """See `SelfPlayer`."""
        compile_play(self._settings.games)

    def play(self, request: RoundRequest) -> SelfPlayCounts:
        """See `SelfPlayer`."""
        games = self._settings.games
        if request.size not in (None, games.size):
            return self._on_board(request.size).play(replace(request, size=None))
        return self.games.play(
            self._host.refreshed(request.weights),
            positions=share_of(request.positions, games.games, games.part, games.parts),
            network_version=request.network_version,
            on_games=request.on_games,
            deadline=request.deadline,
        )

    def start_async(self, request: RoundRequest) -> Future[SelfPlayCounts]:
        """The settings refuse to be ahead without other processes."""
        raise NotImplementedError

    def snapshot(self) -> list[Snapshot]:
        """See `SelfPlayer`. Names of the games on a smaller board begin with its rows."""
        snapshot = self.games.snapshot()
        for size, player in self._smaller.items():
            for name, array in player.games.snapshot().items():
                snapshot[f"{size}/{name}"] = array
        return [snapshot]

    def restore(self, snapshots: list[Snapshot]) -> None:
        """See `SelfPlayer`."""
        prefixes = {name.partition("/")[0] for name in snapshots[0] if "/" in name}
        for prefix in prefixes:
            smaller = [of_board(prefix, snapshot) for snapshot in snapshots]
            self._on_board(int(prefix)).restore(smaller)
        run_board = [of_board("", snapshot) for snapshot in snapshots]
        self.games.restore(self._settings.games.of_part(run_board))

    def _on_board(self, size: int) -> "LocalPlayer":
        """The player on the smaller board, made when it first plays."""
        if size not in self._smaller:
            self._smaller[size] = LocalPlayer(self._settings.with_board(size))
        return self._smaller[size]

    def cpu_seconds(self) -> float:
        """See `SelfPlayer`."""
        return 0.0

    def close(self) -> None:
        """See `SelfPlayer`; there is nothing to end."""


def of_board(rows: str, snapshot: Snapshot) -> Snapshot:
    """The part of a snapshot for the board whose names begin with `rows`; "" is the run's board."""
    part = {}
    for name, array in snapshot.items():
        board, _, field = name.rpartition("/")
        if board == rows:
            part[field] = array
    return part


class WorkerPool:
    """Plays in `count` processes; each has its share of the slots, and collects its share of the
    positions.

    They end with this process, however it ends (see `hexlit.cluster.lifeline`).
    """

    def __init__(self, settings: PlayerSettings, count: int) -> None:
        """Start the processes; each sets up its part of the games of `settings`."""
        self._rule = settings.games.search.algorithm
        context = multiprocessing.get_context("spawn")
        line, self._lifeline = context.Pipe(duplex=False)  # no other process has its other end
        self._connections: list[Connection] = []
        self._processes = []
        for worker, part in enumerate(settings.cut(count)):
            connection, worker_end = context.Pipe()
            process = spawn_tied(
                context,
                line,
                _work,
                (worker_end, part),
                name=f"self-play {worker}",
                niceness=NICENESS,
            )
            self._processes.append(process)
            self._connections.append(connection)
            worker_end.close()
        line.close()
        self._cpu_seconds = [0.0] * count
        self._rounds = ThreadPoolExecutor(1, "self-play")

    def prepare(self) -> None:
        """See `SelfPlayer`. The first worker compiles all kernels that are not on disk; the others
        find them there.
        """
        workers = range(len(self._processes))
        if not is_compiled(f"selfplay {self._rule}"):
            self._call(workers[:1], "prepare")
            workers = workers[1:]
        self._call(workers, "prepare")

    def play(self, request: RoundRequest) -> SelfPlayCounts:
        """See `SelfPlayer`. Games arrive as they end; seconds inside the network are the workers'
        mean.
        """
        start = time.perf_counter()
        playing = dict(zip(self._connections, range(len(self._connections)), strict=True))
        for worker in playing.values():
            self._send(worker, "play", replace(request, on_games=ignore))
        counts = [SelfPlayCounts() for _ in self._processes]
        while playing:
            for ready in wait(list(playing)):
                connection = cast("Connection", ready)
                worker = playing[connection]
                message = self._receive(worker)
                if isinstance(message, SelfPlayCounts):  # the worker's share is done
                    del playing[connection]
                    records = []
                    counts[worker] = message
                else:
                    records, counts[worker] = message
                request.on_games(records, SelfPlayCounts.total(counts, time.perf_counter() - start))
        return SelfPlayCounts.total(counts, time.perf_counter() - start)

    def start_async(self, request: RoundRequest) -> Future[SelfPlayCounts]:
        """See `SelfPlayer`."""
        return self._rounds.submit(self.play, request)

    def snapshot(self) -> list[Snapshot]:
        """See `SelfPlayer`."""
        return list(chain.from_iterable(self._call(range(len(self._processes)), "snapshot")))

    def restore(self, snapshots: list[Snapshot]) -> None:
        """See `SelfPlayer`."""
        self._call(range(len(self._processes)), "restore", snapshots)

    def cpu_seconds(self) -> float:
        """See `SelfPlayer`."""
        for worker, process in enumerate(self._processes):
            # For a process that is gone, the last value is kept.
            with contextlib.suppress(psutil.Error):
                times = psutil.Process(process.pid).cpu_times()
                self._cpu_seconds[worker] = times.user + times.system
        return sum(self._cpu_seconds)

    def close(self) -> None:
        """See `SelfPlayer`. The processes hold nothing that could be lost; `play` in another thread
        raises.
        """
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join(timeout=10)
        self._rounds.shutdown(cancel_futures=True)
        self._lifeline.close()

    def _call(self, workers: Iterable[int], method: str, *arguments: Any) -> list[Any]:
        """The results of a method of the `LocalPlayer` of each of `workers`, which work at the same
        time.
        """
        for worker in workers:
            self._send(worker, method, *arguments)
        return [self._receive(worker) for worker in workers]

    def _send(self, worker: int, *message: Any) -> None:
        try:
            self._connections[worker].send(message)
        except OSError:
            raise self._ended(worker) from None

    def _receive(self, worker: int) -> Any:
        try:
            answer = self._connections[worker].recv()
        except (EOFError, OSError):
            raise self._ended(worker) from None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _ended(self, worker: int) -> UsageError:
        self._processes[worker].join(timeout=10)
        return UsageError(
            f"self-play worker {worker}: {how_ended(self._processes[worker].exitcode)}"
        )


def make_player(settings: PlayerSettings, workers: int) -> SelfPlayer:
    """A player in this process (`workers` = 0), or in `workers` others."""
    return WorkerPool(settings, workers) if workers else LocalPlayer(settings)


class _GameSender:
    """Sends the games that have ended to the parent, several at once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._records: list[GameRecord] = []
        self._last = -math.inf

    def add(self, records: list[GameRecord], counts: SelfPlayCounts) -> None:
        """Send `records` with those before them, unless the last message was sent just now."""
        self._records += records
        if time.monotonic() - self._last >= SENT_EVERY:
            self.send(counts)

    def send(self, counts: SelfPlayCounts) -> None:
        """Send all games."""
        self._connection.send((self._records, counts))
        self._records = []
        self._last = time.monotonic()


def _work(connection: Connection, settings: PlayerSettings) -> None:
    """Main loop of a worker process, until its connection is closed or its parent is gone."""
    sender = _GameSender(connection)
    # Ctrl-C ends the parent, which closes the connection.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        player = LocalPlayer(settings)
        while True:
            method, *arguments = connection.recv()
            if method == "play":
                arguments = [replace(arguments[0], on_games=sender.add)]
            result = getattr(player, method)(*arguments)
            if method == "play":
                sender.send(result)
            connection.send(result)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except UsageError as error:  # the parent prints it, in one line
        connection.send(error)
    except Exception as error:
        connection.send(error)
        raise
