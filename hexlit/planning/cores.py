"""Cores that threads share, as a part of a discrete-event simulation."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from simpy import Environment, Event

EPSILON = 1e-9


@dataclass(eq=False)
class _Job:
    left: float
    threads: int
    weight: float
    done: Event
    rate: float = 0.0


class Cores:
    """Threads get equal shares of the cores, by weight, and never more than a core each.

    An operating system's fair scheduler divides them in the same way. Parallel threads slow each other down:
    `speed(n)` is the speed of each of n busy ones.
    """

    def __init__(self, env: Environment, cores: int, speed: Callable[[int], float] = lambda busy: 1.0) -> None:
        """Idle `cores` of the same kind."""
        self._env, self._cores, self._speed = env, cores, speed
        self._jobs: list[_Job] = []
        self._settled = env.now
        self._alarm = 0

    def work(self, seconds: float, *, threads: int = 1, weight: float = 1.0) -> Generator[Event, Any, None]:
        """Work for `threads` threads; it takes `seconds` if each has a core of its own at full speed."""
        if seconds <= 0:
            return
        self._settle()
        job = _Job(seconds, threads, weight, self._env.event())
        self._jobs.append(job)
        self._share_out()
        yield job.done

    def _settle(self) -> None:
        """Subtract the work done since the shares were last set."""
        passed, self._settled = self._env.now - self._settled, self._env.now
        for job in self._jobs:
            job.left -= job.rate * passed

    def _share_out(self) -> None:
        """Set the shares again, and the time of the first job's end."""
        speed = self._speed(min(self._cores, sum(job.threads for job in self._jobs)))
        left = float(self._cores)
        waiting = sorted(self._jobs, key=lambda job: -job.weight)  # heavy ones reach a whole core first
        weights = sum(job.weight * job.threads for job in waiting)
        for job in waiting:
            share = min(1.0, left * job.weight / weights)
            job.rate = share * speed
            left -= share * job.threads
            weights -= job.weight * job.threads
        self._alarm += 1
        if self._jobs:
            self._env.process(self._ring(self._alarm, min(job.left / job.rate for job in self._jobs)))

    def _ring(self, alarm: int, delay: float) -> Generator[Event, Any, None]:
        yield self._env.timeout(max(0.0, delay))
        if alarm != self._alarm:
            return  # the shares have changed since
        self._settle()
        for job in [job for job in self._jobs if job.left <= EPSILON]:
            self._jobs.remove(job)
            job.done.succeed()
        self._share_out()
