"""How kernels are compiled."""

import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import hexlit.hex.solver
from hexlit.errors import UsageError
from hexlit.hex import jit
from hexlit.hex.jit import (
    ROOMS,
    SOURCES,
    kernel,
    kernel_sources,
    uncounted_device_function,
    uncounted_kernel,
)

PACKAGE = Path(hexlit.hex.solver.__file__).parents[2]


def test_every_kernel_stands_in_a_folder_whose_changes_are_seen() -> None:
    decorators = re.compile(
        r"^@(kernel|inline|uncounted_device_function|uncounted_kernel)$", re.MULTILINE
    )
    users = [
        path
        for path in PACKAGE.rglob("*.py")
        if decorators.search(path.read_text(encoding="utf-8"))
    ]
    outside = [
        path for path in users if not any(path.is_relative_to(PACKAGE / room) for room in ROOMS)
    ]
    assert len(users) > 20
    assert outside == []
    assert set(users) <= set(kernel_sources(PACKAGE))


def test_kernels_depend_on_the_modules_that_they_import_alone() -> None:
    sources = {str(path.relative_to(PACKAGE)) for path in kernel_sources(PACKAGE)}
    assert {
        "hex/geometry.py",
        "search/config.py",
        "hex/solver/table.py",
        "nets/winograd/vectors.py",
    } <= sources
    assert not {"hex/records/sgf.py", "hex/records/formats.py", "selfplay/importing.py"} & sources


def test_a_named_cache_has_a_folder_for_these_sources(tmp_path: Path) -> None:
    """Kernels of another version of another module are in another folder."""
    program = "from hexlit.hex import jit; print(jit.FOLDER)"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert run.stdout.strip() == str(tmp_path / SOURCES)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("NUMBA_NUM_THREADS=0", "a whole number of at least 1"),
        ("NUMBA_NUM_THREADS=-3", "a whole number of at least 1"),
        ("NUMBA_NUM_THREADS=many", "a whole number of at least 1"),
        ("NUMBA_DISABLE_JIT=1", "run compiled only"),
        ("NUMBA_CACHE_DIR=/dev/null", "cannot be made or written"),
        ("NUMBA_CACHE_LOCATOR_CLASSES=Odd", "Unknown cache locator class: 'Odd'"),
    ],
)
def test_an_environment_without_kernels_is_refused_in_one_line(setting: str, reason: str) -> None:
    name, _, value = setting.partition("=")
    run = subprocess.run(
        [sys.executable, "-m", "hexlit", "solve", "board=3"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {name: value},
    )
    assert run.returncode == 2, run.stderr
    (line,) = run.stderr.splitlines()
    assert line.startswith("hexlit solve: ")
    assert name in line
    assert reason in line


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_a_torn_file_of_the_cache_is_written_again(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def tripled(number: int) -> int:
        return 3 * number

    monkeypatch.setattr(jit, "FOLDER", tmp_path)
    assert kernel(tripled)(4) == 12
    (path,) = tmp_path.rglob(f"*.{kind}")
    path.write_bytes(path.read_bytes()[:40])
    assert kernel(tripled)(4) == 12
    (record,) = caplog.records
    assert "damaged file of the kernel cache" in record.getMessage()
    assert len(path.read_bytes()) > 40
    caplog.clear()
    assert kernel(tripled)(4) == 12
    assert not caplog.records


def test_a_borrowing_kernel_works_on_what_it_is_given_and_makes_no_array() -> None:
    @uncounted_kernel
    def double(given: np.ndarray) -> None:
        for i in range(given.shape[0]):
            given[i] *= 2

    @uncounted_kernel
    def copied(given: np.ndarray) -> int:
        return len(given.copy())

    cells = np.arange(3)
    double(cells)
    assert cells.tolist() == [0, 2, 4]
    with pytest.raises(UsageError, match=r"test_jit.py:\d+: Numba cannot .*NRT required"):
        copied(cells)


def test_every_kernel_of_the_solver_borrows() -> None:
    """One that does not counts references at each of its steps,
    and takes most of the solver's time.
    """
    kernels = 0
    for module in pkgutil.iter_modules(hexlit.hex.solver.__path__, "hexlit.hex.solver."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, Dispatcher):
                kernels += 1
                inlined = (
                    value.targetoptions.get("inline") == "always"
                )  # becomes code of the kernels that call it
                assert inlined or value.targetoptions.get("_nrt") is False, f"{module.name}.{name}"
    assert kernels > 30


def test_a_kernel_is_compiled_once_for_all_whole_numbers() -> None:
    @uncounted_device_function
    def doubled(number: int) -> int:
        return 2 * number

    @kernel
    def total(numbers: np.ndarray) -> int:
        return doubled(1) + doubled(2) + doubled(numbers[0]) + doubled(numbers.size)

    assert total(np.array([5], np.int16)) == 2 + 4 + 10 + 2
    assert len(vars(doubled)["overloads"]) == 1
