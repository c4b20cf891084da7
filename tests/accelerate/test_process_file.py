"""How a live run is found by its folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from hexlit.accelerate.machine import (
    RunProcess,
    newest_live_run,
    read_process_file,
    remove_process_file,
    write_process_file,
)


def test_a_run_writes_its_process_and_takes_it_away(tmp_path: Path) -> None:
    write_process_file(tmp_path)
    facts = json.loads((tmp_path / "process.json").read_text())
    assert facts == {
        "pid": os.getpid(),
        "create_time": pytest.approx(psutil.Process().create_time()),
    }
    process = read_process_file(tmp_path)
    assert process is not None
    assert process.alive
    remove_process_file(tmp_path)
    remove_process_file(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert read_process_file(tmp_path) is None


def test_a_later_process_of_the_same_number_is_not_the_run() -> None:
    begun = psutil.Process().create_time()
    assert RunProcess(os.getpid(), begun + 1.0).alive
    assert not RunProcess(os.getpid(), begun - 3600).alive


def test_the_newest_live_run_is_found_in_runs_and_in_sweeps(tmp_path: Path) -> None:
    assert newest_live_run(tmp_path / "runs") is None
    for name, text in {
        "hex5/a": json.dumps({"pid": os.getpid(), "create_time": 1.0}),
        "hex5/c": "{",
    }.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "process.json").write_text(text)
    assert newest_live_run(tmp_path) is None
    sweep = tmp_path / "hex5/b/3"
    sweep.mkdir(parents=True)
    write_process_file(sweep)
    found = newest_live_run(tmp_path)
    assert found is not None
    assert found[0] == sweep
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        later = tmp_path / "hex7" / "d"
        later.mkdir(parents=True)
        begun = psutil.Process(child.pid).create_time()
        (later / "process.json").write_text(json.dumps({"pid": child.pid, "create_time": begun}))
        assert newest_live_run(tmp_path) == (later, RunProcess(child.pid, begun))
        child.communicate(b"\n")
