"""The process that watches over a trial, and whether it still lives: a trial without one was interrupted.

Imports no Optuna, since reports use it too.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hexlit.accelerate.host import process_space
from hexlit.accelerate.machine import RunProcess

ATTRIBUTE = "watcher"
"""Name of the trial's attribute in its study."""
SIGN_OF_LIFE = 60.0
"""Seconds between two signs of life of a trial's watcher."""
PRESUMED_DEAD = 5 * SIGN_OF_LIFE
"""A trial of another machine or container counts as interrupted after this many seconds of silence."""


@dataclass(frozen=True)
class Watcher:
    """The process that watches over a trial."""

    host: str
    """Machine or container of the process number, see `process_space`."""
    pid: int
    create_time: float
    seen: float
    """Time of its last sign of life, in seconds since 1970."""

    @classmethod
    def this(cls) -> "Watcher":
        """This process, now."""
        import psutil

        process = psutil.Process()
        return cls(process_space(), process.pid, process.create_time(), time.time())

    @property
    def alive(self) -> bool:
        """Whether it still watches, as far as can be known from here."""
        return self.alive_after(0.0)

    def alive_after(self, back: float) -> bool:
        """Whether it still watches, given that signs of life were possible since `back`, in seconds since 1970."""
        if self.host == process_space():
            return RunProcess(self.pid, self.create_time).alive
        return time.time() - max(self.seen, back) < PRESUMED_DEAD


def watcher_of(attributes: Mapping[str, Any]) -> Watcher | None:
    """The watcher that a trial's `attributes` name; None where they name none that can be read."""
    try:
        return Watcher(**attributes[ATTRIBUTE])
    except (KeyError, TypeError):
        return None
