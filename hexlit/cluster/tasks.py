"""Jobs as tasks of a Ray cluster: pure functions of their arguments, which Ray repeats when a
process or node is lost.

A worker process of Ray sets itself up once, and then does one job after another. A result counts
when it is here: what was lost before is done again on another host, with the same result.
"""

import logging
import platform
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

from hexlit.cluster.config import RayConfig
from hexlit.cluster.connection import check_alike, connect, fetched, first_words, identity
from hexlit.errors import UsageError

log = logging.getLogger(__name__)

_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_TO_FIRST_WORD = 8.0
"""A line reports that no task has begun after this many seconds; the next one follows after twice
the time.
"""

_ready: tuple[str, Callable[..., Any]] | None = None
"""In a worker process of Ray: the latest set-up by its name, and what does its jobs."""


def do_job(expected: dict[str, str], name: str, make: list[Any], *job: Any) -> tuple[Any, float]:
    """Do `job` in a worker process; returns the result, and the seconds of processor time.

    Args:
        expected: see `identity`; this process must have the same.
        name: of the set-up, unique.
        make: a reference to the function that gives the function that does jobs; only a new `name`
            needs it.
        job: its arguments, references among them resolved by Ray.
    """
    global _ready
    start = time.process_time()
    check_alike(expected)
    if _ready is None or _ready[0] != name:
        _ready = name, fetched(make[0])()
    return _ready[1](*job), time.process_time() - start


class RayTasks:
    """Does jobs on a cluster, any number of them at a time; Ray queues those that find no room.

    Attributes:
        cpu_seconds: processor time of the jobs that are done.
        closing: once it is set, a thread that waits in `result` raises RuntimeError.
    """

    def __init__(
        self, config: RayConfig, count: int, make: Callable[[], Callable[..., Any]], *, name: str
    ) -> None:
        """Join the cluster of `config` for about `count` jobs at a time; messages call the work
        `name`.

        `make()` gives the function that does a job, in the process that does it.

        Raises:
            UsageError: there is no such cluster.
        """
        self._config = config
        self._name = name
        self._connection = connect(config, count)
        self._ray = self._connection.ray
        self.cpu_seconds = 0.0
        self.closing = threading.Event()
        self._needs = {"CPU": config.cpus, "GPU": config.gpus, **config.resources}
        options = {
            "num_cpus": config.cpus,
            "num_gpus": config.gpus,
            "resources": config.resources or None,
            "max_calls": 0,  # with GPUs Ray's default is a process for each call
            "max_retries": config.retries,
        }
        self._do = self._ray.remote(**options)(do_job)
        self._greet = self._ray.remote(**options)(platform.node)
        self._set_up, self._make = secrets.token_hex(8), [self.put(make)]

    def put(self, value: Any) -> Any:
        """Send `value` to the cluster once; the result represents it as an argument of a job."""
        try:
            return self._ray.put(value)
        except Exception as error:
            raise self._told_as(error) from error

    def wait(self) -> None:
        """Wait until the cluster has begun a task.

        Raises:
            UsageError: none began within `ray.wait` seconds.
        """
        greeting, began, word = self._greet.remote(), time.monotonic(), _SECONDS_TO_FIRST_WORD
        while not self._ray.wait([greeting], timeout=_SECONDS_BETWEEN_LOOKS)[0]:
            waited = time.monotonic() - began
            if self._config.wait is not None and waited > self._config.wait:
                raise UsageError(
                    f"{self._name} on Ray: no task has begun within {waited:.0f} s ({self._room()}); add nodes, ask "
                    "for less (ray.cpus, ray.gpus), or wait longer (ray.wait)"
                )
            if waited > word:
                log.warning("%s: no task has begun yet (%s)", self._name, self._room())
                word = 2 * waited
        self._result(greeting)

    def submit(self, *job: Any) -> Any:
        """Begin a job with these arguments; returns a reference for `result`."""
        return self._do.remote(identity(), self._set_up, self._make, *job)

    def result(self, reference: Any) -> Any:
        """The result of a job; waits for it. An error of the job is raised here.

        Raises:
            UsageError: the job was lost again and again, or the cluster has had no room for it for
                `ray.wait` seconds.
        """
        fitted = time.monotonic()
        while not self._ray.wait([reference], timeout=_SECONDS_BETWEEN_LOOKS)[0]:
            if self.closing.is_set():
                raise RuntimeError(f"{self._name} on Ray was closed")
            now, has = time.monotonic(), self._ray.cluster_resources()
            if all(has.get(name, 0.0) >= amount for name, amount in self._needs.items()):
                fitted = now
            elif self._config.wait is not None and now - fitted > self._config.wait:
                raise UsageError(
                    f"{self._name} on Ray: for {now - fitted:.0f} s no node has room ({self._room()})"
                )
        result, seconds = self._result(reference)
        self.cpu_seconds += seconds
        return result

    def close(self) -> None:
        """Leave the cluster, and end the jobs under way; no thread may wait for one any more, see
        `closing`.
        """
        self._connection.close()

    def _room(self) -> str:
        """The resources that a task asks for, and those of the cluster."""
        has, free = self._ray.cluster_resources(), self._ray.available_resources()
        there = ", ".join(
            f"{free.get(name, 0):g} of {has.get(name, 0):g} {name}" for name in self._needs
        )
        return f"each asks for {self._config.asked}; free in the cluster: {there}"

    def _result(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except Exception as error:
            raise self._told_as(error) from error

    def _told_as(self, error: Exception) -> Exception:
        """The error to raise for `error`: an error of the work unchanged, one of Ray in one
        line.
        """
        exceptions = self._ray.exceptions
        full = isinstance(error, exceptions.ObjectStoreFullError | exceptions.OutOfDiskError)
        if isinstance(error, exceptions.RayTaskError) and not full:
            cause = error.cause if isinstance(error.cause, Exception) else error
            return (
                UsageError(f"{self._name} on Ray: {cause}")
                if isinstance(cause, UsageError)
                else cause
            )
        if isinstance(error, exceptions.RayError) or full:
            why = (
                "an object store is full"
                if full
                else f"lost with ray.retries={self._config.retries}"
            )
            return UsageError(f"{self._name} on Ray: {why} ({first_words(error)})")
        return error
