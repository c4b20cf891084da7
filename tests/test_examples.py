"""The examples run, and the one file that has it all stays one that can be read in one sitting."""

import csv
import importlib.util
import os
import subprocess
import sys
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


def test_any_hydra_program_is_swept_and_resumed(tmp_path: Path) -> None:
    def sweep(*overrides: str) -> None:
        fixed = ["--multirun", "hydra.sweep.dir=sweep", "hydra.sweeper.n_jobs=4", "epochs=2"]
        subprocess.run(
            [sys.executable, ANY_PROGRAM, *fixed, *overrides],
            cwd=tmp_path,
            env={**os.environ, "HEXLIT_SLOTS": str(tmp_path / "slots")},
            capture_output=True,
            check=True,
        )

    sweep("hydra.sweeper.n_trials=2")
    sweep("hydra.sweeper.n_trials=3", "hydra.sweeper.resume=true")
    with (tmp_path / "sweep" / "leaderboard.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["rank"], row["state"]) for row in rows] == [(n, "complete") for n in "123"]
    assert {"lr", "width", "value"} <= set(rows[0])
