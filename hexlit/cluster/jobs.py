"""Independent jobs, done by the actors of a Ray cluster; results come in the jobs' order."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from hexlit.cluster.actors import Actors
from hexlit.cluster.config import RayConfig
from hexlit.cluster.versions import greeting

_SECONDS_TO_ANSWER = 1.0

JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class JobNews:
    """An actor's report on its job."""

    done: bool
    result: Any
    """Result of the job; None until it is done."""
    cpu_seconds: float
    """Processor time of the actor so far."""


class JobActor:
    """Does one job at a time, and answers within a second meanwhile."""

    def hello(self) -> dict[str, str]:
        """See `greeting`."""
        return greeting()

    def set_up(self, make: Callable[[], Callable[[Any], Any]]) -> None:
        """`make()` gives the function that does a job. One thread calls both, as it alone has the thread settings."""
        self._thread = ThreadPoolExecutor(1, "jobs")
        self._do = self._thread.submit(make).result()

    def play(self, job: Any) -> None:
        """Begin `job`."""
        self._doing: Future[Any] = self._thread.submit(self._do, job)

    def more(self) -> JobNews:
        """News of the job: at once when it is done, else after a second. Raises any error of the job."""
        done = bool(wait([self._doing], _SECONDS_TO_ANSWER).done)
        return JobNews(done, self._doing.result() if done else None, time.process_time())


@dataclass(eq=False)
class _Job:
    asked: Any
    result: Future[Any] = field(default_factory=Future)


class _Jobs:
    """The work of all jobs: see `Work`."""

    def __init__(self, name: str, parts: int) -> None:
        self.name = name
        self.parts = parts
        self._waiting: deque[_Job] = deque()
        self._taken: set[_Job] = set()

    def add(self, jobs: Iterable[_Job]) -> None:
        self._waiting.extend(jobs)

    def take(self, last: _Job | None) -> _Job | None:
        if not self._waiting:
            return None
        job = self._waiting.popleft()
        self._taken.add(job)
        return job

    def give_back(self, share: _Job) -> None:
        self._taken.discard(share)
        self._waiting.appendleft(share)

    def arguments(self, share: _Job) -> tuple[Any, ...]:
        return (share.asked,)

    def heard(self, share: _Job, news: JobNews) -> None:
        if news.done:
            self._taken.discard(share)
            share.result.set_result(news.result)

    def fail(self, error: BaseException) -> None:
        for job in (*self._taken, *self._waiting):
            with suppress(InvalidStateError):  # it has an answer already
                job.result.set_exception(error)


class RayJobs(Generic[JobT, ResultT]):
    """Does jobs on a cluster. When an actor or a node dies, its unfinished jobs are repeated."""

    def __init__(
        self, config: RayConfig, count: int, make: Callable[[], Callable[[JobT], ResultT]], *, name: str
    ) -> None:
        """`count` actors of the cluster `config`; in each of them `make()` gives the function that does a job.

        Returns when one of them is ready. Messages call the work `name`.

        Raises:
            UsageError: there is no such cluster, no actor starts there, or a host has another version.
        """
        self._work = _Jobs(name, count)
        self._actors: Actors[_Job] = Actors(config, count, JobActor, name)
        try:
            self._actors.start(self._work, self._actors.put(make))
            self._actors.wait()
        except BaseException:
            self.close()
            raise

    def __call__(self, jobs: Iterable[JobT]) -> Iterator[ResultT]:
        """The results of `jobs`, in their order. An error of a job is raised here, and ends all of them."""
        ordered = [_Job(job) for job in jobs]
        self._actors.order(lambda: self._work.add(ordered))
        for job in ordered:
            yield job.result.result()

    def close(self) -> None:
        """End the actors, and leave the cluster."""
        self._actors.close()
