"""The one way a function of the engine is compiled."""

import ast
import hashlib
import logging
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import resolve_name
from itertools import chain
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar
from unittest.mock import patch

import numba
from numba import types
from numba.core.caching import FunctionCache
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target

from hexlit.errors import UsageError, is_foreign_file
from hexlit.files import cache_folder

log = logging.getLogger(__name__)

F = TypeVar("F", bound=Callable[..., object])

ROOMS = ("hex", "search", "selfplay", "nets/winograd")
"""Folders of the package that hold kernels."""
USES_KERNELS = re.compile(
    r"^from (numba\.extending import|hexlit\.hex\.jit import .*(kernel|inline|device_function))",
    re.MULTILINE,
)
"""Matches the source of a module that holds kernels."""
IMPORTS = re.compile(r"^from hexlit\.([a-z_.]+) import", re.MULTILINE)
"""Matches the imports of a module from this package."""

DAYS_KEPT = 14
"""A folder that no process has used for so many days is removed; a run that lasts longer compiles
again at worst.
"""
NEWEST_KEPT = 3
"""Number of folders next to the present one that are kept, however old they are."""


def use_folder(folder: Path) -> None:
    """Mark `folder` as used now; if it is new, remove old ones next to it (`remove_old_folders`)."""
    with suppress(OSError):  # a home that cannot be written to: Numba raises where it matters
        new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        if new:
            remove_old_folders(folder)


def remove_old_folders(present: Path) -> list[Path]:
    """Remove the folders next to `present` that are older than DAYS_KEPT, but not the NEWEST_KEPT;
    returns those gone.

    Only folders named as `present` is, 16 hexadecimal digits, are touched.
    """
    others = [
        path
        for path in present.parent.iterdir()
        if path != present and re.fullmatch("[0-9a-f]{16}", path.name)
    ]
    used = sorted(((path.stat().st_mtime, path) for path in others if path.is_dir()), reverse=True)
    oldest = time.time() - DAYS_KEPT * 24 * 3600
    gone = [path for when, path in used[NEWEST_KEPT:] if when < oldest]
    for path in gone:
        shutil.rmtree(path, ignore_errors=True)
    return gone


def kernel_sources(package: Path) -> dict[Path, str]:
    """The texts of all modules of `package` that hold kernels, and of those that they import at any
    remove.
    """
    modules = list(chain.from_iterable((package / room).rglob("*.py") for room in ROOMS))
    texts = {path: path.read_text(encoding="utf-8") for path in modules}
    result: dict[Path, str] = {}
    pending = [path for path, text in texts.items() if USES_KERNELS.search(text)]
    while pending:
        path = pending.pop()
        if path in result:
            continue
        result[path] = texts.get(path) or path.read_text(encoding="utf-8")
        for name in IMPORTS.findall(result[path]):
            module = package / name.replace(".", "/")
            file = module.with_suffix(".py")
            pending.append(file if file.exists() else module / "__init__.py")
    return result


def _digest() -> str:
    sources = kernel_sources(Path(__file__).resolve().parent.parent)
    digest = hashlib.sha256()
    for path in sorted(sources):
        digest.update(sources[path].encode())
    return digest.hexdigest()[:16]


SOURCES = _digest()
"""Names the source of every kernel.

Numba's cache watches only the kernel's own file. It would miss a change in another file whose
kernel is called. One folder for each state of the sources prevents that, in the folder that
NUMBA_CACHE_DIR names, too.
"""


def _cache_directory() -> Path:
    """The folder for machine code of these sources.

    Raises:
        UsageError: NUMBA_CACHE_DIR names a folder that cannot be written. Numba would write next to
            the sources.
    """
    named = numba.config.CACHE_DIR
    folder = (Path(named) if named else cache_folder() / "kernels") / SOURCES
    use_folder(folder)
    if named and not os.access(folder, os.W_OK):
        raise UsageError(
            f"NUMBA_CACHE_DIR={named}: this folder cannot be made or written; name another, or unset it"
        )
    return folder


FOLDER = _cache_directory()

if numba.config.DISABLE_JIT:
    raise UsageError("NUMBA_DISABLE_JIT=1: the kernels of hexlit run compiled only; unset it")


def kernel(function: F) -> F:
    """Compile `function` on first use, keep the machine code on disk, and release the GIL while it
    runs.
    """
    return _compiled(function)


def uncounted_kernel(function: F) -> F:
    """As `kernel`, for a function that makes no array: it counts no references to its arrays.

    Numba counts them at every call and every use of a tuple's array, with atomic instructions; a
    kernel of many small steps spends most of its time in that. A kernel that makes an array, or
    calls a function that does, is refused when it compiles. It should call only an
    `uncounted_kernel`, an `uncounted_device_function` or an `inline`: others count.
    """
    return _compiled(function, _nrt=False)


