"""Sweeps of programs that are not hexlit's: small ones with `@hydra.main`,
as their users write and start them.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning as L
import pytest
from omegaconf import OmegaConf
from optuna.trial import TrialState

from hexlit.errors import UsageError
from hexlit.tuning import job, pruning, report
from hexlit.tuning.program import Program
from hexlit.tuning.pruning import PruningCallback
from hexlit.tuning.results import read_results
from hexlit.tuning.study import load_study

ROOT = Path(__file__).parents[2]
STAND_IN = Path(__file__).parent / "stand_in"
PROGRAM = """
import os, time
import hydra
import hexlit.tuning.plugin

@hydra.main(config_path="conf", config_name="config", version_base="1.3")
def main(config):
    value = 0.0
    for step in range(config.steps):
        time.sleep(config.pause)
        value = abs(config.x - 0.3) + 1 / (step + 1)
        hexlit.tuning.report(value, step)
    endings = {"none": None, "text": "0.5", "two": (value, 2.0), "undefined": float("nan")}
    if config.end == "error":
        raise RuntimeError("planted")
    if config.end == "prune":
        raise hexlit.tuning.TrialPruned
    print("ended with", os.environ.get("OMP_NUM_THREADS"), config.name)
    return endings.get(config.end, value)

if __name__ == "__main__":
    main()
"""
CONFIG = "{x: 0.5, steps: 3, pause: 0.0, end: well, name: plain}"
SPACE = "x=interval(0,1)"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the program, as a script and in a package."""
    package = tmp_path / "theirs"
    (package / "conf").mkdir(parents=True)
    (tmp_path / "conf").mkdir()
    for folder in (tmp_path, package):
        (folder / "program.py").write_text(PROGRAM)
        (folder / "conf" / "config.yaml").write_text(CONFIG)
    (package / "conf" / "other.yaml").write_text(CONFIG.replace("plain", "other"))
    return tmp_path


def environment(place: Path, **variables: str) -> dict[str, str]:
    path = os.pathsep.join([str(STAND_IN), str(ROOT)])
    slots = {"HEXLIT_SLOTS": str(place / "slots"), "OMP_NUM_THREADS": "1"}
    return {**os.environ, **slots, "PYTHONPATH": path, **variables}


