"""The one way a function of the engine is compiled."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numba

F = TypeVar("F", bound=Callable[..., object])


def _cache_folder() -> str:
    """A folder named after the source of every kernel.

    Numba's cache watches only the file a kernel stands in, so a change to a kernel it calls from another file would
    go unseen; with one folder for one state of the sources that cannot happen.
    """
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for room in ("hex", "search", "selfplay"):
        for source in sorted((package / room).rglob("*.py")):
            digest.update(source.read_bytes())
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return str(home / "hexlit" / "kernels" / digest.hexdigest()[:16])


if not os.environ.get("NUMBA_CACHE_DIR"):
    numba.config.CACHE_DIR = _cache_folder()


def kernel(function: F) -> F:
    """Compile `function` on first use, keep the machine code on disk, and release the GIL while it runs."""
    compiled: F = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return compiled


def inline(function: F) -> F:
    """Compile a small `function` that only other kernels call, and make the compiler inline it."""
    compiled: F = numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)(function)
    return compiled


def parallel_kernel(function: F) -> F:
    """As `kernel`, with the `prange` loops of `function` spread over Numba's threads."""
    compiled: F = numba.njit(cache=True, nogil=True, error_model="numpy", parallel=True)(function)
    return compiled


def borrowing_kernel(function: F) -> F:
    """As `kernel`, for a function that makes no array: it counts no references to those that it is given.

    Numba counts them at every call and every use of a tuple's array, with atomic instructions; a kernel of many small
    steps spends most of its time in that. To make an array in one, or to call what does, is refused when it compiles.
    All that such a kernel calls has to be a `borrowing_kernel` or `borrowing_inline`, or it counts there.
    """
    compiled: F = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(function)
    return compiled


def borrowing_inline(function: F) -> F:
    """As `inline`, for a function that makes no array: see `borrowing_kernel`."""
    compiled: F = numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True, _nrt=False)(function)
    return compiled
