"""The gain of several leaves per call is measured with a network, with their unused rows."""

import re

import pytest

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.bench import play
from hexlit.bench.config import BenchConfig
from hexlit.bench.measure import Subject
from hexlit.bench.play import measure_leaves
from hexlit.nets.config import NetConfig
from hexlit.nets.tower import build_net
from hexlit.search.config import SearchConfig


@pytest.mark.row("E6")
@pytest.mark.row("E7")
def test_each_number_of_leaves_has_a_line_with_its_calls_and_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Virtual loss alone, and root batching."""
    monkeypatch.setattr(play, "LEAVES", (1, 8))
    net = build_net(NetConfig(channels=8, blocks=[1]))
    profile = build_profile(AcceleratorConfig(device="cpu"))
    config = BenchConfig(board=4, search=SearchConfig(simulations=32), repeats=2, seconds=0.01)
    lines = measure_leaves(Subject(net, config, profile)).lines
    assert [line.what.rsplit(": ")[1] for line in lines] == ["1 leaf a call", "8 leaves a call", "8 root moves a call"]
    calls, shares = zip(*(re.findall(r"[\d.]+(?= calls|%)", line.detail) for line in lines), strict=True)
    assert float(calls[0]) == 33
    assert shares[0] == "100"
    assert float(calls[1]) < float(calls[0]) / 2
    single, *others = [line.median or 0.0 for line in lines]
    assert "times the rate" not in lines[0].detail
    for line, rate in zip(lines[1:], others, strict=True):
        assert line.detail.startswith(f"{rate / single:.2f} times the rate of 1 leaf; ")
