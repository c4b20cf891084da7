"""Threads for the kernels; each takes a slice of the games.

A kernel releases the GIL, so plain threads run it in parallel. Numba's own parallel loops would do the same, but their
code is compiled a second time beside the serial one, and takes longer.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import numba

T = TypeVar("T")


def over_slices(work: Callable[[int, int], T], count: int, threads: int | None = None) -> list[T]:
    """Call `work(first, last)` for slices that make up `range(count)`, one a thread; returns what each call returned.

    The number of threads is `threads`, or the caller's `numba.set_num_threads`. One thread is a plain call.
    """
    threads = max(1, min(numba.get_num_threads() if threads is None else threads, count))
    if threads == 1:
        return [work(0, count)]
    bounds = [count * thread // threads for thread in range(threads + 1)]
    others = [_pool(threads - 1).submit(work, *bounds[slot : slot + 2]) for slot in range(1, threads)]
    first = work(*bounds[:2])
    return [first, *(other.result() for other in others)]


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "kernel")
