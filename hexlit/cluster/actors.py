"""Actors of a Ray cluster that do shares of some work.

One thread starts actors, hands them shares, and collects the results; `Dispatch` decides who does which share. Ray
places the actors, moves their data, and reports ended actors and nodes.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from hexlit.cluster.config import RayConfig
from hexlit.cluster.connection import connect, first_words
from hexlit.cluster.dispatch import Dispatch, Work
from hexlit.cluster.versions import check_alike
from hexlit.errors import UsageError

_SECONDS_BETWEEN_LOOKS = 0.2
_SILENCES_TO_SET_UP = 10
_SECONDS_TO_SET_UP = 600.0
"""Least limit: kernels take two minutes to compile on a slow machine, and a host's actors wait for one another."""

ShareT = TypeVar("ShareT")


@dataclass(frozen=True)
class _Call:
    """A pending call of an actor."""

    worker: int
    asked: str
    since: float


class Actors(Generic[ShareT]):
    """Actors on the cluster of a configuration. The end of this process ends all of them.

    An actor is a plain class with four methods: `hello()` (`versions.identity` and `host`), `set_up(...)`, `play(...)`
    and `more()`. `play` begins a share and returns at once; `more` returns its `News` within seconds.
    """

    def __init__(self, config: RayConfig, count: int, actor: type, name: str) -> None:
        """Join the cluster for `count` instances of the class `actor`; messages call them `name`.

        Raises:
            UsageError: there is no such cluster.
        """
        self._config = config
        self._actor = actor
        self._name = name
        self._connection = connect(config, count)
        self._ray = self._connection.ray
        # The thread owns everything below, except for these four.
        self._orders: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._closing = threading.Event()
        self._told = threading.Event()
        self._error: BaseException | None = None
        self._actors: dict[int, Any] = {}
        self._calls: dict[Any, _Call] = {}
        self._dispatch: Dispatch[ShareT] | None = None
        self._set_up: tuple[Any, ...] = ()
        self._thread: threading.Thread | None = None

    def start(self, work: Work[ShareT], *set_up: Any) -> None:
        """Start actors, each with the arguments `set_up`; they do the shares of `work` until `close`."""
        self._set_up = set_up
        self._dispatch = Dispatch(self, work, self._config, time.monotonic)
        self._thread = threading.Thread(target=self._drive, args=(self._dispatch,), name=self._name, daemon=True)
        self._thread.start()

    @property
    def started(self) -> bool:
        """Whether `start` was called."""
        return self._thread is not None

    def wait(self) -> None:
        """Wait until one actor can work; the others join when they can. Raises the error that has ended the thread."""
        self._told.wait()
        if self._error is not None:
            raise self._error

    def order(self, change: Callable[[], None]) -> None:
        """Have the thread call `change`, which adds work, before it hands out the next share."""
        assert self._dispatch is not None
        self._orders.put(change)
        if self._error is not None:  # the thread has ended, perhaps before it saw the order
            self._give_up(self._dispatch, self._error)

    def put(self, value: Any) -> Any:
        """Send `value` to the cluster once; the result represents it as an argument."""
        try:
            return self._ray.put(value)
        except Exception as error:
            raise self._told_as(error) from error

    @property
    def ready(self) -> int:
        """Number of actors that can work now."""
        return 0 if self._dispatch is None else self._dispatch.ready_workers

    def cpu_seconds(self) -> float:
        """Processor time of the actors so far."""
        return 0.0 if self._dispatch is None else self._dispatch.cpu_seconds

    def close(self) -> None:
        """End the actors, and leave the cluster."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        self._connection.close()

    # Calls from `Dispatch`: see `Hands`.

    def hire(self, worker: int) -> None:
        """Have Ray start an actor, if there is room."""
        self._actors[worker] = (
            self._ray.remote(self._actor)
            .options(
                num_cpus=self._config.cpus,
                num_gpus=self._config.gpus,
                resources=self._config.resources or None,
                scheduling_strategy="SPREAD",
                # A share moves to any free actor; Ray's own restarts would make it wait for this one's return.
                max_restarts=0,
                max_task_retries=0,
            )
            .remote()
        )
        self._ask(worker, "hello")

    def give(self, worker: int, share: ShareT) -> None:
        """Send `share` to its actor."""
        assert self._dispatch is not None
        self._ask(worker, "play", *self._dispatch.work.arguments(share))

    def dismiss(self, worker: int) -> None:
        """Kill the actor; its answers are ignored from now on."""
        self._ray.kill(self._actors.pop(worker), no_restart=True)
        self._calls = {ref: call for ref, call in self._calls.items() if call.worker != worker}

    def room(self) -> str:
        """The resources that an actor asks for, and those of the cluster."""
        has, free = self._ray.cluster_resources(), self._ray.available_resources()
        there = ", ".join(f"{free.get(name, 0):g} of {has.get(name, 0):g} {name}" for name in ("CPU", "GPU"))
        return f"each asks for {self._config.asked}; free in the cluster: {there}"

    # Code of the thread.

    def _drive(self, dispatch: Dispatch[ShareT]) -> None:
        try:
            dispatch.open()
            while not self._closing.is_set():
                self._take_orders()
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
            self._error = RuntimeError(f"{self._name} on Ray was closed")
        except BaseException as error:  # all waiting callers get it
            self._error = self._told_as(error)
        for worker in list(self._actors):
            with suppress(Exception):  # the cluster may be gone
                self.dismiss(worker)
        self._give_up(dispatch, self._error)
        self._told.set()

    def _give_up(self, dispatch: Dispatch[ShareT], error: BaseException) -> None:
        self._take_orders()
        dispatch.work.fail(error)

    def _take_orders(self) -> None:
        with suppress(Empty):
            while True:
                self._orders.get_nowait()()

    def _receive(self, dispatch: Dispatch[ShareT], ref: Any, call: _Call) -> None:
        exceptions = self._ray.exceptions
        try:
            answer = self._ray.get(ref)
        except (exceptions.ObjectStoreFullError, exceptions.OutOfDiskError) as error:
            raise self._no_room(dispatch.host(call.worker), error) from error
        except exceptions.RayTaskError:  # an error of the work itself, which would fail anywhere
            raise
        except exceptions.RayError as error:
            self.dismiss(call.worker)
            dispatch.lost(call.worker, first_words(error))
            return
        if call.asked == "hello":
            check_alike(self._name, answer)
            dispatch.arrived(call.worker, answer["host"])
            self._ask(call.worker, "set_up", *self._set_up)
        elif call.asked == "set_up":
            dispatch.ready(call.worker)
            self._told.set()
        elif call.asked == "play":
            self._ask(call.worker, "more")
        else:
            if not answer.done:
                self._ask(call.worker, "more")
            dispatch.heard(call.worker, answer)

    def _end_the_silent(self, dispatch: Dispatch[ShareT]) -> None:
        """End actors that do not answer. Working ones answer within seconds; Ray does not notice a frozen process."""
        now, silence = time.monotonic(), self._config.silence
        limits = {
            "set_up": max(_SILENCES_TO_SET_UP * silence, _SECONDS_TO_SET_UP),
            "play": silence,
            "more": silence,
        }  # `hello` has no limit: Ray may look for a place for hours
        for call in list(self._calls.values()):
            if call.asked in limits and call.since < now - limits[call.asked]:
                self.dismiss(call.worker)
                dispatch.lost(call.worker, f"no answer for {limits[call.asked]:g} s")

    def _ask(self, worker: int, asked: str, *arguments: Any) -> None:
        ref = getattr(self._actors[worker], asked).remote(*arguments)
        self._calls[ref] = _Call(worker, asked, time.monotonic())

    def _told_as(self, error: BaseException) -> BaseException:
        """The error to raise for `error`: an error of the work unchanged, one of Ray in one line."""
        exceptions = self._ray.exceptions
        if isinstance(error, exceptions.ObjectStoreFullError | exceptions.OutOfDiskError):
            return self._no_room("this machine's node", error)
        if isinstance(error, exceptions.RayTaskError):
            return error.cause if isinstance(error.cause, Exception) else error
        if isinstance(error, exceptions.RayError):
            return UsageError(f"{self._name} on Ray: {first_words(error)}")
        return error

    def _no_room(self, where: str, error: BaseException) -> UsageError:
        disk = ", its disk too" if isinstance(error, self._ray.exceptions.OutOfDiskError) else ""
        return UsageError(
            f"{self._name} on Ray: the object store of {where} is full{disk}; give it more by "
            "ray start --object-store-memory, or free its disk"
        )
