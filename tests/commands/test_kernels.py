"""Kernels compiled by a process of their own."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest

from hexlit.arena.player_spec import KINDS, PlayerSpec
from hexlit.commands.kernels import SETS, SETS_OF, Compiling, of_players
from hexlit.hex.jit import is_compiled, mark_compiled


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No set is marked as compiled."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


def start_instead(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    popen = subprocess.Popen

    def start(arguments: list[str], **settings: object) -> object:
        return popen([sys.executable, "-c", program, *arguments[3:]], **settings)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", start)


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


def test_it_says_what_it_compiles(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start_instead(monkeypatch, "import time; time.sleep(0.6)")
    compiling = Compiling(["search", "solver"])
    assert re.fullmatch(r"compiling search and the exact solver, once on this machine: [\d.]+ s", compiling.status())
    heard: list[str] = []
    compiling.wait(heard.append)
    assert set(heard) == {"search and the exact solver"}
    assert compiling.seconds > 0
    assert compiling.status() == ""


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


def test_every_kind_of_player_says_which_kernels_it_calls() -> None:
    assert SETS_OF.keys() <= KINDS.keys()
    assert {name for names in SETS_OF.values() for name in names} <= SETS.keys()
    assert of_players([PlayerSpec("random"), PlayerSpec("policy")]) == []
    assert of_players([PlayerSpec("solver"), PlayerSpec("two_distance")]) == ["solver", "two_distance"]


@pytest.mark.slow
def test_the_process_compiles_marks_and_dies_with_its_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hexlit.commands.kernels", "solver"]
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": ""}
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
    assert done.returncode != 0, "standard input is no pipe of a parent"
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:
        while process.poll() is None:
            time.sleep(0.1)
    assert process.returncode == 0
    assert list(tmp_path.glob("solver-*.compiled"))


USES = {
    "search": """
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import UniformEvaluator
from hexlit.search.search import Search
search = Search(SearchConfig(simulations=9), size=4, games=2)
search.run(np.zeros((2, 16), np.int8), np.ones(2, np.int8), UniformEvaluator())
""",
    "solver": """
from hexlit.hex.solver import Solver
Solver(4).solve(np.zeros(16, np.int8), 1)
""",
    "two_distance": """
from hexlit.arena.baselines import TwoDistancePlayer
TwoDistancePlayer(depth=2).choose(np.zeros((2, 16), np.int8), np.ones(2, np.int8))
""",
    "rollouts": """
from hexlit.arena.baselines import RolloutPlayer
RolloutPlayer(simulations=9).choose(np.zeros((2, 16), np.int8), np.ones(2, np.int8))
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", USES)
def test_what_a_set_is_for_compiles_nothing_more(name: str, tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-m", "hexlit.commands.kernels", name], stdin=subprocess.PIPE, env=environment
    ) as process:
        process.wait()
    before = set(tmp_path.rglob("*.nbc"))
    assert before
    subprocess.run([sys.executable, "-c", f"import numpy as np\n{USES[name]}"], check=True, env=environment)
    assert set(tmp_path.rglob("*.nbc")) == before
