"""A sweep as one run on Weights & Biases, in the group of its trials: a row per trial, and the
results.
"""

from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf

from hexlit.tracking.opening import open_run
from hexlit.tracking.provenance import git_state, versions
from hexlit.tracking.tracked_run import Files, TrackedRun

TRIAL = "sweep/trial"
COLUMNS = ("number", "state", "rank", "value", "seconds", "epochs", "failure")
FILES = ("overall_results.json", "leaderboard.csv", "best.yaml")


def track_sweep(config: DictConfig, plan: Any, document: Mapping[str, Any]) -> None:
    """Log the results `document` of the sweep of `plan`; log nothing where its trials log nothing.

    Its group is that of the trials, where no setting names another.
    """
    folder, group, resumed = plan.folder, plan.group, plan.judged.resume
    settings: Any = OmegaConf.to_object(config.logger.wandb)
    settings.group = settings.group or group
    facts: Any = OmegaConf.to_container(
        OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    )
    names = ("objectives", "sampler", "pruner", "n_jobs", "seeds", "parameters")
    facts |= {
        "study": {name: document[name] for name in names},
        "git": git_state(),
        "versions": versions(),
    }
    tags = ["sweep", facts["task"], facts["name"]]
    run = open_run(
        settings, folder, name=group, kind="sweep", tags=tags, facts=facts, resumed=resumed
    )
    if run is None:
        return
    log_trials(run, document)
    summary = {
        name: document[name]
        for name in ("state", "counts", "progress", "ranking", "seconds", "pruning")
    }
    best = next(
        (trial for trial in document["trials"] if trial["number"] == document["best"]), None
    )
    run.note(summary={**summary, "best": best})
    paths = [folder / name for name in FILES if (folder / name).exists()]
    run.made(Files(run.identity.artifact("sweep"), "sweep", paths))
    run.finish()


def log_trials(run: TrackedRun, document: Mapping[str, Any]) -> None:
    """Log a row per trial in the order of their ends, with the best value until then, and a table
    of all trials.
    """
    run.define_axes([TRIAL, "sweep/seconds"], default=TRIAL)
    better = max if document["objectives"][0]["direction"] == "maximize" else min
    started = document["started"] or 0.0
    trials = [{**one, "value": (one["values"] or [None])[0]} for one in document["trials"]]
    by_end = sorted(trials, key=lambda trial: (trial["ended"] or float("inf"), trial["number"]))
    values: list[float] = []
    for step, trial in enumerate(by_end):
        row = {TRIAL: trial["number"], "sweep/trial_seconds": trial["seconds"]}
        if trial["value"] is not None:
            values.append(trial["value"])
            row["sweep/value"] = trial["value"]
        if values:
            row["sweep/best"] = better(values)
        if trial["ended"] is not None:
            row["sweep/seconds"] = trial["ended"] - started
        row |= {f"params/{name}": setting for name, setting in trial["params"].items()}
        run.log({name: entry for name, entry in row.items() if entry is not None}, step)
    names = [parameter["name"] for parameter in document["parameters"]]
    cells = []
    for trial in trials:
        figures = [trial[name] for name in COLUMNS]
        cells.append([*figures, *map(trial["params"].get, names)])
    if cells:
        run.table("sweep/trials", [*COLUMNS, *names], cells, len(trials) - 1)
    run.flush()