def run(
    place: Path, *overrides: str, start: tuple[str, ...] = ("program.py",), **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *start, *overrides],
        cwd=place,
        env=environment(place, **variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def sweep(place: Path, *overrides: str, **given: Any) -> subprocess.CompletedProcess[str]:
    fixed = ["--multirun", "hydra/sweeper=optuna", "hydra.sweep.dir=sweep"]
    done = run(place, *fixed, *overrides, **given)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_it_runs_alone_as_ever(place: Path) -> None:
    done = run(place)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "ended with 1 plain\n"


def test_its_trials_end_as_the_function_does(place: Path) -> None:
    """A value, or pruned, or failed with the reason in one line."""
    ends = "end=well,none,text,two,undefined,error,prune"
    grid = ["hydra/sweeper/sampler=grid", "hydra/sweeper/pruner=none"]
    sweep(place, *grid, ends, "hydra.sweeper.max_failure_rate=1", "hydra.sweeper.n_jobs=4")
    results = read_results(place / "sweep")
    trials = {trial.params["end"]: trial for trial in results.trials}
    failures = {end: trial.failure for end, trial in trials.items() if trial.state == "failed"}
    assert failures == {
        "none": "the returned value None: must be a number",
        "text": "the returned value 0.5: must be a number",
        "two": f"the returned value {(0.2 + 1 / 3, 2.0)}: must be a number",
        "undefined": "its value is nan",
        "error": "RuntimeError: planted",
    }
    assert trials["prune"].state == "pruned"
    console = place / "sweep" / str(trials["prune"].folder) / "console.log"
    assert console.read_text() == "", "no traceback"
    assert trials["well"].values == pytest.approx([0.2 + 1 / 3])
    assert [*trials["well"].intermediate] == [0, 1, 2], "also without a pruner"
    best = (place / "sweep" / "best.yaml").read_text()
    assert best.startswith("# python program.py end=well\n")
    assert (place / "sweep" / "report.html").is_file()


def until(ready: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_killed_sweep_continues_and_repeats_what_was_interrupted(place: Path) -> None:
    """In Hydra's own folder, which is found again by the command."""
    asked = ["--multirun", "hydra/sweeper=optuna", SPACE, "pause=0.3", "hydra.sweeper.n_trials=5"]
    asked += ["hydra/sweeper/pruner=none", "hydra/sweeper/sampler=random"]
    command = [sys.executable, "program.py", *asked]

    def folders() -> list[Path]:
        return [path.parent for path in place.glob("multirun/*/*/sweep.json")]

    def states() -> list[TrialState]:
        return [trial.state for trial in load_study(folders()[0]).get_trials(deepcopy=False)]

    process = subprocess.Popen(
        command, cwd=place, env=environment(place), stdout=subprocess.DEVNULL
    )
    until(lambda: any(place.glob("multirun/*/*/trial-000")))  # the study exists by then
    until(lambda: states().count(TrialState.COMPLETE) >= 1)
    until(lambda: states().count(TrialState.RUNNING) == 2 and any(folders()[0].glob("trial-003")))
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = run(place, *asked, "hydra.sweeper.resume=true")
    assert done.returncode == 0, done.stderr
    assert len(folders()) == 1
    trials = read_results(folders()[0]).trials
    whole = [trial for trial in trials if trial.state == "complete"]
    interrupted = [trial for trial in trials if trial.state == "interrupted"]
    assert len(whole) == 5
    assert interrupted
    repeated = {trial.retry_of: trial.params for trial in trials if trial.retry_of is not None}
    assert repeated == {trial.number: trial.params for trial in interrupted}


def test_an_interrupted_sweep_prints_the_program_that_continues_it(place: Path) -> None:
    asked = ["--multirun", "hydra/sweeper=optuna", SPACE, "pause=0.3", "hydra.sweep.dir=sweep"]
    process = subprocess.Popen(
        [sys.executable, "program.py", *asked],
        cwd=place,
        env=environment(place),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    until((place / "sweep" / "trial-000" / "console.log").exists)
    process.send_signal(signal.SIGTERM)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == 130
    again = "hydra/sweeper=optuna hydra.sweep.dir=sweep hydra.sweeper.resume=true"
    last = f"To continue: python program.py --multirun 'x=interval(0,1)' pause=0.3 {again}"
    assert printed.splitlines()[-1] == last


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ([SPACE, "hydra.sweeper.n_trials=0"], "hydra.sweeper.n_trials=0: must be 1 or more"),
        ([SPACE, "hydra.sweeper.slots=0"], "hydra.sweeper.slots=0: must be 1 or more"),
        ([], "hydra.sweeper.params: nothing to search"),
        ([SPACE, "hydra.sweeper.resume=true"], "hydra.sweeper.resume=true: "),
        ([SPACE, "hydra.sweeper.direction=up"], "hydra.sweeper.direction=up: choose one of"),
    ],
)
def test_a_mistake_is_one_line(place: Path, overrides: list[str], message: str) -> None:
    done = run(place, "--multirun", "hydra/sweeper=optuna", *overrides)
    assert done.returncode == 2
    assert done.stderr.startswith(f"program.py: {message}")
    assert done.stderr.count("\n") == 1


def test_a_module_with_flags_and_several_values(place: Path) -> None:
    """The trials are started as their sweep was; objectives may be named."""
    start = ("-m", "theirs.program", "--config-name", "other")
    several = ["hydra.sweeper.direction=[minimize,maximize]", "hydra.sweeper.objective=[loss,size]"]
    sweep(place, "end=two", SPACE, *several, "hydra.sweeper.n_trials=2", start=start)
    results = read_results(place / "sweep")
    assert [one.name for one in results.objectives] == ["loss", "size"]
    assert [trial.state for trial in results.trials] == ["complete"] * 2
    console = (place / "sweep" / "trial-000" / "console.log").read_text()
    assert console == "ended with 1 other\n"
    assert results.facts.program == "python -m theirs.program --config-name=other"


def test_without_processes_its_trials_run_in_that_of_the_sweep(place: Path) -> None:
    accidents = json.dumps("no process")
    done = sweep(place, SPACE, "hydra.sweeper.n_trials=2", STAND_IN_ACCIDENTS=accidents)
    assert "no process can be started for a trial" in done.stdout
    assert [trial.state for trial in read_results(place / "sweep").trials] == ["complete"] * 2


def test_its_settings_of_the_sweep_stay_out_of_its_configuration(place: Path) -> None:
    limits = ["hydra.sweeper.trial_timeout=0.5", "hydra.sweeper.max_failure_rate=1"]
    run(place, "--multirun", "hydra/sweeper=optuna", "hydra.sweep.dir=sweep", SPACE, "pause=9",
        "hydra.sweeper.n_trials=1", *limits)  # fmt: skip
    [trial] = read_results(place / "sweep").trials
    assert str(trial.failure).endswith("s of hydra.sweeper.trial_timeout=0.5")


def test_a_trial_that_does_not_compose_fails_with_the_override(place: Path) -> None:
    several = ["missing=choice(1,2)", "hydra.sweeper.n_trials=1"]
    run(place, "--multirun", "hydra/sweeper=optuna", "hydra.sweep.dir=sweep", *several)
    [trial] = read_results(place / "sweep").trials
    assert str(trial.failure).startswith("exit code 1: To append to your config use +missing=")


def test_a_trial_sees_its_own_device_among_those_of_its_sweep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    config = OmegaConf.create()
    overrides, variables = Program().share(config, cores=4, device="cuda:1", named=[])
    assert overrides == []
    assert (variables["CUDA_VISIBLE_DEVICES"], variables["OMP_NUM_THREADS"]) == ("3", "4")
    assert "CUDA_VISIBLE_DEVICES" not in Program().share(config, 4, None, [])[1]


class Trial:
    """Of a study that prunes at the second report."""

    def __init__(self) -> None:
        self.pruned = False
        self.reports: list[tuple[int, float]] = []

    def report(self, step: int, value: float) -> bool:
        self.reports.append((step, value))
        return len(self.reports) == 2


class Counting(L.LightningModule):
    """Logs the number of the epoch at the end of validation."""

    def training_step(self, batch: Any, index: int) -> None:
        return None

    def validation_step(self, batch: Any, index: int) -> None:
        self.log("val_loss", float(self.current_epoch), batch_size=1)

    def configure_optimizers(self) -> None:
        return None


def fit(callback: L.Callback) -> L.Trainer:
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = L.Trainer(
        max_epochs=5, accelerator="cpu", callbacks=[callback], enable_model_summary=False,
        **quiet,  # type: ignore[arg-type]
    )  # fmt: skip
    trainer.fit(Counting(), [0], [0])
    return trainer


def test_the_callback_of_lightning_prunes_softly(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial()
    monkeypatch.setattr(pruning, "trial_of_process", lambda: trial)
    assert fit(PruningCallback(monitor="val_loss")).current_epoch == 2
    assert trial.pruned
    assert trial.reports == [(0, 0.0), (1, 1.0)]


def test_the_callback_refuses_a_metric_that_was_never_logged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pruning, "trial_of_process", Trial)
    with pytest.raises(UsageError, match=r"monitor='loss'\): no such metric; logged is val_loss"):
        fit(PruningCallback(monitor="loss"))


def test_outside_of_a_sweep_nothing_is_reported() -> None:
    assert job.trial_of_process() is None
    report(1.0, 0)
    assert fit(PruningCallback(monitor="loss")).current_epoch == 5
