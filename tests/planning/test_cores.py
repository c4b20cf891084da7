"""Cores that threads share."""

import pytest
from simpy import Environment

from hexlit.planning.cores import Cores


def ends(cores: int, jobs: list[tuple[float, float, int, float]], slow: float = 0.0) -> list[float]:
    """When jobs (start, seconds, threads, weight) end; a thread more makes all of them slower by `slow`."""
    env = Environment()
    shared = Cores(env, cores, lambda busy: 1 - slow * (busy - 1))
    found = [0.0] * len(jobs)

    def one(number: int) -> object:
        start, seconds, threads, weight = jobs[number]
        yield env.timeout(start)
        yield from shared.work(seconds, threads=threads, weight=weight)
        found[number] = env.now

    for number in range(len(jobs)):
        env.process(one(number))  # type: ignore[arg-type]
    env.run()
    return found


def test_alone_a_job_takes_its_time() -> None:
    assert ends(4, [(1, 3, 1, 1)]) == [4]


def test_threads_share_cores_alike_and_never_take_more_than_one() -> None:
    assert ends(2, [(0, 2, 1, 1)] * 4) == [4] * 4
    assert ends(8, [(0, 2, 1, 1)] * 4) == [2] * 4


def test_a_job_that_comes_and_goes_changes_the_shares() -> None:
    # One second alone, two at half speed each, then the rest alone.
    assert ends(1, [(0, 3, 1, 1), (1, 1, 1, 1)]) == pytest.approx([4, 3])


def test_shares_go_by_weight_up_to_a_whole_core() -> None:
    # Weights 3 and 1 on one core: the heavy one gets three quarters.
    assert ends(1, [(0, 3, 1, 3), (0, 2, 1, 1)]) == pytest.approx([4, 5])
    # On two cores, the heavy one has a whole core, and what it cannot take goes to the others.
    assert ends(2, [(0, 2, 1, 100), (0, 1, 1, 1), (0, 1, 1, 1)]) == pytest.approx([2, 2, 2])


def test_a_job_of_several_threads_takes_as_many_shares() -> None:
    assert ends(2, [(0, 2, 2, 1), (0, 2, 2, 1)]) == [4, 4]


def test_busy_neighbours_slow_a_thread_down() -> None:
    assert ends(2, [(0, 1, 1, 1), (0, 1, 1, 1)], slow=0.5) == pytest.approx([2, 2])
