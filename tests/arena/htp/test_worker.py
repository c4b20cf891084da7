"""Calls of one thread: in turn, with their results, and the state after a failure in the background."""

import threading

import pytest

from hexlit.arena.htp.worker import Worker


def test_calls_are_carried_out_in_turn_in_one_other_thread() -> None:
    worker, seen = Worker(), list[object]()
    worker.begin(lambda: seen.append(threading.get_ident()))
    assert worker.do(lambda: seen.append(threading.get_ident()) or len(seen)) == 2  # type: ignore[func-returns-value]
    assert len(set(seen)) == 1
    assert seen[0] != threading.get_ident()
    assert not worker.busy


def test_it_is_busy_until_the_last_call_is_done() -> None:
    worker, go = Worker(), threading.Event()
    worker.begin(go.wait)
    assert worker.busy
    go.set()
    worker.do(lambda: None)
    assert not worker.busy


def test_an_error_reaches_who_waits_and_the_next_call_is_carried_out() -> None:
    worker = Worker()
    with pytest.raises(ZeroDivisionError):
        worker.do(lambda: 1 // 0)
    assert worker.do(lambda: 7) == 7


def test_a_failure_that_nobody_waits_for_is_told_and_ends_the_work() -> None:
    told = threading.Event()
    worker = Worker(failed=told.set)
    worker.begin(lambda: 1 // 0)
    assert told.wait(20)
    assert isinstance(worker.error, ZeroDivisionError)
    with pytest.raises(ZeroDivisionError):
        worker.do(lambda: 7)
