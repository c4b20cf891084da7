"""Processes that begin trials of one study at once, each as often as it may."""

import subprocess
import sys
from pathlib import Path

import optuna

from hexlit.tuning.storage import open_storage

RACER = """
import sys
from pathlib import Path
import optuna
from hexlit.tuning.storage import open_storage
from hexlit.tuning.turns import turn
optuna.logging.set_verbosity(optuna.logging.ERROR)
address, sampler, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
space = {"x": optuna.distributions.CategoricalDistribution(list(range(count)))}
samplers = {"grid": lambda: optuna.samplers.GridSampler({"x": list(range(count))}),
    "random": lambda: optuna.samplers.RandomSampler()}
study = optuna.load_study(study_name="race", storage=open_storage(address, Path()), sampler=samplers[sampler]())
study.stop = lambda: None
print("ready", flush=True)
sys.stdin.readline()
while True:
    with turn(study) as mine:
        if len(study.get_trials(deepcopy=False)) >= count:
            break
        trial = study.ask(space)
        assert mine()
    study._storage.set_trial_state_values(trial._trial_id, optuna.trial.TrialState.COMPLETE, [0.0])
"""


def race(address: str, folder: Path, sampler: str, *, processes: int, trials: int) -> list[int]:
    """Numbers of the `trials` that so many `processes` have begun; for `grid` the points, in order."""
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
    found = study.get_trials()
    return sorted(trial.params["x"] if sampler == "grid" else trial.number for trial in found)
