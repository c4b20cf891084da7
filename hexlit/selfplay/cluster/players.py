"""Self-play by the actors of a Ray cluster, behind the same calls as self-play on this machine.

One thread starts actors, hands them shares, and takes what comes back; `Dispatch` decides who plays what. Ray places
the actors, moves weights and games, and tells which actor or node has ended.
"""

import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from hexlit.errors import UsageError
from hexlit.selfplay.actor import SelfPlay, SelfPlayCounts, Snapshot
from hexlit.selfplay.cluster.config import RayConfig
from hexlit.selfplay.cluster.connection import connect, first_words
from hexlit.selfplay.cluster.dispatch import Dispatch
from hexlit.selfplay.cluster.game_actor import GameActor, News, identity
from hexlit.selfplay.cluster.shares import Round, Share, Shares, check_parts
from hexlit.selfplay.player import OnGames, OnTargets, Played, Workplace, no_targets
from hexlit.selfplay.reanalysis import PastPositions

_SECONDS_BETWEEN_LOOKS = 0.2


@dataclass(frozen=True)
class _Call:
    """A call of an actor whose answer is awaited."""

    worker: int
    asked: str
    since: float


class RayPlayers:
    """Plays on the cluster of `config`: a `BackgroundPlayer` whose rounds overlap.

    Its games are those of `WorkerPlayers` with as many workers. The end of an actor or of a node costs the shares that
    were being played there. The end of this process ends all actors.
    """

    def __init__(self, workplace: Workplace, parts: int, config: RayConfig) -> None:
        """Join the cluster, where `parts` actors are to play the games of `workplace`.

        Raises:
            UsageError: there is no such cluster.
        """
        self._workplace = workplace
        self._parts = parts
        self._config = config
        self._connection = connect(config, parts)
        self._ray = self._connection.ray
        self._in_progress: list[Snapshot] | Future[Played] | None = None
        self._published: tuple[Any, Any] | None = None
        self._place: Any = None
        # All below belongs to the thread, but for these four.
        self._orders: SimpleQueue[Round | list[Snapshot]] = SimpleQueue()
        self._closing = threading.Event()
        self._told = threading.Event()
        self._error: BaseException | None = None
        self._actors: dict[int, Any] = {}
        self._calls: dict[Any, _Call] = {}
        self._dispatch: Dispatch | None = None
        self._thread: threading.Thread | None = None

    def prepare(self) -> None:
        """See `Player`. It waits until one actor can play; the others join when they can."""
        self._start()
        self._told.wait()
        if self._error is not None:
            raise self._error

    def begin(
        self,
        weights: Any,
        *,
        positions: int,
        network_version: int,
        on_games: OnGames,
        deadline: float | None = None,
        past: PastPositions | None = None,
        on_targets: OnTargets = no_targets,
    ) -> Future[Played]:
        """See `BackgroundPlayer`. Weights go to the cluster once, however many rounds are played with them."""
        assert past is None, "the configuration refuses reanalysis on Ray"
        self._start()
        if self._published is None or self._published[0] is not weights:
            self._published = weights, self._put(weights)
        round_ = Round(self._published[1], network_version, positions, on_games, deadline, time.monotonic())
        self._in_progress = round_.ended
        self._orders.put(round_)
        if self._error is not None:  # the thread has ended, perhaps before it saw the order
            with suppress(Exception):
                round_.ended.set_exception(self._error)
        return round_.ended

    def play(
        self,
        weights: Any,
        *,
        positions: int,
        network_version: int,
        on_games: OnGames,
        deadline: float | None = None,
        past: PastPositions | None = None,
        on_targets: OnTargets = no_targets,
    ) -> SelfPlayCounts:
        """See `Player`."""
        ended = self.begin(
            weights,
            positions=positions,
            network_version=network_version,
            on_games=on_games,
            deadline=deadline,
            past=past,
            on_targets=on_targets,
        )
        return ended.result().counts

    def snapshot(self) -> list[Snapshot]:
        """See `Player`; of the rounds that were begun it waits for the last."""
        if self._in_progress is None:
            settings = self._workplace.settings | {"parts": self._parts}
            self._in_progress = [SelfPlay(**settings | {"part": part}).snapshot() for part in range(self._parts)]
        if isinstance(self._in_progress, Future):
            return self._in_progress.result().in_progress
        return self._in_progress

    def restore(self, snapshots: list[Snapshot]) -> None:
        """See `Player`; not while a round is played."""
        check_parts(snapshots, self._parts)
        self._in_progress = snapshots
        if self._thread is not None:
            self._orders.put(snapshots)

    def cpu_seconds(self) -> float:
        """See `Player`: of the actors, wherever they are."""
        return 0.0 if self._dispatch is None else self._dispatch.cpu_seconds

    def close(self) -> None:
        """See `Player`."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        self._connection.close()

    # What `Dispatch` asks: see `Hands`.

    def hire(self, worker: int) -> None:
        """Have Ray start an actor, where there is room."""
        self._actors[worker] = (
            self._ray.remote(GameActor)
            .options(
                num_cpus=self._config.cpus,
                num_gpus=self._config.gpus,
                resources=self._config.resources or None,
                scheduling_strategy="SPREAD",
                # A share moves to whoever is free; Ray's own restarts would keep it waiting for this one's return.
                max_restarts=0,
                max_task_retries=0,
            )
            .remote()
        )
        self._ask(worker, "hello")

    def give(self, worker: int, share: Share) -> None:
        """Send `share` to its actor."""
        order = share.round
        seconds = None if order.deadline is None else order.deadline - time.monotonic()
        self._ask(
            worker, "play", order.weights, share.part, share.start, share.positions, order.network_version, seconds
        )

    def dismiss(self, worker: int) -> None:
        """Kill the actor; its answers are not waited for any more."""
        self._ray.kill(self._actors.pop(worker), no_restart=True)
        self._calls = {ref: call for ref, call in self._calls.items() if call.worker != worker}

    def room(self) -> str:
        """The resources an actor asks for, and those of the cluster."""
        has, free = self._ray.cluster_resources(), self._ray.available_resources()
        there = ", ".join(f"{free.get(name, 0):g} of {has.get(name, 0):g} {name}" for name in ("CPU", "GPU"))
        return f"each asks for {self._config.asked}; free in the cluster: {there}"

    # The thread.

    def _start(self) -> None:
        if self._thread is None:
            starts = self.snapshot()
            self._place = self._put(self._workplace)
            shares = Shares(self._workplace.settings["games"], starts)
            self._dispatch = Dispatch(self, shares, self._config, time.monotonic)
            self._thread = threading.Thread(target=self._drive, args=(self._dispatch,), name="self-play", daemon=True)
            self._thread.start()

    def _drive(self, dispatch: Dispatch) -> None:
        try:
            dispatch.open()
            while not self._closing.is_set():
                self._take_orders(dispatch)
                dispatch.tick()
                self._end_the_silent(dispatch)
                awaited = list(self._calls)
                if not awaited:
                    time.sleep(_SECONDS_BETWEEN_LOOKS)
                    continue
                self._ray.wait(awaited, num_returns=1, timeout=_SECONDS_BETWEEN_LOOKS)
                for ref in self._ray.wait(awaited, num_returns=len(awaited), timeout=0)[0]:
                    if ref in self._calls:  # its actor was not dismissed meanwhile
                        self._receive(dispatch, ref, self._calls.pop(ref))
            self._error = RuntimeError("self-play on Ray was closed")
        except BaseException as error:  # whoever waits for games has to hear of it
            self._error = self._told_as(error)
        for worker in list(self._actors):
            with suppress(Exception):  # the cluster may be gone
                self.dismiss(worker)
        with suppress(Empty):
            while True:
                order = self._orders.get_nowait()
                if isinstance(order, Round):
                    dispatch.shares.add(order)
        for order in dispatch.shares.rounds:
            with suppress(Exception):  # told by `begin` already
                order.ended.set_exception(self._error)
        self._told.set()

    def _take_orders(self, dispatch: Dispatch) -> None:
        with suppress(Empty):
            while True:
                order = self._orders.get_nowait()
                if isinstance(order, Round):
                    dispatch.shares.add(order)
                else:
                    dispatch.shares.restart(order)

    def _receive(self, dispatch: Dispatch, ref: Any, call: _Call) -> None:
        exceptions = self._ray.exceptions
        try:
            answer = self._ray.get(ref)
        except exceptions.RayTaskError:  # something is wrong with what is played: it would fail anywhere
            raise
        except (exceptions.ObjectStoreFullError, exceptions.OutOfDiskError):
            raise
        except exceptions.RayError as error:
            self.dismiss(call.worker)
            dispatch.lost(call.worker, first_words(error))
            return
        if call.asked == "hello":
            _check_alike(answer)
            dispatch.arrived(call.worker, answer["host"])
            self._ask(call.worker, "set_up", self._place, self._parts)
        elif call.asked == "set_up":
            dispatch.ready(call.worker)
            self._told.set()
        elif call.asked == "play":
            self._ask(call.worker, "more")
        else:
            news: News = answer
            if news.after is None:
                self._ask(call.worker, "more")
            dispatch.heard(call.worker, news.records, news.counts, news.cpu_seconds, news.after)

    def _end_the_silent(self, dispatch: Dispatch) -> None:
        """Actors that play answer within seconds; Ray itself does not notice a frozen process."""
        oldest = time.monotonic() - self._config.silence
        for call in list(self._calls.values()):
            if call.asked in ("play", "more") and call.since < oldest:
                self.dismiss(call.worker)
                dispatch.lost(call.worker, f"no answer for {self._config.silence:g} s")

    def _ask(self, worker: int, asked: str, *arguments: Any) -> None:
        ref = getattr(self._actors[worker], asked).remote(*arguments)
        self._calls[ref] = _Call(worker, asked, time.monotonic())

    def _put(self, value: Any) -> Any:
        try:
            return self._ray.put(value)
        except Exception as error:
            raise self._told_as(error) from error

    def _told_as(self, error: BaseException) -> BaseException:
        """The error that is raised for `error`: a mistake in the games as it was raised, others of Ray in one line."""
        exceptions = self._ray.exceptions
        if isinstance(error, exceptions.RayTaskError):
            return error.cause if isinstance(error.cause, Exception) else error
        if isinstance(error, exceptions.ObjectStoreFullError | exceptions.OutOfDiskError):
            return UsageError(
                f"self-play on Ray: the object store of a node is full ({first_words(error)}); give it more by "
                "ray start --object-store-memory, or free its disk"
            )
        if isinstance(error, exceptions.RayError):
            return UsageError(f"self-play on Ray: {first_words(error)}")
        return error


def _check_alike(told: dict[str, str]) -> None:
    """Raise `UsageError` where an actor runs another hexlit, or another Python, than this process."""
    ours = identity()
    for name, what in (("hexlit", "hexlit"), ("sources", "hexlit with the sources"), ("python", "Python")):
        if told.get(name) != ours[name]:
            raise UsageError(
                f"self-play on Ray: {told.get('host', 'an actor')} has {what} {told.get(name)}, this process "
                f"{ours[name]}; install the same on all hosts"
            )
