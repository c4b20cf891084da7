"""The results of a sweep as documents and tables, and as files in its folder."""

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from hexlit.files import plain, write_text_atomic
from hexlit.tuning.results import (
    COMPARABLE,
    MAXIMIZE,
    PARETO,
    SweepResults,
    ranked_value,
    read_results,
    saved_seconds,
)
from hexlit.tuning.space import render
from hexlit.tuning.sweep_folder import shown_folder
from hexlit.tuning.trials import COMPLETE, FAILED, INTERRUPTED, PRUNED, TrialResult

if TYPE_CHECKING:
    from optuna import Study

RESULTS_FILE = "overall_results.json"
LEADERBOARD_FILE = "leaderboard.csv"
BEST_FILE = "best.yaml"
PAGE_FILE = "report.html"
VERSION = 2
"""Version of `overall_results.json`; its schema, `overall_results.schema.json`, names it too."""
FRONT = "front"
"""Stands for the rank of a trial of the Pareto front."""
FIELDS = tuple(
    one.name
    for one in fields(TrialResult)
    if one.name not in ("intermediate", "saved_seconds", "curves")
)
"""Fields of a trial in `overall_results.json`."""
BUDGET = ("trainer.max_epochs", "trainer.max_time", "trainer.max_flops", "data.subset")
"""Settings left out of `best.yaml`: how long a trial trains,
and on how much, does not matter to a full training.
"""
_SWEEP_SECTIONS = ("hydra", "sweep")


def write_results(folder: Path, figures: bool, study: "Study | None" = None) -> SweepResults:
    """Update the results in the sweep's `folder`, and return them; the sweep may still be running.

    Writes `overall_results.json`, `leaderboard.csv` and `best.yaml`; with `figures` also `figures/`
    and `report.html`. `study` is the sweep's study, where it is open already.

    Raises:
        UsageError: there is no sweep in `folder`.
        OSError: a file cannot be written.
    """
    results = read_results(folder, study=study)
    document = as_document(results)
    write_text_atomic(folder / RESULTS_FILE, json.dumps(document, indent=2, allow_nan=False) + "\n")
    write_text_atomic(folder / LEADERBOARD_FILE, leaderboard(results))
    if results.best is None:
        (folder / BEST_FILE).unlink(missing_ok=True)
    else:
        write_text_atomic(folder / BEST_FILE, best_text(results, results.best))
    if figures:
        from hexlit.reporting.html import render
        from hexlit.reporting.sweep import sweep_page
        from hexlit.tuning.figures import write_figures

        drawn = write_figures(results, folder / "figures")
        write_text_atomic(
            folder / PAGE_FILE, render(sweep_page(document, drawn, reports_of_trials(results)))
        )
    return results


def reports_of_trials(results: SweepResults) -> dict[int, str]:
    """Paths from the sweep's folder to the reports of its trials,
    by number; with several seeds the first one's.
    """
    found = {}
    for trial in results.trials:
        for path in (f"{trial.folder}/seed-0/{PAGE_FILE}", f"{trial.folder}/{PAGE_FILE}"):
            if (results.folder / path).is_file():
                found[trial.number] = path
    return found


def as_document(results: SweepResults) -> dict[str, Any]:
    """The results as `overall_results.json` has them:
    plain values only, NaN and infinities as null.
    """
    facts = results.facts
    ranking = results.ranking
    failures = [trial for trial in results.trials if trial.state in (FAILED, INTERRUPTED)]
    document: dict[str, Any] = {
        "version": VERSION,
        "name": facts.name,
        "folder": shown_folder(results.folder),
        "kind": "tuned" if results.tuned else "sequential",
        "state": results.state,
        "counts": results.counts,
        "pruning": results.pruning,
        "split": results.split,
        "comparable": results.comparable,
        "sampler": facts.sampler,
        "pruner": facts.pruner,
        "n_jobs": facts.n_jobs,
        "seeds": facts.seeds,
        "started": facts.started,
        "finished": facts.finished,
        "seconds": facts.seconds,
        "objectives": [asdict(objective) for objective in results.objectives],
        "parameters": results.parameters,
        "progress": results.progress | _progress_of_best(results),
        "ranking": {
            "by": ranking.by,
            "reason": ranking.reason,
            "order": ranking.order,
            "unranked": ranking.unranked,
            "direction": None if ranking.by == PARETO else ranking.objective.direction,
            "pareto_front": ranking.front,
        },
        "best": ranking.best,
        "columns": shown_columns(results),
        "problems": results.problems,
        "trials": [_as_row(trial) for trial in results.by_rank()],
        "failures": [_as_failure(trial) for trial in failures],
    }
    values: dict[str, Any] = plain(document)
    return values


