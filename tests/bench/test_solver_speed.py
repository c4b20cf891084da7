"""The measurement of the exact solver."""

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.bench.config import BenchConfig
from hexlit.bench.measure import Subject
from hexlit.bench.play import POSITIONS, measure_solver
from hexlit.nets.config import NetConfig
from hexlit.nets.tower import build_net


def test_positions_and_openings_are_measured_on_one_thread() -> None:
    config = BenchConfig(board=4, repeats=2, seconds=0.1)
    subject = Subject(
        build_net(NetConfig()), config, build_profile(AcceleratorConfig(device="cpu"))
    )
    lines = measure_solver(subject).lines
    names = [line.what for line in lines]
    assert names == [
        "winner after 4 random plies",
        "winning moves after 4 random plies",
        "all openings of 4x4",
    ]
    assert str(POSITIONS) in lines[0].detail
    assert all(line.threads == 1 and line.median and line.milliseconds for line in lines)
