"""The threads of a training step on a CPU: measured once, then remembered."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from statistics import median
from typing import Any

import torch

from hexlit.accelerate.autotune_cache import cached_choice, timed_in_turn

MEASURED_SECONDS = 1.0
"""Length of the measurement."""

BUSY = "import os, sys\nos.nice(5)\nwhile os.getppid() == int(sys.argv[1]): pass"
"""Program of a busy process: it ends with the one that started it."""


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch compute with `count` threads inside the block; a change takes less than a microsecond."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def fastest_threads(of: Mapping[str, Any], most: int, busy: int, make: Callable[[], Callable[[], object]]) -> int:
    """The number of threads, up to `most`, that the step of `make` takes the least time with; it depends on `of`.

    A step consists of hundreds of short parallel regions, and each waits for the last of its threads. That is long if
    other processes, such as those of self-play, take its core. So `busy` processes compute beside the measurement.
    """
    numbers = [2**power for power in range(most.bit_length()) if 2**power < most] + [most]

    def with_threads(count: int, step: Callable[[], object]) -> None:
        with torch_threads(count):
            step()

    def measure() -> dict[str, float]:
        step = make()
        with ExitStack() as stack:
            for _ in range(busy):
                command = [sys.executable, "-S", "-c", BUSY, str(os.getpid())]
                process = stack.enter_context(subprocess.Popen(command))
                stack.callback(process.kill)
            calls = {str(number): partial(with_threads, number, step) for number in numbers}
            times = timed_in_turn(calls, time.perf_counter, MEASURED_SECONDS)
        return {name: median(seconds) for name, seconds in times.items()}

    return int(cached_choice({**of, "threads": most, "busy": busy}, [str(number) for number in numbers], measure))
