"""Medians, spreads and what does not count; reports in three forms."""

import json
from typing import Any

import pytest

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.bench import measure
from hexlit.bench.config import BenchConfig
from hexlit.bench.measure import Measurement, Report, measure_rate
from hexlit.reporting.bench import bench_page
from hexlit.reporting.text import markdown


class Clock:
    """A clock that only work moves on."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(measure, "time", made)
    return made


def test_the_first_call_is_told_apart_and_the_rest_are_medians(clock: Clock) -> None:
    """Warm-up kept out of the figures."""
    calls = 0
    # Seconds of the calls after the first: three until the rounds are known, then five measurements
    # of four rounds.
    paces = iter([0.1] * 3 + [pace for pace in (0.1, 0.2, 0.4, 0.1, 0.1) for _ in range(4)])

    def work() -> float:
        nonlocal calls
        calls += 1
        clock.now += 30.0 if calls == 1 else next(paces)
        return 10.0

    profile = build_profile(AcceleratorConfig(device="cpu"))
    line = measure_rate(BenchConfig(repeats=5, seconds=0.4), work, "w", "u/s", profile)
    assert line.first_call_seconds == 30.0
    assert line.median == pytest.approx(100)
    assert line.lower_quartile == pytest.approx(50)
    assert line.upper_quartile == pytest.approx(100)
    assert (line.device, line.threads) == ("cpu", profile.threads)


def report() -> Report:
    lines = [
        Measurement(
            "forward 6x64",
            "positions/s",
            "cuda:0",
            4,
            "graph | bf16",
            1234.5,
            1000.0,
            2000.0,
            0.5,
            7.5,
            2.0,
        ),
        Measurement("training", "positions/s", "mps", 0, "–", detail="no MPS device is found"),
    ]
    machine: dict[str, str | int] = {"device": "cuda:0", "threads": 4, "torch": "2.13.0"}
    return Report("11x11 board", {"board": 11}, machine, lines, ["bf16 is faster"])


def test_json_names_device_precision_threads_and_torch_of_every_figure() -> None:
    found: dict[str, Any] = json.loads(json.dumps(report().document()))
    for line in found["measurements"]:
        assert {
            "device",
            "precision",
            "threads",
            "torch",
            "median",
            "lower_quartile",
            "upper_quartile",
        } <= set(line)
    assert found["measurements"][0]["torch"] == "2.13.0"
    assert found["measurements"][1]["median"] is None
    assert found["findings"] == ["bf16 is faster"]


def test_markdown_is_a_table_with_the_findings_below() -> None:
    """A bar inside a cell does not break it."""
    lines = markdown(bench_page(report())).splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 4
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    assert "1,234 positions/s" in table[2]
    assert "7.5 s" in table[2]
    assert "no MPS device is found" in table[3]
    assert "bf16 is faster" in lines
    assert "torch 2.13.0" in lines[0]
