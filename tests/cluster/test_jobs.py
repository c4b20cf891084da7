"""Jobs on Ray with a stand-in for it: their order, and what becomes of them when an actor dies."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hexlit.cluster import actors
from hexlit.cluster.config import RayConfig
from hexlit.cluster.connection import Connection
from hexlit.cluster.jobs import JobActor, JobNews, RayJobs
from hexlit.errors import UsageError
from tests.cluster.fake_ray import FakeRay

pytestmark = pytest.mark.row("E14")


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRay]:
    fake = FakeRay()
    monkeypatch.setattr(actors, "connect", lambda config, count: Connection(fake, owned=True))
    yield fake
    assert fake.shut_down
    assert all(actor.dead for actor in fake.actors)


def squares() -> Callable[[int], int]:
    return lambda number: number * number


def test_results_come_in_the_order_of_the_jobs_again_and_again(ray: FakeRay) -> None:
    first = threading.Event()

    def make() -> Callable[[int], int]:
        def do(number: int) -> int:
            if number == 0:
                first.wait(60)  # the first job ends last
            elif number == 2:
                first.set()
            return number * number

        return do

    jobs: RayJobs[int, int] = RayJobs(RayConfig(), 2, make, name="squares")
    assert list(jobs(range(3))) == [0, 1, 4]
    assert list(jobs([5])) == [25]
    assert list(jobs([])) == []
    jobs.close()
    assert len(ray.actors) == 2
    assert len(ray.puts) == 1


def test_the_job_of_an_actor_that_dies_is_done_again(ray: FakeRay) -> None:
    begun = threading.Event()

    def make() -> Callable[[int], int]:
        def do(number: int) -> int:
            if number == 1 and not begun.is_set():
                begun.set()
                threading.Event().wait(60)
            return number * number

        return do

    made: list[Any] = []

    class Counted(JobActor):
        """Ends within the first job it begins, where that is number 1."""

        def more(self) -> JobNews:
            if begun.is_set() and not any(actor.dead for actor in ray.actors):
                next(actor for actor in ray.actors if actor.made is self).die()
            return super().more()

    def make_actor(cls: type) -> Any:
        made.append(Counted())
        return made[-1]

    ray.make = make_actor
    jobs: RayJobs[int, int] = RayJobs(RayConfig(), 1, make, name="squares")
    assert list(jobs(range(1, 4))) == [1, 4, 9]
    jobs.close()
    assert len(made) == 2


def test_an_error_of_a_job_is_raised_as_it_was_and_ends_all(ray: FakeRay) -> None:
    def make() -> Callable[[int], float]:
        return lambda number: 1 / number

    jobs: RayJobs[int, float] = RayJobs(RayConfig(), 2, make, name="inverses")
    with pytest.raises(ZeroDivisionError):
        list(jobs([1, 0, 2]))
    with pytest.raises(ZeroDivisionError):  # and again by those who ask later
        list(jobs([1]))
    jobs.close()


def test_a_host_that_cannot_do_it_is_told_before_the_first_job(ray: FakeRay) -> None:
    def make() -> Callable[[int], int]:
        raise UsageError("on there: accelerator.device=cuda: no CUDA device")

    with pytest.raises(UsageError, match="^on there: accelerator.device=cuda"):
        RayJobs(RayConfig(), 1, make, name="squares")


def test_an_actor_of_another_version_is_told_before_the_first_job(ray: FakeRay) -> None:
    class Other(JobActor):
        def hello(self) -> dict[str, str]:
            return super().hello() | {"hexlit": "0.0.1", "host": "there"}

    ray.make = lambda cls: Other()
    with pytest.raises(UsageError, match="^match on Ray: there has hexlit 0.0.1, this process .*; install the same"):
        RayJobs(RayConfig(), 1, squares, name="match")


def test_an_actor_that_is_frozen_while_it_gets_ready_is_replaced(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actors, "_SILENCES_TO_SET_UP", 0)
    monkeypatch.setattr(actors, "_SECONDS_TO_SET_UP", 2.0)
    thawed = threading.Event()

    def make() -> Callable[[int], int]:
        if len(ray.actors) == 1:
            thawed.wait(60)
        return lambda number: number * number

    jobs: RayJobs[int, int] = RayJobs(RayConfig(), 1, make, name="squares")
    assert len(ray.actors) == 2
    assert list(jobs([3])) == [9]
    thawed.set()
    jobs.close()
