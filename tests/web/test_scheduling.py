"""One thing at a time, the newest first."""

import threading
from collections.abc import Callable

from hexlit.web.players import FairLock, JobQueue

LIMIT = 30.0


def test_new_work_stops_the_work_before_and_drops_what_waits() -> None:
    queue, told = JobQueue("test"), list[str]()
    begun, last = threading.Event(), threading.Event()

    def endless(stopped: Callable[[], bool]) -> None:
        begun.set()
        while not stopped():
            threading.Event().wait(0.001)
        told.append("first stopped")
        release.wait(LIMIT)

    def work(name: str) -> Callable[[Callable[[], bool]], None]:
        def act(stopped: Callable[[], bool]) -> None:
            assert not stopped()
            told.append(name)
            last.set()

        return act

    release = threading.Event()
    queue.begin(endless, lambda: told.append("first refused"))
    assert begun.wait(LIMIT)
    queue.begin(work("second"), lambda: told.append("second refused"))
    queue.begin(work("third"), lambda: told.append("third refused"))
    release.set()
    assert last.wait(LIMIT)
    queue.close(LIMIT)
    assert sorted(told) == ["first stopped", "second refused", "third"]
    assert told[-1] == "third"


def test_the_lock_goes_round_in_order() -> None:
    lock, order = FairLock(), list[int]()
    ready = [threading.Event() for _ in range(3)]

    def work(number: int) -> None:
        with lock.held():
            for _ in range(3):
                order.append(number)
                lock.pass_on()

    with lock.held():
        threads = []
        for number in range(3):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            while len(lock._turns) <= number:
                ready[number].wait(0.001)
    for thread in threads:
        thread.join(LIMIT)
    assert order == [0, 1, 2] * 3
