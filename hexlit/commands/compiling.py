"""Kernels compiled in other processes, while this one does other things.

Numba compiles one function at a time in a process. Another process writes its machine code to the folder on disk.
This process, and those that it starts, load it from there. Two processes may compile the same function at once:
every file there is written whole. A killed or failed process does no harm either: the process that needs its
missing kernels compiles them.
"""

import contextlib
import logging
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import psutil

from hexlit.commands.kernels import SETS
from hexlit.hex.jit import is_compiled
from hexlit.reporting.quantities import time_left

log = logging.getLogger(__name__)

Advance = Callable[[int, int, str], None]
"""Called with the number of compiled functions, their total, and their purpose."""

BESIDE = 10
"""Niceness of a process that compiles during self-play."""

_LATER = 5
"""Added to the niceness of processes with less than half of the longest one's work."""


class Compiling:
    """Compiles sets of kernels that are not on disk yet, in one process or several.

    Attributes:
        names: the missing sets.
        total: approximate number of their functions.
        seconds: wall time so far, or until its end; 0 if nothing had to be compiled.
    """

    def __init__(self, names: Sequence[str], *, processes: int = 1, niceness: int = 0) -> None:
        """Start to compile the sets `names` of `hexlit.commands.kernels`, in at most `processes` processes.

        The first set begins at `niceness` in a process of its own, so name the longest one first. Processes with much
        less work leave the cores to it and to the caller, so that neither ends late. Sets that share functions with
        others come before them.
        """
        self.names = [name for name in names if not is_compiled(name)]
        counts = functions_of(self.names)
        self.total = sum(counts.values())
        self._started = time.monotonic()
        parts: list[list[str]] = [[] for _ in range(min(processes, len(self.names)))]
        for name in self.names:
            min(parts, key=_seconds_of).append(name)
        shared = {other for name in self.names for other in SETS[name].shared}
        self._processes = [
            _Process(
                {name: counts[name] for name in sorted(part, key=lambda name: name not in shared)},
                niceness + (_LATER if _seconds_of(part) < _seconds_of(parts[0]) / 2 else 0),
            )
            for part in parts
        ]

    @property
    def running(self) -> bool:
        """Whether it still compiles."""
        return any(process.running for process in self._processes)

    @property
    def seconds(self) -> float:
        """See the class."""
        if self.running:
            return time.monotonic() - self._started
        return max((process.ended for process in self._processes), default=self._started) - self._started

    def state(self) -> tuple[int, str]:
        """Number of compiled functions, and the purpose of those in work; empty once all is done."""
        what = " and ".join(dict.fromkeys(process.what for process in self._processes if process.running))
        return sum(process.done for process in self._processes), what

    def status(self) -> str:
        """The same as a line: `compiling self-play 12/52 · 20.0 s left`; empty once all is done."""
        done, what = self.state()
        if not what:
            return ""
        left = time_left(self.seconds, done, self.total)
        return f"compiling {what} {done}/{self.total}" + (f" · {left}" if left else "")

    def wait(self, advance: Advance = lambda done, total, what: None) -> None:
        """Wait for the end; `advance` gets the progress four times a second."""
        for process in self._processes:
            while process.running:
                process.join(0.25)
                under_way = [other.what for other in self._processes if other.running or other is process]
                what = " and ".join(dict.fromkeys(under_way))
                advance(sum(other.done for other in self._processes), self.total, what)

    def cpu_seconds(self) -> float:
        """Processor time of the processes so far."""
        return sum(process.cpu_seconds() for process in self._processes)

    def close(self) -> None:
        """End it at any stage."""
        for process in self._processes:
            process.close()


class _Process:
    """A process that compiles sets one after the other; a thread follows its progress."""

    def __init__(self, functions: Mapping[str, int], niceness: int) -> None:
        self.ended = math.inf
        """When it ended, by the monotonic clock."""
        self._functions = functions
        self._compiled = dict.fromkeys(functions, 0)
        self._under_way = next(iter(functions))
        self._last = ""
        self._cpu_seconds = 0.0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hexlit.commands.kernels", *functions],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if niceness and hasattr(os, "setpriority"):
            with contextlib.suppress(OSError):  # it has ended already
                os.setpriority(os.PRIO_PROCESS, self._process.pid, niceness)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def running(self) -> bool:
        return self.ended == math.inf

    @property
    def done(self) -> int:
        """Number of compiled functions."""
        return sum(min(self._compiled[name], functions) for name, functions in self._functions.items())

    @property
    def what(self) -> str:
        """Name of the present set, for people."""
        return SETS[self._under_way].what

    def join(self, seconds: float) -> None:
        """Wait for its end, at most `seconds`."""
        self._reader.join(seconds)

    def cpu_seconds(self) -> float:
        if self.running:
            with contextlib.suppress(psutil.Error):
                times = psutil.Process(self._process.pid).cpu_times()
                self._cpu_seconds = times.user + times.system
        return self._cpu_seconds

    def close(self) -> None:
        self.ended = min(self.ended, time.monotonic())
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            name = line.strip()
            if name in self._compiled:
                self._compiled[name] += 1
                self._under_way = name
                self.cpu_seconds()
            else:
                self._last = name or self._last
        code = self._process.wait()
        if self.running:
            self.ended = time.monotonic()
            if code:
                log.warning(
                    "compiling in a process of its own failed (exit code %d: %s); each kernel is compiled where it is "
                    "needed instead",
                    code,
                    self._last or "no message",
                )


def _seconds_of(names: Sequence[str]) -> float:
    return sum(SETS[name].seconds for name in names)


def functions_of(names: Sequence[str]) -> dict[str, int]:
    """Approximate number of functions in each of the sets `names`."""

    def known(name: str) -> int:
        return max((n for other, n in SETS[name].shared.items() if other in names or is_compiled(other)), default=0)

    return {name: SETS[name].functions - known(name) for name in names}
