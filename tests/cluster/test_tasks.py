"""Jobs on Ray with a stand-in for it: their order,
and what becomes of them when a process is lost.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from hexlit.cluster.config import RayConfig
from hexlit.cluster.tasks import RayTasks
from hexlit.errors import UsageError
from tests.cluster.fake_ray import FakeRay, stand_in


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRay]:
    fake = stand_in(monkeypatch, processes=4)
    yield fake
    assert fake.shut_down


def results(jobs: RayTasks, numbers: Iterable[int]) -> list[Any]:
    """The results of one job for each of `numbers`."""
    references = [jobs.submit(number) for number in numbers]
    return [jobs.result(reference) for reference in references]


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

    jobs = RayTasks(RayConfig(), 2, make, name="squares")
    assert results(jobs, range(3)) == [0, 1, 4]
    assert results(jobs, [5]) == [25]
    assert results(jobs, []) == []
    jobs.close()
    assert len(ray.puts) == 1
    assert jobs.cpu_seconds >= 0


def test_a_job_whose_process_is_lost_is_done_again_until_it_is_named(ray: FakeRay) -> None:
    jobs = RayTasks(RayConfig(retries=2), 1, squares, name="squares")
    ray.losses = {1, 3, 4}
    assert results(jobs, [1]) + results(jobs, [2]) + results(jobs, [3]) == [1, 4, 9]
    ray.losses = set(range(100))
    with pytest.raises(UsageError, match=r"^squares on Ray: lost with ray.retries=2 "):
        results(jobs, [4])
    jobs.close()


def test_an_error_of_a_job_is_raised_as_it_was(ray: FakeRay) -> None:
    jobs = RayTasks(RayConfig(), 2, lambda: lambda number: 1 / number, name="inverses")
    with pytest.raises(ZeroDivisionError):
        results(jobs, [1, 0, 2])
    assert results(jobs, [2]) == [0.5]
    jobs.close()


def test_a_cluster_without_room_is_waited_for_as_long_as_the_settings_say(ray: FakeRay) -> None:
    hold = threading.Event()
    jobs = RayTasks(RayConfig(wait=0.1), 1, lambda: lambda _: hold.wait(60), name="match")
    jobs.wait()
    ray.processors = 0.0  # the last node has left
    with pytest.raises(
        UsageError, match=r"^match on Ray: for 0 s no node has room \(each asks for 1 CPU"
    ):
        results(jobs, [1])
    hold.set()
    jobs.close()


def test_a_task_asks_for_what_the_settings_say_and_a_process_does_many(ray: FakeRay) -> None:
    jobs = RayTasks(
        RayConfig(cpus=2, gpus=0.5, resources={"player": 1}, retries=7), 3, squares, name="squares"
    )
    wanted = {
        "num_cpus": 2,
        "num_gpus": 0.5,
        "resources": {"player": 1},
        "max_calls": 0,
        "max_retries": 7,
    }
    assert wanted.items() <= ray.options.items()
    jobs.close()
