"""The one way a function of the engine is compiled."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import types

from hexlit.files import cache_folder
from hexlit.hex.kernel_folders import use_folder

F = TypeVar("F", bound=Callable[..., object])

ROOMS = ("hex", "search", "selfplay", "nets/winograd")
"""Folders of the package that hold kernels."""


def _digest() -> str:
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for room in ROOMS:
        for source in sorted((package / room).rglob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


SOURCES = _digest()
"""Names the source of every kernel.

Numba's cache watches only the kernel's own file. It would miss a change in another file whose kernel is called. One
folder for each state of the sources prevents that.
"""

if not os.environ.get("NUMBA_CACHE_DIR"):
    _folder = cache_folder() / "kernels" / SOURCES
    use_folder(_folder)
    numba.config.CACHE_DIR = str(_folder)


def kernel(function: F) -> F:
    """Compile `function` on first use, keep the machine code on disk, and release the GIL while it runs."""
    return _compiled(function)


def borrowing_kernel(function: F) -> F:
    """As `kernel`, for a function that makes no array: it counts no references to its arrays.

    Numba counts them at every call and every use of a tuple's array, with atomic instructions; a kernel of many small
    steps spends most of its time in that. A kernel that makes an array, or calls a function that does, is refused when
    it compiles. It should call only a `borrowing_kernel`, `borrowing_part` or `inline`: others count references.
    """
    return _compiled(function, _nrt=False)


def part(function: F) -> F:
    """Compile a `function` of medium length that only kernels call; LLVM copies it into each of them.

    It has no entry for Python, which would be a third of its code: a call from there raises TypeError.
    """
    return _without_entry(_compiled(function, forceinline=True, no_cpython_wrapper=True))


def borrowing_part(function: F) -> F:
    """As `part`, for a function that makes no array: see `borrowing_kernel`."""
    return _without_entry(_compiled(function, forceinline=True, no_cpython_wrapper=True, _nrt=False))


def inline(function: F) -> F:
    """Copy a small `function` into the kernels that call it before these are compiled.

    That saves compiling it alone. For a long function, one that is called several times, or one that holds many calls,
    `part` compiles faster, unless it takes a tuple of many arrays.
    """
    compiled: F = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")(function)
    return compiled


def _compiled(function: F, **options: bool) -> F:
    # Numba's wrapper for C serves calls through a pointer; there are none here.
    compiled: Any = numba.njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    template = compiled.get_call_template

    def of_plain_types(args: Any, kws: Any) -> Any:
        return template(tuple(map(_plain, args)), {name: _plain(kind) for name, kind in kws.items()})

    compiled.get_call_template = of_plain_types
    return compiled  # type: ignore[no-any-return]  # Numba has no types


def _plain(kind: types.Type) -> types.Type:
    """The type that a kernel takes for an argument of type `kind` from another kernel: one for all whole numbers.

    Numba compiles a function again for every constant (`Literal[int](0)`) and for every width of a whole number.
    """
    kind = types.unliteral(kind)
    narrow = isinstance(kind, types.Integer) and kind.signed
    return types.int64 if narrow else kind


def _without_entry(compiled: F) -> F:
    def refuse(*_: object, **__: object) -> None:
        raise TypeError(f"{compiled.__name__} is a part of compiled code: call it from a kernel")

    dispatcher: Any = compiled
    dispatcher._insert = lambda *_, **__: None  # keeps the table of entries for calls from Python empty
    dispatcher._compile_for_args = refuse
    return compiled
