"""Times on a device's own clock."""

import time
from typing import Any

import pytest
import torch

from hexlit.accelerate.events import DeviceEvents, events_for, on_its_way
from tests.pretended_device import CloseEvent


class Queue:
    """A device that does its work later: events know when their turn came, and only waiting for one tells."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waited = 0

    def wait(self) -> None:
        self.waited += 1

    def event(self) -> Any:
        queue = self

        class Event:
            def record(self) -> None:
                self.at = queue.now

            def elapsed_time(self, end: Any) -> float:
                return float(end.at - self.at)

        return Event()


@pytest.mark.row("A16")
def test_device_times_are_those_between_events_and_wait_only_once() -> None:
    queue = Queue()
    events, instants = DeviceEvents(queue.event, queue.wait), []
    for milliseconds in (5.0, 10.0, 20.0):
        instants.append(events.record())
        queue.now += milliseconds
    assert queue.waited == 0
    assert events.between(instants) == [0.005, 0.010]
    assert queue.waited == 1
    assert events.between([]) == []


def test_a_number_on_its_way_arrives() -> None:
    loss = torch.tensor(2.5, requires_grad=True)
    assert on_its_way(loss * 2)() == 5.0


@pytest.mark.parametrize("device", ["cpu", "mps"])
def test_the_cpu_and_mps_are_timed_by_the_host(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events of mps raise where they are close together; `CloseEvent` does so."""
    monkeypatch.setattr("torch.mps.event.Event", CloseEvent)
    events = events_for(torch.device(device))
    start = time.perf_counter()
    first = events.record()
    time.sleep(0.02)
    (found,) = events.between([first, events.record()])
    assert 0.019 < found <= time.perf_counter() - start
