"""Self-play in worker processes; each plays its share of the games.

Workers are started by spawn. Each plays games with its own numbers (and so random draws), and stops after its own share
of positions. So the games of a run do not depend on timing.
"""

import contextlib
import multiprocessing
import os
import signal
import time
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection, wait
from typing import Any, cast

import psutil

from hexlit.hex.jit import is_compiled
from hexlit.lifeline import spawn_tied
from hexlit.selfplay.actor import SelfPlayCounts, Snapshot, part_of
from hexlit.selfplay.player import LocalPlayer, PlayerSettings, RoundRequest, RoundResult, SelfPlayer, sum_of
from hexlit.selfplay.reanalysis import NewTargets

NICENESS = 5
"""Niceness of worker processes: the training beside them, which they would wait for, should find its cores free."""


class WorkerPlayers:
    """Plays in `count` processes; each has its share of the slots, and collects its share of the positions.

    They end with this process, however it ends (see `hexlit.lifeline`).
    """

    def __init__(self, workplace: PlayerSettings, count: int) -> None:
        """Start the processes; each sets up the games of `workplace`, with its own numbers.

        If `workplace` is one part of several, each process is a part of that part.
        """
        context = multiprocessing.get_context("spawn")
        line, self._lifeline = context.Pipe(duplex=False)  # no other process has its other end
        self._connections: list[Connection] = []
        self._processes = []
        self._parts = count * int(workplace.settings.get("parts", 1))
        self._first = count * int(workplace.settings.get("part", 0))
        for worker in range(count):
            ours, theirs = context.Pipe()
            share = workplace.of_process(worker, self._first + worker, self._parts)
            process = spawn_tied(context, line, _work, (theirs, share), f"self-play {worker}")
            theirs.close()
            self._connections.append(ours)
            self._processes.append(process)
        line.close()
        self._games: int = workplace.settings["games"]
        self._cpu_seconds = [0.0] * count
        self._rounds = ThreadPoolExecutor(1, "self-play")

    def prepare(self) -> None:
        """See `SelfPlayer`. The first worker compiles all kernels that are not on disk; the others find them there."""
        places = list(enumerate(self._connections))
        loads = is_compiled("selfplay")
        for together in [places] if loads else [places[:1], places[1:]]:
            for worker, connection in together:
                self._send(worker, connection, ("prepare",))
            for worker, connection in together:
                self._receive(worker, connection)

    def play(self, request: RoundRequest) -> SelfPlayCounts:
        """See `SelfPlayer`. Games arrive as they end; seconds inside the network are the workers' mean."""
        start = time.perf_counter()
        # Clocks of processes may differ; durations agree.
        seconds = None if request.deadline is None else request.deadline - time.monotonic()
        told = (request.weights, request.positions, request.network_version, seconds, request.past)
        for worker, connection in enumerate(self._connections):
            self._send(worker, connection, ("play", *told))
        counts = [SelfPlayCounts() for _ in self._connections]
        playing = dict(zip(self._connections, range(len(counts)), strict=True))
        while playing:
            for ready in wait(list(playing)):
                connection = cast("Connection", ready)
                worker = playing[connection]
                found, counted, done = self._receive(worker, connection)
                if isinstance(found, NewTargets):
                    request.on_targets(found)
                    continue
                counts[worker] = counted
                request.on_games(found, sum_of(counts, time.perf_counter() - start))
                if done:
                    del playing[connection]
        return sum_of(counts, time.perf_counter() - start)

    def start_async(self, request: RoundRequest) -> Future[RoundResult]:
        """See `BackgroundSelfPlayer`. Rounds are played one after the other."""

        def played() -> RoundResult:
            return RoundResult(self.play(request), self.snapshot())

        return self._rounds.submit(played)

    def snapshot(self) -> list[Snapshot]:
        """See `SelfPlayer`."""
        for worker, connection in enumerate(self._connections):
            self._send(worker, connection, ("snapshot",))
        return [self._receive(worker, connection) for worker, connection in enumerate(self._connections)]

    def restore(self, snapshots: list[Snapshot]) -> None:
        """See `SelfPlayer`."""
        for worker, connection in enumerate(self._connections):
            own = part_of(snapshots, self._games, self._first + worker, self._parts)
            self._send(worker, connection, ("restore", own))
            self._receive(worker, connection)

    def cpu_seconds(self) -> float:
        """See `SelfPlayer`."""
        for worker, process in enumerate(self._processes):
            with contextlib.suppress(psutil.Error):  # for a process that is gone, the last value is kept
                times = psutil.Process(process.pid).cpu_times()
                self._cpu_seconds[worker] = times.user + times.system
        return sum(self._cpu_seconds)

    def close(self) -> None:
        """See `SelfPlayer`. The processes hold nothing that could be lost; `play` in another thread raises."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join(timeout=10)
        self._rounds.shutdown(cancel_futures=True)
        self._lifeline.close()

    def _send(self, worker: int, connection: Connection, message: tuple[Any, ...]) -> None:
        try:
            connection.send(message)
        except OSError:
            raise self._ended(worker) from None

    def _receive(self, worker: int, connection: Connection) -> Any:
        try:
            answer = connection.recv()
        except (EOFError, OSError):
            raise self._ended(worker) from None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _ended(self, worker: int) -> RuntimeError:
        self._processes[worker].join(timeout=10)
        return RuntimeError(f"self-play worker {worker} ended with exit code {self._processes[worker].exitcode}")


def make_player(workplace: PlayerSettings, workers: int) -> SelfPlayer:
    """A player in this process (`workers` = 0), or in `workers` others."""
    return WorkerPlayers(workplace, workers) if workers else LocalPlayer(workplace)


def _work(connection: Connection, workplace: PlayerSettings) -> None:
    """Main loop of a worker process, until its connection is closed or its parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, which closes the connection
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    try:
        player = LocalPlayer(workplace)
        while True:
            command, *arguments = connection.recv()
            if command == "play":
                weights, positions, network_version, seconds, past = arguments
                request = RoundRequest(
                    weights,
                    positions,
                    network_version,
                    on_games=lambda records, counts: connection.send((records, counts, False)),
                    deadline=None if seconds is None else time.monotonic() + seconds,
                    past=past,
                    on_targets=lambda targets: connection.send((targets, None, False)),
                )
                connection.send(([], player.play(request), True))
            elif command == "prepare":
                player.prepare()
                connection.send(None)
            elif command == "snapshot":
                connection.send(player.snapshot()[0])
            else:
                player.restore_own(*arguments)
                connection.send(None)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except Exception as error:
        connection.send(error)
        raise
