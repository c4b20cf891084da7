"""Kernels compiled in a process of their own, while this one does other things.

Numba compiles one function at a time in a process. Another process writes its machine code to the folder on disk from
which this one, and those that it starts, then load it. Two that compile the same function at once do no harm: every
file there is written whole. A process that is killed or fails does no harm either: the kernels it has not written
are compiled in the process that needs them.
"""

import contextlib
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence

import psutil

from hexlit.commands.kernels import SETS
from hexlit.hex.compiled import is_compiled

log = logging.getLogger(__name__)

Advance = Callable[[int, int, str], None]
"""Hears how many functions of how many are compiled, and what they are for."""

BESIDE = 10
"""Niceness of a process that compiles beside self-play."""


class Compiling:
    """Compiles sets of kernels, one after the other, unless they are on disk already.

    Attributes:
        seconds: wall time it has taken, up to now or to its end; 0 where nothing had to be compiled.
    """

    def __init__(self, names: Sequence[str], *, niceness: int = 0) -> None:
        """Start to compile the sets `names` of `hexlit.commands.kernels`."""
        self.names = [name for name in names if not is_compiled(name)]
        self.total = sum(SETS[name].functions for name in self.names)
        self._compiled = dict.fromkeys(self.names, 0)
        self._under_way = self.names[0] if self.names else ""
        self._last = ""
        self._cpu_seconds = 0.0
        self._started = time.monotonic()
        self._ended: float | None = self._started
        self._process: subprocess.Popen[str] | None = None
        if not self.names:
            return
        self._ended = None
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hexlit.commands.kernels", *self.names],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if niceness and hasattr(os, "setpriority"):
            with contextlib.suppress(OSError):  # it has ended already
                os.setpriority(os.PRIO_PROCESS, self._process.pid, niceness)
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()

    @property
    def running(self) -> bool:
        """Whether it still compiles."""
        return self._process is not None and self._ended is None

    @property
    def seconds(self) -> float:
        """See the class."""
        return (time.monotonic() if self._ended is None else self._ended) - self._started

    def wait(self, advance: Advance = lambda done, total, what: None) -> None:
        """Wait for the end; `advance` hears four times a second how far it is."""
        while self.running:
            self._reader.join(0.25)
            advance(*self._progress())

    def cpu_seconds(self) -> float:
        """Processor time of the process so far."""
        if self.running and self._process is not None:
            with contextlib.suppress(psutil.Error):
                times = psutil.Process(self._process.pid).cpu_times()
                self._cpu_seconds = times.user + times.system
        return self._cpu_seconds

    def close(self) -> None:
        """End it, wherever it is."""
        if self._process is not None:
            self._ended = self._ended or time.monotonic()
            self._process.kill()
            self._process.wait()

    def _progress(self) -> tuple[int, int, str]:
        done = sum(min(self._compiled[name], SETS[name].functions) for name in self.names)
        return done, self.total, SETS[self._under_way].what

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            name = line.strip()
            if name in self._compiled:
                self._compiled[name] += 1
                self._under_way = name
                self.cpu_seconds()
            else:
                self._last = name or self._last
        code = process.wait()
        if self._ended is None:
            self._ended = time.monotonic()
            if code:
                log.warning(
                    "compiling in a process of its own failed (exit code %d: %s); each kernel is compiled where it is "
                    "needed instead",
                    code,
                    self._last or "no message",
                )