def uncounted_device_function(function: F) -> F:
    """Compile a `function` of medium length that only kernels call; LLVM copies it into each of
    them.

    It makes no array: see `uncounted_kernel`. It has no entry for Python, which would be a third of
    its code: a call from there raises TypeError.
    """

    def refuse(*_: object, **__: object) -> None:
        raise TypeError(f"{function.__name__} is a device function: call it from a kernel")

    dispatcher: Any = _compiled(function, forceinline=True, no_cpython_wrapper=True, _nrt=False)
    dispatcher._insert = lambda *_, **__: (
        None
    )  # keeps the table of entries for calls from Python empty
    dispatcher._compile_for_args = refuse
    return dispatcher  # type: ignore[no-any-return]  # Numba has no types


IN_KERNELS = {"nogil": True, "error_model": "numpy", "forceinline": True, "_nrt": False}
"""Options of a function that Numba compiles into a kernel, as `uncounted_device_function` has."""


def inline(function: F) -> F:
    """Copy a small `function` into the kernels that call it before these are compiled.

    That saves compiling it alone. For a long function, one that is called several times, or one
    that holds many calls, `uncounted_device_function` compiles faster, unless it takes a tuple of
    many arrays.
    """
    compiled: F = _cached(function, inline="always")
    return compiled


class KernelCache(FunctionCache):  # type: ignore[misc]  # Numba has no types
    """Numba's cache of one function on disk, which takes a damaged file for a missing one.

    Machine code that holds functions of other packages (see `hexlit.search.rule`) lies in a folder
    for each state of their sources.
    """

    def __init__(self, function: Callable[..., Any], folder: Path | None = None) -> None:
        """The cache of `function` in `folder`, by default the one for hexlit's kernels.

        Raises:
            UsageError: there is no place for it, or NUMBA_CACHE_LOCATOR_CLASSES names no class.
        """
        self._function = function
        self._folder = folder
        self._foreign: dict[Path, KernelCache] = {}
        try:
            with patch.object(numba.config, "CACHE_DIR", str(folder or FOLDER)):
                super().__init__(function)
        except RuntimeError as error:
            raise UsageError(
                f"{folder or FOLDER}: Numba keeps no machine code there ({error})"
            ) from error

    def load_overload(self, sig: object, target_context: object) -> object:
        """The machine code for a signature; None if there is none, or its files are damaged."""
        cache = self._place(sig)
        if cache is not self:
            return cache.load_overload(sig, target_context)
        try:
            return super().load_overload(sig, target_context)
        except OSError:
            raise
        except Exception as error:  # unpickling damaged data raises errors of any type
            log.warning(
                "%s: a damaged file of the kernel cache is written again (%r)",
                self.cache_path,
                error,
            )
            self.flush()
            return None

    def save_overload(self, sig: object, data: object) -> None:
        """Keep the machine code for a signature."""
        cache = self._place(sig)
        if cache is self:
            super().save_overload(sig, data)
        else:
            cache.save_overload(sig, data)

    def _place(self, sig: Any) -> "KernelCache":
        """The cache for a signature."""
        if self._folder is not None:
            return self
        folder = kernel_folder(getattr(sig, "args", sig), self._function)
        if folder == FOLDER:
            return self
        if folder not in self._foreign:
            self._foreign[folder] = KernelCache(self._function, folder)
        return self._foreign[folder]


_SESSION = os.urandom(16)


def kernel_folder(kinds: Iterable[types.Type], function: Callable[..., Any] | None = None) -> Path:
    """The folder for machine code of a signature; one for each state of the sources of the packages
    that its types, functions put into hexlit's modules, or the `function` itself come from.
    """
    modules = _foreign_modules(kinds)
    if function is not None and _is_foreign(function.__module__):
        modules.add(function.__module__)
    if not modules:
        return FOLDER
    digest = hashlib.sha256()
    if any(not hasattr(sys.modules[one], "__file__") for one in modules):
        digest.update(_SESSION)  # typed into an interpreter
    for path in sorted(_sources(modules)):
        digest.update(path.read_bytes())
    return FOLDER / digest.hexdigest()[:16]


def _foreign_modules(kinds: Iterable[types.Type]) -> set[str]:
    """The modules of other packages that define a `NamedTuple` among the types, at any depth, or a
    function in the module of one.
    """
    found: set[str] = set()
    for kind in kinds:
        if isinstance(kind, types.BaseNamedTuple):
            module = kind.instance_class.__module__
            if _is_foreign(module):
                found.add(module)
            else:
                found |= _patches_in(module)
            found |= _foreign_modules(kind.types)
    return found


KNOWN = {"hexlit", "numba", "numpy", *sys.stdlib_module_names} - {"__main__"}
"""Packages whose versions, or machines, the name of the common folder has."""


def _is_foreign(module: str) -> bool:
    return module.partition(".")[0] not in KNOWN


def _patches_in(module: str) -> set[str]:
    """The modules of other packages whose functions stand in a module of hexlit."""
    found: set[str] = set()
    for value in vars(sys.modules[module]).values():
        function = getattr(value, "py_func", value)
        if isinstance(function, FunctionType) and _is_foreign(function.__module__):
            found.add(function.__module__)
    return found


