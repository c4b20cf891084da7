"""Kernels compiled by a process of their own."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hexlit.cluster.lifeline import Child
from hexlit.commands.hex_task import evaluation_kernels
from hexlit.commands.kernels import SETS
from hexlit.commands.kernels import main as kernels_main
from hexlit.hex import jit
from hexlit.hex.jit import is_compiled, mark_compiled
from hexlit.search.config import ALGORITHMS, SearchConfig
from hexlit.tasks.hex import warmup
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.hex.warmup import Compiling, HexWarmup


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No set is marked as compiled."""
    monkeypatch.setattr(jit, "FOLDER", tmp_path)
    return tmp_path


def start_instead(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(
        warmup,
        "Child",
        lambda _, **settings: Child([sys.executable, "-c", program], tied=False, **settings),
    )


def test_a_set_is_marked_once_for_these_sources(empty: Path) -> None:
    assert not is_compiled("solver")
    mark_compiled("solver")
    assert is_compiled("solver")
    assert not is_compiled("search")
    compiling = Compiling(["solver"])
    assert compiling.names == []
    assert compiling.seconds == 0
    assert compiling.status() == ""
    compiling.wait()
    compiling.close()


@pytest.mark.parametrize("rule", ALGORITHMS)
def test_a_run_compiles_the_kernels_of_its_rule_before_it_plays(
    rule: str, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each rule has kernels of its own, and the set of one is not that of another."""
    start_instead(monkeypatch, "pass")
    config = HexTrainConfig(search=SearchConfig(rule), board=11)
    with closing(HexWarmup(config)) as begun:
        assert begun.first.names == [f"selfplay {rule}"]
    assert evaluation_kernels(config) == [f"search {rule}"]
    monkeypatch.setattr("hexlit.commands.kernels.end_with_parent", lambda: None)
    kernels_main([f"search {rule}"])
    assert [is_compiled(f"search {other}") for other in ALGORITHMS] == [
        other == rule for other in ALGORITHMS
    ]


def test_a_failure_is_one_warning(
    empty: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    start_instead(monkeypatch, "raise SystemExit('no room on the disk')")
    compiling = Compiling(["solver"])
    compiling.wait()
    (record,) = caplog.records
    assert "failed (exit code 1)" in record.getMessage()


def test_it_can_be_ended_and_that_is_no_failure(
    empty: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    start_instead(monkeypatch, "import time; time.sleep(100)")
    compiling = Compiling(["solver"], niceness=10)
    assert compiling.running
    compiling.close()
    compiling.wait()
    assert not caplog.records


@pytest.mark.slow
def test_the_process_compiles_and_marks(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hexlit.commands.kernels", "solver"]
    subprocess.run(command, check=True, env={"NUMBA_CACHE_DIR": str(tmp_path), "PATH": ""})
    assert list(tmp_path.rglob("solver-*.compiled"))


USES = {
    "search": """
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import UniformEvaluator
from hexlit.search.search import TreeSearch
search = TreeSearch(SearchConfig(simulations=9), size=4, games=2)
search.run(np.zeros((2, 16), np.int8), np.ones(2, np.int8), UniformEvaluator())
""",
    "solver": """
from hexlit.hex.solver import ExactSolver
ExactSolver(4).solve(np.zeros(16, np.int8), 1)
""",
    "two_distance": """
from hexlit.arena.baselines import TwoDistancePlayer
TwoDistancePlayer(depth=2).choose(np.zeros((2, 16), np.int8), np.ones(2, np.int8))
""",
    "rollouts": """
from hexlit.hex.encoding import blank_planes
from hexlit.search.evaluator import RolloutEvaluator
policy, value = np.zeros((2, 16), np.float32), np.zeros(2, np.float32)
RolloutEvaluator(4).evaluate(blank_planes(2, 4), policy, value)
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", USES)
def test_what_a_set_is_for_compiles_nothing_more(name: str, tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-m", "hexlit.commands.kernels", name], check=True, env=environment
    )
    before = set(tmp_path.rglob("*.nbc"))
    assert before
    subprocess.run(
        [sys.executable, "-c", f"import numpy as np\n{USES[name]}"], check=True, env=environment
    )
    assert set(tmp_path.rglob("*.nbc")) == before


def test_every_set_has_a_purpose() -> None:
    assert set(SETS) == set(warmup.PURPOSES)
