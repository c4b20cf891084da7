"""The measurement of the exact solver."""

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.bench.config import BenchConfig
from hexlit.bench.measure import Subject
from hexlit.bench.play import POSITIONS, measure_solver
from hexlit.hex.solver import Ingredients
from hexlit.nets.config import NetConfig
from hexlit.nets.tower import build_net


def test_the_openings_and_every_ingredient_are_measured_on_one_thread() -> None:
    config = BenchConfig(board=4, repeats=2, seconds=0.1)
    outcome = measure_solver(Subject(build_net(NetConfig()), config, build_profile(AcceleratorConfig(device="cpu"))))
    lines, said = outcome.lines, outcome.findings
    names = [line.what for line in lines]
    assert names[:3] == ["winner after 4 random plies", "winning moves after 4 random plies", "all openings of 4x4"]
    assert str(POSITIONS) in lines[0].detail
    assert all(line.threads == 1 and line.median and line.milliseconds for line in lines)
    told = [sentence.split(":")[0].removeprefix("without ") for sentence in said]
    assert told == list(Ingredients._fields)
    assert {name.removeprefix("without ") for name in names[3:]} <= set(told)
