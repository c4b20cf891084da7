"""The kernels that most tests need, compiled once and side by side before the first test where the
cache has none.

Workers that begin with an empty cache would each compile the same ones, and wait for nothing but
their own.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROGRAMS = (
    ("-m", "hexlit.commands.kernels", "selfplay gumbel", "search gumbel"),
    ("-m", "hexlit.commands.kernels", "solver", "two_distance", "rollouts", "positions"),
)
"""Arguments of Python for each program; those that take longest come first."""


def missing(folder: Path) -> bool:
    """Whether a set of kernels has no mark in `folder`, which says that it is complete."""
    names = [name for _, _, *names in PROGRAMS for name in names]
    return any(next(folder.rglob(f"{name}-*.compiled"), None) is None for name in names)


def compile_kernels(processes: int) -> None:
    """Compile, in as many processes at a time. Failures here are left to the tests."""

    def run(program: tuple[str, ...]) -> None:
        # Its standard input stays open: these programs end with the process that holds it.
        with subprocess.Popen(
            [sys.executable, *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            process.wait()

    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(run, PROGRAMS))
