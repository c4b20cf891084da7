"""Sweeps made by hand: real Optuna studies in a journal,
with the files that their trials would have left.
"""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import optuna
import psutil
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import StudyDirection
from optuna.trial import TrialState, create_trial

BEGAN = 1_700_000_000.0
LR: dict[str, BaseDistribution] = {"optimizer.lr": FloatDistribution(1e-5, 1e-1, log=True)}


@dataclass
class Made:
    """One trial to make."""

    state: TrialState = TrialState.COMPLETE
    values: Sequence[float] | None = None
    params: Mapping[str, Any] = field(default_factory=lambda: {"optimizer.lr": 0.01})
    distributions: Mapping[str, BaseDistribution] = field(default_factory=lambda: LR)
    intermediate: Mapping[int, float] = field(default_factory=dict)
    attrs: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Sequence[object]] | None = None
    """Columns of `metrics.csv`, the epoch left out."""
    start: float = 0.0
    end: float | None = 60.0
    """Seconds since the sweep began."""


def complete(value: float, **changes: Any) -> Made:
    return Made(values=[value], **changes)


def pruned(**changes: Any) -> Made:
    return Made(TrialState.PRUNED, **changes)


def failed(**changes: Any) -> Made:
    return Made(TrialState.FAIL, **changes)


def running(**changes: Any) -> Made:
    return Made(TrialState.RUNNING, end=None, **changes)


def make_sweep(
    folder: Path, trials: Sequence[Made], objectives: Mapping[str, str] | None = None, **facts: Any
) -> Path:
    """Write a sweep with its study, `sweep.json` and the folders of its trials."""
    objectives = objectives or {"strength.score": "maximize"}
    folder.mkdir(parents=True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        storage=JournalStorage(JournalFileBackend(str(folder / "study.journal"))),
        study_name="study",
        directions=[StudyDirection[way.upper()] for way in objectives.values()],
    )
    for number, made in enumerate(trials):
        attrs = {"folder": f"trial-{number:03d}"} | dict(made.attrs)
        over = made.state.is_finished()
        trial = create_trial(
            state=made.state,
            values=list(made.values) if made.values is not None else None,
            params=dict(made.params),
            distributions={name: made.distributions[name] for name in made.params},
            intermediate_values=dict(made.intermediate),
            user_attrs=attrs,
        )
        trial.datetime_start = datetime.fromtimestamp(BEGAN + made.start)
        trial.datetime_complete = (
            datetime.fromtimestamp(BEGAN + made.end) if over and made.end is not None else None
        )
        study.add_trial(trial)
        run = folder / attrs["folder"]
        run.mkdir(exist_ok=True)
        if made.metrics is not None:
            write_metrics(run, made.metrics)
    first = next(iter(objectives))
    said: dict[str, Any] = {
        "version": 1,
        "name": "hex5",
        "study_name": "study",
        "storage": None,
        "monitor": first,
    }
    said |= {
        "objectives": list(objectives),
        "directions": list(objectives.values()),
        "comparable": "comparable_loss",
    }
    said |= {
        "n_trials": len(trials),
        "n_jobs": 2,
        "sampler": "TPESampler",
        "pruner": "MedianPruner",
        "seeds": 1,
    }
    said |= {
        "started": BEGAN,
        "finished": BEGAN + 600.0,
        "seconds": 600.0,
        "overrides": ["experiment=hex5"],
    }
    (folder / "sweep.json").write_text(json.dumps(said | facts))
    return folder


def write_metrics(run: Path, columns: Mapping[str, Sequence[object]]) -> Path:
    """`metrics.csv` with the epochs counted from 0; an empty cell for None."""
    run.mkdir(parents=True, exist_ok=True)
    with (run / "metrics.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["epoch", "step", *columns])
        for epoch, values in enumerate(zip(*columns.values(), strict=True)):
            table.writerow(
                [epoch, 10 * epoch, *("" if value is None else value for value in values)]
            )
    return run / "metrics.csv"


def losses(
    policy: Sequence[float], value: Sequence[float], weight: float = 1.0
) -> dict[str, list[float]]:
    """Training losses by epoch, the total with the trial's own `weight` of the value loss."""
    pairs = list(zip(policy, value, strict=True))
    return {
        "train.loss": [p + weight * v for p, v in pairs],
        "train.policy_loss": list(policy),
        "train.value_loss": list(value),
        "train.comparable_loss": [comparable(p, v) for p, v in pairs],
    }


def comparable(policy: float, value: float) -> float:
    """The loss that all trials weigh alike."""
    return 0.14 * policy + 0.86 * value


def mark_alive(folder: Path) -> None:
    """Say that this very process works in `folder`."""
    facts = {"pid": os.getpid(), "create_time": psutil.Process().create_time()}
    (folder / "process.json").write_text(json.dumps(facts))


def mark_dead(folder: Path) -> None:
    """Leave what a killed process leaves."""
    with subprocess.Popen([sys.executable, "-c", "pass"]) as gone:
        gone.wait()
    (folder / "process.json").write_text(json.dumps({"pid": gone.pid, "create_time": 1.0}))
