"""One thing at a time, the newest first."""

import threading
from collections.abc import Callable

from hexlit.web.baton import Baton
from hexlit.web.lane import Lane

LIMIT = 30.0


def test_new_work_stops_the_work_before_and_drops_what_waits() -> None:
    lane, told = Lane("test"), list[str]()
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
    lane.begin(endless, lambda: told.append("first refused"))
    assert begun.wait(LIMIT)
    lane.begin(work("second"), lambda: told.append("second refused"))
    lane.begin(work("third"), lambda: told.append("third refused"))
    release.set()
    assert last.wait(LIMIT)
    lane.close(LIMIT)
    assert sorted(told) == ["first stopped", "second refused", "third"]
    assert told[-1] == "third"


def test_a_closed_lane_begins_nothing() -> None:
    lane, told = Lane("test"), list[str]()
    lane.close(LIMIT)
    lane.begin(lambda stopped: told.append("begun"), lambda: told.append("refused"))
    assert told == []


def test_the_baton_goes_round_in_order() -> None:
    baton, order = Baton(), list[int]()
    ready = [threading.Event() for _ in range(3)]

    def work(number: int) -> None:
        with baton.held():
            for _ in range(3):
                order.append(number)
                baton.pass_on()

    with baton.held():
        threads = []
        for number in range(3):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            while len(baton._waiting) <= number:
                ready[number].wait(0.001)
    for thread in threads:
        thread.join(LIMIT)
    assert order == [0, 1, 2] * 3
