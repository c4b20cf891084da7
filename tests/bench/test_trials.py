"""Trainings at once and one after another: as many as asked for, a share of the threads each, and none left over."""

import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.bench import cpu
from hexlit.bench.config import BenchConfig
from hexlit.bench.cpu import TRIALS, measure_trials
from hexlit.bench.measure import Subject
from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.nets.tower import build_net

STAND_IN = """
import os, sys, time
begun = time.monotonic()
said = dict(argument.split("=", 1) for argument in sys.argv[2:])
time.sleep(0.1)
line = [said["accelerator.threads"], said["seed"], os.path.basename(os.getcwd()), str(begun), str(time.monotonic())]
with open(sys.argv[1], "a") as file:
    print(*line, file=file)
"""


@pytest.fixture
def subject(monkeypatch: pytest.MonkeyPatch) -> Subject:
    monkeypatch.setattr(cpu, "ROUNDS", 2)
    profile = build_profile(AcceleratorConfig(device="cpu", threads=2, precision="32-true"))
    return Subject(build_net(NetConfig()), BenchConfig(), profile)


@pytest.mark.row("D22")
def test_as_many_run_at_once_as_the_line_says_with_a_share_of_the_threads_each(
    subject: Subject, tmp_path: Path
) -> None:
    outcome = measure_trials(subject, (sys.executable, "-c", STAND_IN, str(tmp_path / "log")))
    found: dict[str, list[tuple[int, int, float, float]]] = {}
    for line in (tmp_path / "log").read_text().splitlines():
        threads, seed, where, begun, ended = line.split()
        found.setdefault(where, []).append((int(threads), int(seed), float(begun), float(ended)))
    assert sorted(found) == ["0-1", "0-2", "1-1", "1-2", "first"]
    for where in ("0-1", "1-1", "0-2", "1-2"):
        assert {threads for threads, *_ in found[where]} == {1 if where.endswith("2") else 2}
        assert sorted(seed for _, seed, *_ in found[where]) == list(range(1, TRIALS + 1))
    for where in ("0-1", "1-1"):
        spans = sorted((begun, ended) for *_, begun, ended in found[where])
        assert all(one[1] <= other[0] for one, other in pairwise(spans)), "one after another"
    for where in ("0-2", "1-2"):
        spans = sorted((begun, ended) for *_, begun, ended in found[where])
        assert all(one[1] <= other[0] for one, other in zip(spans, spans[2:], strict=False)), "never three"
    assert [line.threads for line in outcome.lines] == [2, 2]
    medians = [line.milliseconds or 0.0 for line in outcome.lines]
    assert outcome.findings == [
        f"4 trainings, 2 at once: {medians[0] / medians[1]:.2f} times the rate of one after another"
    ]


@pytest.mark.row("D22")
def test_a_training_that_fails_ends_the_measurement_and_all_others(subject: Subject, tmp_path: Path) -> None:
    program = """
import sys, time
if "seed=2" in sys.argv:
    print("no such board")
    sys.exit(2)
if "accelerator.threads=1" in sys.argv:
    time.sleep(600)
"""
    began = time.monotonic()
    with pytest.raises(UsageError, match="what=trials: a training ended with 2: no such board"):
        measure_trials(subject, (sys.executable, "-c", program))
    assert time.monotonic() - began < 300, "none was waited for"
