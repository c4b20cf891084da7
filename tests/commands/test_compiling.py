"""Kernels compiled by a process of their own."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hexlit.commands.compiling import Compiling, functions_of
from hexlit.commands.kernels import SETS
from hexlit.hex.jit import is_compiled, mark_compiled

numba = pytest.importorskip("numba")


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
    compiling.wait()
    compiling.close()


def test_it_says_how_far_it_is_and_with_what(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start_instead(monkeypatch, "import time; print('search'); print('solver', flush=True); time.sleep(0.6)")
    compiling = Compiling(["search", "solver"])
    heard: list[tuple[int, int, str]] = []
    compiling.wait(lambda done, total, what: heard.append((done, total, what)))
    assert heard[-1] == (2, compiling.total, "the exact solver")
    assert compiling.total > 2
    assert compiling.seconds > 0


def test_a_display_can_ask_for_its_state_and_the_time_left(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start_instead(monkeypatch, "import sys; print('solver', flush=True); sys.stdin.read()")
    compiling = Compiling(["solver"])
    while compiling.state() != (1, "the exact solver"):
        time.sleep(0.01)
    assert re.fullmatch(r"compiling the exact solver 1/\d+ · [\d:.]+( s)? left", compiling.status())
    compiling.close()
    assert compiling.status() == ""


def test_sets_are_shared_out_among_as_many_processes_as_asked_for(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest has a process of its own; each process says a line for every function, and ends by itself."""
    log = empty / "started"
    start_instead(
        monkeypatch,
        f"import sys; open({str(log)!r}, 'a').write(' '.join(sys.argv[1:]) + chr(10)); print(sys.argv[-1], flush=True)",
    )
    names = ["two_distance", "rollouts", "solver"]
    compiling = Compiling(sorted(names, key=lambda name: -SETS[name].seconds), processes=2)
    heard: list[tuple[int, int, str]] = []
    compiling.wait(lambda *progress: heard.append(progress))
    assert sorted(log.read_text().splitlines()) == ["solver", "two_distance rollouts"]
    assert heard[-1][:2] == (2, compiling.total)
    assert compiling.total == sum(SETS[name].functions for name in names)
    assert compiling.seconds > 0
    mark_compiled("two_distance")
    assert Compiling(["two_distance"], processes=2).names == []


def test_what_self_play_has_compiled_already_is_not_counted_again(empty: Path) -> None:
    alone = functions_of(["search"])["search"]
    assert functions_of(["selfplay", "search"])["search"] == alone - SETS["search"].shared["selfplay"] < alone
    mark_compiled("selfplay")
    assert functions_of(["search"])["search"] == alone - SETS["search"].shared["selfplay"]


def test_what_others_share_is_compiled_before_them(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts of the solver, in the process that has less to do."""
    log = empty / "started"
    start_instead(monkeypatch, f"import sys; open({str(log)!r}, 'a').write(' '.join(sys.argv[1:]) + chr(10))")
    compiling = Compiling(["solver", "two_distance", "solver_parts"], processes=2)
    compiling.wait()
    assert sorted(log.read_text().splitlines()) == ["solver", "solver_parts two_distance"]
    named = {name: SETS[name].functions for name in compiling.names}
    assert compiling.total == sum(named.values()) - SETS["solver"].shared["solver_parts"]


def test_all_processes_end_when_it_is_closed(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start_instead(monkeypatch, "import time; time.sleep(100)")
    compiling = Compiling(["solver", "two_distance"], processes=2)
    assert compiling.running
    compiling.close()
    assert not compiling.running


def test_a_failure_is_one_warning(
    empty: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    start_instead(monkeypatch, "raise SystemExit('no room on the disk')")
    compiling = Compiling(["solver"])
    compiling.wait()
    (record,) = caplog.records
    assert "failed (exit code 1: no room on the disk)" in record.getMessage()


def test_it_can_be_ended_and_that_is_no_failure(
    empty: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    start_instead(monkeypatch, "import time; time.sleep(100)")
    compiling = Compiling(["solver"], niceness=10)
    assert compiling.running
    assert compiling.cpu_seconds() >= 0
    compiling.close()
    compiling.wait()
    assert not caplog.records


@pytest.mark.slow
def test_the_process_compiles_marks_and_dies_with_its_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hexlit.commands.kernels", "solver"]
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": ""}
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
    assert done.returncode == 1, "standard input has ended: so has the parent"
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        lines = process.stdout.read().split()
    assert process.returncode == 0
    assert set(lines) == {"solver"}
    assert list(tmp_path.glob("solver-*.compiled"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["search", "roots", "solver", "solver_parts", "two_distance", "rollouts"])
def test_a_set_counts_the_functions_that_it_compiles(name: str, tmp_path: Path) -> None:
    assert compiled(name, tmp_path) == SETS[name].functions


@pytest.mark.slow
def test_the_solver_takes_its_parts_as_they_were_compiled(tmp_path: Path) -> None:
    """For arguments of other types it would compile them again."""
    assert compiled("solver_parts", tmp_path) == SETS["solver_parts"].functions
    assert compiled("solver", tmp_path) == functions_of(["solver_parts", "solver"])["solver"]


def compiled(name: str, folder: Path) -> int:
    """How many functions a process compiles for the set `name`, with `folder` as its cache."""
    command = [sys.executable, "-m", "hexlit.commands.kernels", name]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        return process.stdout.read().split().count(name)
