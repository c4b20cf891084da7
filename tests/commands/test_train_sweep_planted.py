"""A sweep of 24 real trainings that everything happens to: bad settings, accidents of trials, and its own death."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import optuna
import psutil
import pytest
from optuna.trial import FrozenTrial, TrialState

from hexlit.tuning.storage import open_storage

PLANTED = {3: "exit", 6: "kill", 9: "memory"}
TRIALS = 24


class SweepOf24:
    """The command, what it needs, and what it has come to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sweep = folder / "runs" / "quick" / "planted"
        for name in ("tmp", "home"):
            (folder / name).mkdir()

    def start(self, *overrides: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "hexlit", "train", "--multirun", "sweep=quick", "board=4", "logger=csv"]
        short = ["selfplay.positions=200", "trainer.max_epochs=8", "accelerator=cpu", "evaluation.positions=200"]
        short += [
            "hydra/sweeper/sampler=random",
            "hydra.sweeper.study_name=planted",
            f"hydra.sweeper.n_trials={TRIALS}",
        ]
        planted = Path(__file__).parent / "planted"
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(planted), str(Path(__file__).parents[2])]),
            "PLANTED": json.dumps(PLANTED),
            "HEXLIT_SLOTS": str(self.folder / "slots"),
            "TMPDIR": str(self.folder / "tmp"),
        }
        with (self.folder / "console.log").open("ab") as console:
            return subprocess.Popen(
                [*command, *short, *overrides], cwd=self.folder, env=environment, stdout=console, stderr=console
            )

    def trials(self) -> list[FrozenTrial]:
        if not (self.sweep / "study.journal").exists():
            return []
        return optuna.load_study(study_name=None, storage=open_storage(None, self.sweep)).get_trials()

    def processes(self) -> list[int]:
        """Live processes that belong to it."""
        living = [p for p in psutil.process_iter(["cwd", "status"]) if p.info["status"] != psutil.STATUS_ZOMBIE]
        return [process.pid for process in living if process.info["cwd"] == str(self.folder)]


@pytest.mark.row("C9")
@pytest.mark.row("C10")
@pytest.mark.row("C12")
@pytest.mark.row("D9")
@pytest.mark.row("D10")
@pytest.mark.row("D11")
@pytest.mark.row("D12")
@pytest.mark.slow
def test_a_sweep_survives_its_trials_and_itself(tmp_path: Path) -> None:
    """Accidents fail their own trials, bad ones are pruned, a killed sweep continues to the same count."""
    sweep = SweepOf24(tmp_path.resolve())
    process = sweep.start()
    try:
        wait_for(lambda: ended(sweep.trials()) >= TRIALS // 2 and running(sweep.trials()) == 2, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_for(lambda: sweep.processes() == [], None)
        before = sweep.trials()
        process = sweep.start("sweep.resume=true")
        assert process.wait(1200) == 0, (sweep.folder / "console.log").read_text()
    finally:
        process.kill()
    trials = sweep.trials()
    counted = [trial for trial in trials if not trial.user_attrs.get("interrupted")]
    interrupted = [trial for trial in trials if trial.user_attrs.get("interrupted")]
    failures = {t.number: str(t.user_attrs["failure"]) for t in counted if t.state == TrialState.FAIL}
    assert len(counted) == TRIALS
    assert 0 < len(interrupted) <= 2
    assert sorted(failures) == sorted(PLANTED)
    assert failures[3] == "exit code 7"
    assert failures[6] == "killed by SIGKILL"
    assert failures[9].startswith("out of memory: ")
    assert (sweep.sweep / "trial-009-retry" / "metrics.csv").exists()
    pruned = [trial for trial in counted if trial.state == TrialState.PRUNED]
    complete = [trial for trial in counted if trial.state == TrialState.COMPLETE]
    assert pruned, "of 24 random settings some are bad"
    assert max(last(trial) for trial in pruned) < max(float(trial.value or 0) for trial in complete)
    for one, other in zip(before, trials, strict=False):
        assert one.params == other.params
        if one.state.is_finished():
            assert (one.state, one.values) == (other.state, other.values), "resuming changes nothing that is done"
    results: dict[str, Any] = json.loads((sweep.sweep / "overall_results.json").read_text())
    assert results["counts"]["complete"] == len(complete)
    assert results["counts"]["pruned"] == len(pruned)
    assert results["pruning"]["saved_seconds"] > 0
    assert {failure["trial"] for failure in results["failures"]} >= set(PLANTED)
    assert sweep.processes() == []
    assert list(sweep.folder.rglob("*.tmp")) == []
    left = {path.name.rpartition("-")[0] for path in (sweep.folder / "tmp").iterdir()}
    assert left <= {"hexlit-inductor"}, "torch's compiled code is kept for all"


def ended(trials: list[FrozenTrial]) -> int:
    return sum(trial.state.is_finished() for trial in trials)


def running(trials: list[FrozenTrial]) -> int:
    return sum(trial.state == TrialState.RUNNING for trial in trials)


def last(trial: FrozenTrial) -> float:
    return trial.intermediate_values[max(trial.intermediate_values)]


def wait_for(condition: Any, process: subprocess.Popen[bytes] | None, seconds: float = 1200.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        assert process is None or process.poll() is None, f"ended with {process.returncode}"
        time.sleep(0.5)
