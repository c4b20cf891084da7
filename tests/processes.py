"""Processes that tests watch from outside."""

import contextlib
import time
from collections.abc import Sequence

import psutil


def living(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Those that still run; a zombie has ended."""
    found = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def left_after(seconds: float, processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Those that still run after so many seconds, for which nobody waits once all have ended."""
    deadline = time.monotonic() + seconds
    while (left := living(processes)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left
