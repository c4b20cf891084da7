"""How kernels are compiled."""

import importlib
import pkgutil

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

import hexlit.hex.solver
from hexlit.hex.jit import borrowing_kernel


def test_a_borrowing_kernel_works_on_what_it_is_given_and_makes_no_array() -> None:
    @borrowing_kernel
    def double(given: np.ndarray) -> None:
        for i in range(given.shape[0]):
            given[i] *= 2

    @borrowing_kernel
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
                assert value.targetoptions.get("_nrt") is False, f"{module.name}.{name}"
    assert kernels > 30
