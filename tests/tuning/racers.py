"""Processes that begin trials of one study at once, each as often as it may."""

import subprocess
import sys
from pathlib import Path

import optuna

from hexlit.tuning.storage import open_storage
from hexlit.tuning.study import originals

RACER = """
import sys
from pathlib import Path
import optuna
from hexlit.tuning.storage import Retry, open_storage
from hexlit.tuning.samplers import build_sampler
from hexlit.tuning.study import begin_trial, originals
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


def race(address: str, folder: Path, sampler: str, *, processes: int, trials: int) -> list[int]:
    """Positions of the `trials` that so many `processes` have begun; for `grid` the points, in order."""
    name = "race"
    storage = open_storage(address, folder)
    if name in [study.study_name for study in storage.get_all_studies()]:
        optuna.delete_study(study_name=name, storage=storage)
    study = optuna.create_study(study_name=name, storage=storage)
    command = [sys.executable, "-c", RACER, address, sampler, str(trials)]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.close()  # a line's end for all of them
    assert [racer.wait(120) for racer in racers] == [0] * processes
    found = originals(study.get_trials())
    return sorted(trial.params["x"] if sampler == "grid" else at for at, trial in enumerate(found))
