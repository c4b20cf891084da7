"""Processes that begin trials of one study at once, each as often as it may."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import optuna

from hexlit.tuning.shared_trials import originals
from hexlit.tuning.storage import open_storage

RACER = """
import sys
from collections.abc import Sequence
from pathlib import Path
import optuna
from hexlit.tuning.storage import Retry, open_storage
from hexlit.tuning.samplers import build_sampler
from hexlit.tuning.shared_trials import begin_trial, originals
optuna.logging.set_verbosity(optuna.logging.ERROR)
address, sampler, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
space = {"x": optuna.distributions.CategoricalDistribution(list(range(count)))}
node = {"_target_": {"grid": "optuna.samplers.GridSampler", "random": "optuna.samplers.RandomSampler"}[sampler]}
drawn = build_sampler(node, space, seed=None)
study = optuna.load_study(study_name="race", storage=open_storage(address, Path(), Retry(60.0)), sampler=drawn)
print("ready", flush=True)
sys.stdin.readline()
while len(originals(study.get_trials(deepcopy=False))) < count:
    trial = begin_trial(study, space, count)
    if trial is None:
        continue
    study._storage.set_trial_state_values(trial._trial_id, optuna.trial.TrialState.COMPLETE, [0.0])
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A program in a process of its own, which can be told to go on."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def line_of(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def go_together(children: Sequence[subprocess.Popen[str]]) -> None:
    """Let all go on once all are ready."""
    assert [line_of(child) for child in children] == ["ready"] * len(children)
    for child in children:
        assert child.stdin is not None
        child.stdin.close()  # a line's end


def race(address: str, folder: Path, sampler: str, *, processes: int, trials: int) -> list[int]:
    """Positions of the `trials` that so many `processes` have begun;
    for `grid` the points, in order.
    """
    name = "race"
    storage = open_storage(address, folder)
    if name in [study.study_name for study in storage.get_all_studies()]:
        optuna.delete_study(study_name=name, storage=storage)
    study = optuna.create_study(study_name=name, storage=storage)
    racers = [start(RACER, address, sampler, trials) for _ in range(processes)]
    go_together(racers)
    assert [racer.wait(120) for racer in racers] == [0] * processes
    found = originals(study.get_trials())
    return sorted(trial.params["x"] if sampler == "grid" else at for at, trial in enumerate(found))