def _sources(modules: Iterable[str]) -> set[Path]:
    """The files of `modules`, and of all of other packages that they import."""
    files: set[Path] = set()
    pending = list(modules)
    while pending:
        name = pending.pop()
        part = sys.modules[name]
        file = Path(str(getattr(part, "__file__", "")))
        if file not in files and file.suffix == ".py" and file.is_file():
            files.add(file)
            pending += _imports(file, part.__package__ or "")
    return files


def _imports(file: Path, package: str) -> list[str]:
    """The loaded modules of other packages that the source `file` of `package` imports."""
    names: list[str] = []
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            names += [one.name for one in node.names]
        if isinstance(node, ast.ImportFrom):
            relative = "." * node.level + (node.module or "")
            module = resolve_name(relative, package) if node.level else relative
            names.append(module)
            names += [f"{module}.{one.name}" for one in node.names]
    return [name for name in names if name in sys.modules and _is_foreign(name)]


def _cached(function: F, **options: Any) -> Any:
    """The dispatcher of `function`, whose machine code is kept on disk."""
    compiled: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
    compiled._cache = KernelCache(function)
    compile_for_args = compiled._compile_for_args

    def compile_or_refuse(*arguments: object, **keywords: object) -> object:
        try:
            return compile_for_args(*arguments, **keywords)
        except NumbaError as error:
            _refuse_foreign_line(error)
            raise

    compiled._compile_for_args = compile_or_refuse
    return compiled


def _refuse_foreign_line(error: NumbaError) -> None:
    """Raise a `UsageError` for the line of another package that Numba cannot compile, if that is
    the `error`, whose text has hundreds of lines.
    """
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    innermost = re.split('File "|During:', text, maxsplit=1)[0].rstrip()
    reason = innermost.rpartition("\n")[2].strip()[:150]
    for file, line in re.findall(r" at (/.+) \((\d+)\)$", text, re.MULTILINE):
        if is_foreign_file(file):
            raise UsageError(f"{file}:{line}: Numba cannot compile this line ({reason})") from error


def _compiled(function: F, **options: bool) -> F:
    # Numba's wrapper for C serves calls through a pointer; there are none here.
    compiled = _cached(function, no_cfunc_wrapper=True, **options)
    template = compiled.get_call_template

    def of_plain_types(args: Any, kws: Any) -> Any:
        return template(
            tuple(map(_plain, args)), {name: _plain(kind) for name, kind in kws.items()}
        )

    compiled.get_call_template = of_plain_types
    return compiled  # type: ignore[no-any-return]  # Numba has no types


def _plain(kind: types.Type) -> types.Type:
    """The type that a kernel takes for an argument of type `kind` from another kernel: one for all
    whole numbers.

    Numba compiles a function again for every constant (`Literal[int](0)`) and for every width of a
    whole number.
    """
    kind = types.unliteral(kind)
    narrow = isinstance(kind, types.Integer) and kind.signed
    return types.int64 if narrow else kind


def mark_compiled(name: str) -> None:
    """Say that the kernels of the set `name` are in the folder."""
    mark = _mark(name)
    with suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def is_compiled(name: str) -> bool:
    """Whether the set `name` was compiled for this installation, processor and versions."""
    return _mark(name).exists()


def _mark(name: str) -> Path:
    machine = (
        cpu_target.target_context.codegen().magic_tuple()
    )  # as in the cache: processor and its features
    versions = sys.version, numba.__version__
    place = str(
        Path(__file__).resolve()
    )  # the cache of another copy of the same sources is not this one's
    digest = hashlib.sha256(repr((SOURCES, place, machine, versions)).encode()).hexdigest()[:16]
    return FOLDER / f"{name}-{digest}.compiled"


T = TypeVar("T")


_settings = threading.local()


def use_threads(count: int) -> None:
    """Let kernels that this Python thread calls use `count` threads, up to NUMBA_NUM_THREADS.

    Numba starts no threads: `over_slices` has a pool of Python's, and kernels release the GIL.
    """
    _settings.threads = min(count, numba.config.NUMBA_NUM_THREADS)


def kernel_threads() -> int:
    """Number of threads for kernels that this Python thread calls: all cores, unless `use_threads`
    was called.
    """
    threads: int = getattr(_settings, "threads", numba.config.NUMBA_NUM_THREADS)
    return threads


@contextmanager
def restored_threads() -> Iterator[None]:
    """Restore the number of threads for kernels at the end of the block."""
    before = kernel_threads()
    try:
        yield
    finally:
        use_threads(before)


def over_slices(
    work: Callable[[int, int], T], count: int, threads: int | None = None, least: int = 1
) -> list[T]:
    """Call `work(first, last)` for slices that make up `range(count)`, one a thread; returns what
    each call returned.

    The number of threads is `threads`, or that of `kernel_threads`; fewer where a slice would have
    less than `least` of the range. One thread is a plain call.
    """
    threads = max(1, min(kernel_threads() if threads is None else threads, count // least))
    if threads == 1:
        return [work(0, count)]
    bounds = [count * thread // threads for thread in range(threads + 1)]
    others = [
        _pool(threads - 1).submit(work, *bounds[slot : slot + 2]) for slot in range(1, threads)
    ]
    first = work(*bounds[:2])
    return [first, *(other.result() for other in others)]


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "kernel")
