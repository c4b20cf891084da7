"""The examples run, and the one file that has it all stays one that can be read in one sitting."""

import csv
import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
import torch

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
ONE_FILE = EXAMPLES / "selfplay_in_one_file.py"
ANY_PROGRAM = EXAMPLES / "any_hydra_program" / "train.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("selfplay_in_one_file", ONE_FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_core_loop_goes_from_the_rules_to_a_measured_network(
    example: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    shares = example.main(["--size", "3", "--epochs", "1", "--games", "16", "--simulations", "8"])
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 1
    assert said[0].startswith("epoch  1")
    assert f"openings right {shares[0]:4.0%}  wins kept {shares[1]:4.0%}" in said[0]
    assert all(0 < share <= 1 for share in shares)


@pytest.mark.slow
def test_it_learns_to_play_perfectly_on_3x3(example: ModuleType) -> None:
    torch.set_num_threads(1)
    openings, kept = example.main(["--size", "3", "--epochs", "15"])
    assert openings == 1.0
    assert kept >= 0.97


def sweep_of_the_program(folder: Path, *overrides: str) -> "subprocess.Popen[bytes]":
    fixed = ["--multirun", "hydra.sweep.dir=sweep", *overrides]
    return subprocess.Popen(
        [sys.executable, ANY_PROGRAM, *fixed],
        cwd=folder,
        env={**os.environ, "HEXLIT_SLOTS": str(folder / "slots")},
        stdout=subprocess.DEVNULL,
    )


def leaderboard(folder: Path) -> list[dict[str, str]]:
    with (folder / "sweep" / "leaderboard.csv").open() as file:
        return list(csv.DictReader(file))


def test_any_hydra_program_is_swept(tmp_path: Path) -> None:
    process = sweep_of_the_program(tmp_path, "hydra.sweeper.n_trials=2", "epochs=1")
    assert process.wait(300) == 0
    rows = leaderboard(tmp_path)
    assert [(row["rank"], row["state"]) for row in rows] == [("1", "complete"), ("2", "complete")]
    assert {"lr", "width", "value"} <= set(rows[0])


@pytest.mark.slow
def test_any_hydra_program_is_killed_and_resumed(tmp_path: Path) -> None:
    process = sweep_of_the_program(tmp_path, "hydra.sweeper.n_trials=8")
    while not (tmp_path / "sweep" / "trial-002").exists():
        assert process.poll() is None
        time.sleep(0.1)
    process.kill()
    process.wait()
    resumed = ("hydra.sweeper.n_trials=8", "hydra.sweeper.resume=true")
    assert sweep_of_the_program(tmp_path, *resumed).wait(600) == 0
    states = [row["state"] for row in leaderboard(tmp_path)]
    assert "interrupted" in states
    assert states.count("complete") + states.count("pruned") == 8
