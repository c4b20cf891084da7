"""Times on a device's own clock."""

import time
from typing import Any

import pytest
import torch

from hexlit.accelerate.events import Events
from tests.pretended_device import CloseEvent


def test_device_times_are_those_between_events_and_wait_only_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A device does its work later: events know when their turn came, and only waiting tells."""
    now, waited = iter((5.0, 15.0, 35.0)), list[torch.device]()

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            self.at = next(now)

        def elapsed_time(self, end: Any) -> float:
            return float(end.at - self.at)

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", waited.append)
    events = Events(torch.device("cuda:0"))
    instants = [events.record() for _ in range(3)]
    assert waited == []
    assert events.between(instants) == [0.010, 0.020]
    assert len(waited) == 1


@pytest.mark.parametrize("device", ["cpu", "mps"])
def test_the_cpu_and_mps_are_timed_by_the_host(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events of mps raise where they are close together; `CloseEvent` does so."""
    monkeypatch.setattr("torch.mps.event.Event", CloseEvent)
    events = Events(torch.device(device))
    start = time.perf_counter()
    first = events.record()
    time.sleep(0.02)
    (found,) = events.between([first, events.record()])
    assert 0.019 < found <= time.perf_counter() - start