def _progress_of_best(results: SweepResults) -> dict[str, float | None]:
    """The best value, and the seconds until its trial ended.

    The seconds are None if the best trial is older than the sweep: another one of the same study
    made it.
    """
    best = results.best
    if best is None:
        return {"best_value": None, "best_after_seconds": None}
    seconds = None
    if best.ended is not None and results.facts.started is not None:
        seconds = best.ended - results.facts.started
        if seconds < 0:
            seconds = None
    return {"best_value": ranked_value(best, results.ranking), "best_after_seconds": seconds}


def _as_row(trial: TrialResult) -> dict[str, Any]:
    return {name: getattr(trial, name) for name in FIELDS}


def _as_failure(trial: TrialResult) -> dict[str, Any]:
    return {
        "trial": trial.number,
        "state": trial.state,
        "reason": trial.failure,
        "folder": trial.folder,
    }


def loss_names(results: SweepResults) -> list[str]:
    """Names of the losses of any trial, without the total and the comparable one."""
    names: dict[str, None] = {}
    for trial in results.trials:
        names |= dict.fromkeys(trial.losses)
    return list(names)


def shown_columns(results: SweepResults) -> list[dict[str, Any]]:
    """The figures of each trial in tables for people.

    `heading`, `unit`, `path` (keys of the value in a trial), and `dropped`, the position in the
    order of columns that a narrow table drops; the objectives are always shown.
    """
    columns = []
    for index, objective in enumerate(results.objectives):
        columns.append(_column(objective.name, ["values", index], dropped=None))
    columns.append(_column("comparable", ["comparable"], dropped=5))
    for name in loss_names(results):
        # All of these columns are losses: `left_loss` is headed `left`.
        heading = name.removesuffix("_loss").replace("_", " ")
        columns.append(_column(heading, ["losses", name], dropped=3))
    return [
        *columns,
        _column("epochs", ["epochs"], dropped=4, unit="epochs"),
        _column("time", ["seconds"], dropped=6, unit="seconds"),
        _column("memory", ["host_peak_bytes"], dropped=2, unit="bytes"),
        _column("device memory", ["device_peak_bytes"], dropped=1, unit="bytes"),
    ]


def _column(
    heading: str, path: list[str | int], *, dropped: int | None, unit: str | None = None
) -> dict[str, Any]:
    return {"heading": heading, "unit": unit, "path": path, "dropped": dropped}


def leaderboard(results: SweepResults) -> str:
    """All trials as CSV, best first; only successes have a rank, or belong to the Pareto front."""
    names = [objective.name for objective in results.objectives]
    losses = loss_names(results)
    measured = ["latest", "epochs", "seconds", "host_peak_bytes", "device_peak_bytes"]
    parameters = list(results.distributions)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    headings = ["rank", "trial", "state", *names, "comparable", "loss", *losses, *measured]
    headings += ["flags", "failure", "folder", *parameters]
    table.writerow(headings)
    for trial in results.by_rank():
        rank = FRONT if trial.number in results.ranking.front else trial.rank
        cells: list[Any] = [rank, trial.number, trial.state]
        cells += trial.values or [None] * len(names)
        cells += [trial.comparable, trial.loss]
        cells += [trial.losses.get(name) for name in losses]
        cells += [getattr(trial, name) for name in measured]
        cells += [" ".join(trial.flags), trial.failure, trial.folder]
        cells += [trial.params.get(name) for name in parameters]
        table.writerow(["" if cell is None else cell for cell in plain(cells)])
    return text.getvalue()


