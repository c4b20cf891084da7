"""Marks beside the compiled kernels: a mark says that a set of them is complete."""

import hashlib
import sys
from contextlib import suppress
from pathlib import Path

import numba
from numba.core.registry import cpu_target

from hexlit.hex.jit import SOURCES


def mark_compiled(name: str) -> None:
    """Say that the kernels of the set `name` are in the folder."""
    mark = _mark(name)
    with suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def is_compiled(name: str) -> bool:
    """Whether the set `name` was compiled for this installation, processor and versions, or needs no compiling."""
    return bool(numba.config.DISABLE_JIT) or _mark(name).exists()


def _mark(name: str) -> Path:
    machine = cpu_target.target_context.codegen().magic_tuple()  # as in the cache: processor and its features
    versions = sys.version, numba.__version__
    place = str(Path(__file__).resolve())  # the cache of another copy of the same sources is not this one's
    digest = hashlib.sha256(repr((SOURCES, place, machine, versions)).encode()).hexdigest()[:16]
    return Path(numba.config.CACHE_DIR) / f"{name}-{digest}.compiled"
