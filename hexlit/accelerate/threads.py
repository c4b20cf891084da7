"""The fastest way to compute a training step on a CPU: measured once, then remembered."""

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product
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
    """Let torch compute with `count` threads inside the block; a change takes less than a
    microsecond.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def ways_of_step(most: int, kernels: Sequence[str], *, fixed: bool) -> dict[str, tuple[int, str]]:
    """Threads and kernels to try, by name: `most` threads, and unless `fixed` powers of two below."""
    counts = [most]
    if not fixed:
        powers = (2**power for power in range(most.bit_length()))
        counts += [count for count in powers if count < most]
    ways = {}
    for count, name in product(sorted(counts), kernels):
        ways[f"{count} {name}"] = count, name
    return ways


def worth_measuring(step: Callable[[int], object], most: int) -> int:
    """Examples, up to `most`, for which `step` takes a third of a second: fewer say little of two
    threads.
    """
    count, seconds = min(16, most), 0.0
    while count < most and seconds < 0.3:
        count, started = min(2 * count, most), time.process_time()
        step(count)
        seconds = time.process_time() - started
    return count


def fastest_step(
    of: Mapping[str, Any],
    names: Sequence[str],
    busy: int,
    make: Callable[[], Mapping[str, Callable[[], object]]],
) -> str:
    """The name of the step, among those of `make`, that takes the least time; it depends on `of`.

    A step consists of hundreds of short parallel regions, and each waits for the last of its
    threads. That is long if other processes, such as those of self-play, take its core. So `busy`
    processes compute during the measurement.
    """

    def measure() -> dict[str, float]:
        steps = make()
        with ExitStack() as stack:
            for _ in range(busy):
                process = stack.enter_context(
                    subprocess.Popen([sys.executable, "-S", "-c", BUSY, str(os.getpid())])
                )
                stack.callback(process.kill)
            # Of one thread the computing time, which others lengthen little: all that differs is
            # the kernels.
            alone = {name: step for name, step in steps.items() if name.startswith("1 ")}
            times = timed_in_turn(alone, time.process_time, MEASURED_SECONDS)
            times |= timed_in_turn(
                {name: steps[name] for name in steps if name not in alone}, seconds=MEASURED_SECONDS
            )
        return {name: median(seconds) for name, seconds in times.items()}

    return cached_choice({**of, "busy": busy}, names, measure)


def keep_freed_memory() -> None:
    """Let glibc keep the memory that this process frees, blocks of up to 32 MiB; on other systems
    nothing changes.

    It would return the activations of each step to the system, and take them again with thousands
    of page faults: a sixth of a small network's step.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", lambda parameter, value: 0)
    mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
    mallopt(-3, 2**25)  # M_MMAP_THRESHOLD
