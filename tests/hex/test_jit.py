"""How kernels are compiled."""

import importlib
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

import hexlit.hex.solver
from hexlit.hex.jit import ROOMS, kernel, uncounted_device_function, uncounted_kernel


def test_every_kernel_stands_in_a_folder_whose_changes_are_seen() -> None:
    package = Path(hexlit.hex.solver.__file__).parents[2]
    decorators = re.compile(r"^@(kernel|inline|uncounted_device_function|uncounted_kernel)$", re.MULTILINE)
    users = [path for path in package.rglob("*.py") if decorators.search(path.read_text(encoding="utf-8"))]
    outside = [path for path in users if not any(path.is_relative_to(package / room) for room in ROOMS)]
    assert len(users) > 20
    assert outside == []


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
    with pytest.raises(NumbaError, match="NRT required"):
        copied(cells)


def test_every_kernel_of_the_solver_borrows() -> None:
    """One that does not counts references at each of its steps, and takes most of the solver's time."""
    kernels = 0
    for module in pkgutil.iter_modules(hexlit.hex.solver.__path__, "hexlit.hex.solver."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, Dispatcher):
                kernels += 1
                inlined = value.targetoptions.get("inline") == "always"  # becomes code of the kernels that call it
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
