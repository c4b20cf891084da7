"""The results of a sweep as files in its folder, each written whole or not at all."""

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.files import plain, write_text_atomic
from hexlit.tuning.results import COMPARABLE, PARETO, SweepResults, ranked_value, read_results
from hexlit.tuning.space import render
from hexlit.tuning.sweep_folder import shown_folder
from hexlit.tuning.trials import FAILED, INTERRUPTED, TrialResult

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
and on how much, says nothing about a full training.
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
    facts, ranking, best = results.facts, results.ranking, results.best
    # None where the best trial is older than the sweep: another sweep of the same study made it.
    after = (
        None
        if best is None or best.ended is None or facts.started is None
        else best.ended - facts.started
    )
    document: dict[str, Any] = {
        "version": VERSION,
        "name": facts.name,
        "folder": shown_folder(results.folder),
    }
    document["kind"] = "tuned" if results.tuned else "sequential"
    document |= {
        name: getattr(results, name)
        for name in ("state", "counts", "pruning", "split", "comparable")
    }
    document |= {name: getattr(facts, name) for name in ("sampler", "pruner", "n_jobs", "seeds")}
    document |= {name: getattr(facts, name) for name in ("started", "finished", "seconds")}
    document |= {
        "objectives": [asdict(one) for one in results.objectives],
        "parameters": results.parameters,
    }
    document["progress"] = results.progress | {
        "best_value": None if best is None else ranked_value(best, ranking),
        "best_after_seconds": None if after is None or after < 0 else after,
    }
    document["ranking"] = {
        name: getattr(ranking, name) for name in ("by", "reason", "order", "unranked")
    } | {
        "direction": None if ranking.by == PARETO else ranking.objective.direction,
        "pareto_front": ranking.front,
    }
    document |= {
        "best": ranking.best,
        "columns": shown_columns(results),
        "problems": results.problems,
    }
    document["trials"] = [
        {name: getattr(trial, name) for name in FIELDS} for trial in results.by_rank()
    ]
    document["failures"] = [
        {
            "trial": trial.number,
            "state": trial.state,
            "reason": trial.failure,
            "folder": trial.folder,
        }
        for trial in results.trials
        if trial.state in (FAILED, INTERRUPTED)
    ]
    shown: dict[str, Any] = plain(document)
    return shown


def loss_names(results: SweepResults) -> list[str]:
    """Names of the losses of any trial beside the total and the comparable one."""
    return list(dict.fromkeys(name for trial in results.trials for name in trial.losses))


def shown_columns(results: SweepResults) -> list[dict[str, Any]]:
    """The figures of each trial in tables for people.

    `heading`, `unit`, `path` (keys of the value in a trial), and `dropped`, the position in the
    order of columns that a narrow table drops; the objectives are always shown.
    """
    objectives = [
        (objective.name, None, ["values", at], None)
        for at, objective in enumerate(results.objectives)
    ]
    # All of these columns are losses: `left_loss` is headed `left`.
    losses = [
        (one.removesuffix("_loss").replace("_", " "), None, ["losses", one], 3)
        for one in loss_names(results)
    ]
    columns: list[tuple[Any, ...]] = [
        *objectives,
        ("comparable", None, ["comparable"], 5),
        *losses,
        ("epochs", "epochs", ["epochs"], 4),
        ("time", "seconds", ["seconds"], 6),
        ("memory", "bytes", ["host_peak_bytes"], 2),
        ("device memory", "bytes", ["device_peak_bytes"], 1),
    ]
    return [
        dict(zip(("heading", "unit", "path", "dropped"), column, strict=True)) for column in columns
    ]


def leaderboard(results: SweepResults) -> str:
    """All trials as CSV, best first; only successes have a rank, or belong to the Pareto front."""
    losses, text = loss_names(results), io.StringIO()
    names, parameters = [one.name for one in results.objectives], list(results.distributions)
    plainly = ("latest", "epochs", "seconds", "host_peak_bytes", "device_peak_bytes")
    table = csv.writer(text, lineterminator="\n")
    headings = ["rank", "trial", "state", *names, "comparable", "loss", *losses, *plainly]
    table.writerow([*headings, "flags", "failure", "folder", *parameters])
    for trial in results.by_rank():
        rank = FRONT if trial.number in results.ranking.front else trial.rank
        cells = [
            rank,
            trial.number,
            trial.state,
            *(trial.values or [None] * len(names)),
            trial.comparable,
            trial.loss,
        ]
        cells += [trial.losses.get(name) for name in losses] + [
            getattr(trial, name) for name in plainly
        ]
        cells += [
            " ".join(trial.flags),
            trial.failure,
            trial.folder,
            *(trial.params.get(name) for name in parameters),
        ]
        table.writerow(["" if cell is None else cell for cell in plain(cells)])
    return text.getvalue()


def best_text(results: SweepResults, best: TrialResult) -> str:
    """The content of `best.yaml`: the trial `best`,
    and the overrides that start a training like it.
    """
    from omegaconf import OmegaConf

    kept, left_out = best_overrides(
        best, results.facts.overrides if results.tuned else best.overrides
    )
    names = [objective.name for objective in results.objectives]
    values = list(best.values or [None] * len(names))
    content: dict[str, Any] = {"trial": best.number}
    content |= {"values": values} if len(names) > 1 else {"value": values[0]}
    content |= {"objective": names if len(names) > 1 else names[0]}
    if results.ranking.by == COMPARABLE:
        content["comparable"] = ranked_value(best, results.ranking)
    content |= {"params": dict(best.params), "overrides": kept, "left_out": left_out}
    where = " ".join(shown_folder(results.folder).splitlines())
    return f"# hexlit train +best={where}\n{OmegaConf.to_yaml(OmegaConf.create(plain(content)))}"


def best_overrides(best: TrialResult, fixed: Sequence[str]) -> tuple[list[str], list[str]]:
    """Overrides of a training like `best`, and the budget that is left out of them.

    The `fixed` overrides of the sweep's command line come first, without those of the sweep itself.
    The sampled values follow, as the trial had them.
    """
    had = {_key(line): line for line in best.overrides}
    lines = [line for line in fixed if _key(line) not in best.params]
    lines = [line for line in lines if re.split(r"[./@]", _key(line))[0] not in _SWEEP_SECTIONS]
    left_out = [line for line in lines if _key(line) in BUDGET]
    sampled = [had.get(name, render(name, value)) for name, value in best.params.items()]
    return [line for line in lines if line not in left_out] + sampled, left_out


def _key(line: str) -> str:
    return line.partition("=")[0].lstrip("+~")
