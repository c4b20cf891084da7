"""Events on the clock of a device: work that a device does on its own is timed without waiting for
it.
"""

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch


class Events:
    """The clock of a device: events in the queue of cuda, the host's `time.perf_counter` on cpu and
    mps.

    Recording an event of cuda costs microseconds and waits for nothing. The seconds between two of
    them are the device's own, idle time included. They run from the end of the work before the
    first event to the end of the work before the second. They add up to the time from the first
    event to the last.

    `torch.mps.Event.elapsed_time` raises for events that are close together, and recording one
    commits the buffer of commands, which makes the device wait.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def record(self) -> Any:
        """The instant that ends all work queued so far."""
        if self._device.type != "cuda":
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event

    def between(self, events: Sequence[Any]) -> list[float]:
        """Seconds from each event to the next; waits until the last is reached."""
        if self._device.type != "cuda":
            return [end - start for start, end in pairwise(events)]
        synchronize(self._device)
        return [start.elapsed_time(end) / 1000 for start, end in pairwise(events)]


def synchronize(device: torch.device) -> None:
    """Wait until `device` has finished all queued work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