def best_text(results: SweepResults, best: TrialResult) -> str:
    """The content of `best.yaml`: the trial `best`,
    and the overrides that start a training like it.
    """
    from omegaconf import OmegaConf

    fixed = results.facts.overrides if results.tuned else best.overrides
    kept, left_out = best_overrides(best, fixed)
    names = [objective.name for objective in results.objectives]
    values = list(best.values or [None] * len(names))
    content: dict[str, Any] = {"trial": best.number}
    if len(names) > 1:
        content["values"] = values
        content["objective"] = names
    else:
        content["value"] = values[0]
        content["objective"] = names[0]
    if results.ranking.by == COMPARABLE:
        content["comparable"] = ranked_value(best, results.ranking)
    content["params"] = dict(best.params)
    content["overrides"] = kept
    content["left_out"] = left_out
    where = " ".join(shown_folder(results.folder).splitlines())
    return f"# hexlit train +best={where}\n{OmegaConf.to_yaml(OmegaConf.create(plain(content)))}"


def best_overrides(best: TrialResult, fixed: Sequence[str]) -> tuple[list[str], list[str]]:
    """Overrides of a training like `best`, and the budget that is left out of them.

    The `fixed` overrides of the sweep's command line come first, without those of the sweep itself.
    The sampled values follow, as the trial had them.
    """
    kept: list[str] = []
    left_out: list[str] = []
    for line in fixed:
        key = _key(line)
        if key in best.params or re.split(r"[./@]", key)[0] in _SWEEP_SECTIONS:
            continue
        lines = left_out if key in BUDGET else kept
        lines.append(line)
    overrides = {_key(line): line for line in best.overrides}
    for name, value in best.params.items():
        kept.append(overrides.get(name) or render(name, value))
    return kept, left_out


def _key(line: str) -> str:
    return line.partition("=")[0].lstrip("+~")


def pruned_trials(results: SweepResults) -> list[dict[str, object]]:
    """A row for each pruned trial that had reported a value, in the order of their numbers.

    `trial`, `epochs` (parts of the budget in a sweep that compares by budget), `best` of the
    reported values, `median` over the trials that were complete by then, after equally many epochs
    (None without such trials), their number `compared`, `saved_seconds`, all in one sentence
    (`why`), and the parameters. The median is the value that the median pruners use; other pruners
    have rules of theirs.
    """
    pruned = [trial for trial in results.trials if trial.state == PRUNED]
    pruned.sort(key=lambda trial: trial.number)
    rows = []
    for trial in pruned:
        reported = {
            step: value for step, value in trial.intermediate.items() if math.isfinite(value)
        }
        if reported:
            rows.append(_pruned_row(results, trial, reported))
    return rows


def _pruned_row(
    results: SweepResults, trial: TrialResult, reported: dict[int, float]
) -> dict[str, object]:
    objective = results.objectives[0]
    maximized = objective.direction == MAXIMIZE
    best = max(reported.values()) if maximized else min(reported.values())
    step = max(reported)
    end = trial.ended or math.inf
    compared = []
    for other in results.trials:
        if other.state == COMPLETE and step in other.intermediate and (other.ended or 0.0) <= end:
            compared.append(other.intermediate[step])
    middle = median(compared) if compared else None
    comparison = "no trial was complete"
    if middle is not None:
        comparison = f"the median of {len(compared)} complete trials was {middle:.4g}"
    metric = results.facts.monitor or objective.name
    return {
        "trial": trial.number,
        "epochs": step + 1,
        "best": best,
        "median": middle,
        "compared": len(compared),
        "saved_seconds": saved_seconds(trial),
        "why": f"trial {trial.number}: at best {metric} {best:.4g} in {step + 1} epochs; {comparison}",
        **trial.params,
    }
