"""The measurement of the exact solver."""

import pytest

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.bench.measure import Effort
from hexlit.bench.solver_speed import POSITIONS, measure_solver
from hexlit.errors import UsageError
from hexlit.hex.solver import Ingredients


def test_the_openings_and_every_ingredient_are_measured_on_one_thread() -> None:
    lines, said = measure_solver(4, Effort(2, 0.1), build_profile(AcceleratorConfig(device="cpu")))
    names = [line.what for line in lines]
    assert names[:3] == ["winner after 4 random plies", "winning moves after 4 random plies", "all openings of 4x4"]
    assert str(POSITIONS) in lines[0].detail
    assert all(line.threads == 1 and line.median and line.milliseconds for line in lines)
    told = [sentence.split(":")[0].removeprefix("without ") for sentence in said]
    assert told == list(Ingredients._fields)
    assert {name.removeprefix("without ") for name in names[3:]} <= set(told)


def test_the_board_of_a_checkpoint_may_be_too_large_for_the_solver() -> None:
    with pytest.raises(UsageError, match="size=9: must be from 2 to 8"):
        measure_solver(9, Effort(2, 0.1), build_profile(AcceleratorConfig(device="cpu")))
