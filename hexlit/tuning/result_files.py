"""The results of a sweep as files in its folder, each written whole or not at all."""

import json
import logging
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.files import plain, write_text_atomic
from hexlit.tuning.best import write_best
from hexlit.tuning.leaderboard import leaderboard, shown_columns
from hexlit.tuning.ranking import PARETO
from hexlit.tuning.results import SweepResults, best_value, read_results
from hexlit.tuning.sweep_folder import shown_folder
from hexlit.tuning.trial_result import FAILED, INTERRUPTED, as_row

if TYPE_CHECKING:
    from optuna import Study

log = logging.getLogger(__name__)

RESULTS_FILE = "overall_results.json"
LEADERBOARD_FILE = "leaderboard.csv"
PAGE_FILE = "report.html"
VERSION = 2
"""Version of `overall_results.json`; the schema names it too."""
SCHEMA_FILE = "overall_results.schema.json"


def write_results(folder: Path, figures: bool, study: "Study | None" = None) -> SweepResults:
    """Update the results in the sweep's `folder`, and return them; the sweep may still be running.

    Writes `overall_results.json`, `leaderboard.csv` and `best.yaml`; with `figures` also `figures/` and `report.html`.
    `study` is the sweep's study, where it is open already.

    Raises:
        UsageError: there is no sweep in `folder`.
        OSError: a file cannot be written.
    """
    results = read_results(folder, study=study)
    document = as_document(results)
    write_document(folder / RESULTS_FILE, document)
    write_text_atomic(folder / LEADERBOARD_FILE, leaderboard(results))
    write_best(results)
    if figures:
        from hexlit.reporting.html import render
        from hexlit.reporting.sweep import sweep_page
        from hexlit.tuning.figures import write_figures

        drawn = write_figures(results, folder / "figures")
        write_text_atomic(folder / PAGE_FILE, render(sweep_page(document, drawn, reports_of_trials(results))))
    return results


def reports_of_trials(results: SweepResults) -> dict[int, str]:
    """Paths from the sweep's folder to the reports of its trials, by number; with several seeds the first one's."""
    result = {}
    for trial in results.trials:
        for place in [] if trial.folder is None else [trial.folder, f"{trial.folder}/seed-0"]:
            if (results.folder / place / PAGE_FILE).is_file():
                result[trial.number] = f"{place}/{PAGE_FILE}"
                break
    return result


def write_document(path: Path, document: dict[str, Any]) -> None:
    """Write `document`, whole or not at all. A document that breaks the schema is written too, with a warning."""
    wrong = next(_validator().iter_errors(document), None)
    if wrong is not None:
        log.warning(
            "%s: %s is not what its schema says: %s", path, wrong.json_path, wrong.message.splitlines()[0][:200]
        )
    write_text_atomic(path, json.dumps(document, indent=2, allow_nan=False) + "\n")


def schema() -> dict[str, Any]:
    """The schema of `overall_results.json`."""
    result: dict[str, Any] = json.loads(files("hexlit.tuning").joinpath(SCHEMA_FILE).read_text(encoding="utf-8"))
    return result


@cache
def _validator() -> Any:
    import jsonschema

    return jsonschema.Draft202012Validator(schema())


def as_document(results: SweepResults) -> dict[str, Any]:
    """The results as `overall_results.json` has them: plain values only, NaN and infinities as null."""
    facts, ranking, progress, saving = results.facts, results.ranking, results.progress, results.saving
    document: dict[str, Any] = plain(
        {
            "version": VERSION,
            "name": facts.name,
            "folder": shown_folder(results.folder),
            "kind": "tuned" if results.tuned else "sequential",
            "state": results.state,
            "objectives": [{"name": entry.name, "direction": entry.direction} for entry in results.objectives],
            "sampler": facts.sampler,
            "pruner": facts.pruner,
            "n_jobs": facts.n_jobs,
            "seeds": facts.seeds,
            "started": facts.started,
            "finished": facts.finished,
            "seconds": facts.seconds,
            "counts": results.counts,
            "progress": {
                "done": progress.done,
                "of": progress.of,
                "running": progress.running,
                "eta_seconds": progress.eta_seconds,
                "best": progress.best,
                "best_value": best_value(results),
                "best_after_seconds": _best_after(results),
            },
            "pruning": {
                "saved_seconds": saving.seconds,
                "estimated_trials": saving.trials,
                "unknown_trials": saving.unknown,
            },
            "ranking": {
                "by": ranking.by,
                "reason": ranking.reason,
                "direction": None if ranking.by == PARETO else ranking.objective.direction,
                "order": list(ranking.order),
                "pareto_front": list(ranking.front),
                "unranked": list(ranking.unranked),
            },
            "best": ranking.best,
            "split": results.split,
            "comparable": results.comparable,
            "parameters": [
                {
                    "name": entry.name,
                    "kind": entry.kind,
                    "log": entry.log,
                    "low": entry.low,
                    "high": entry.high,
                    "choices": list(entry.choices),
                }
                for entry in results.parameters
            ],
            "columns": shown_columns(results),
            "trials": [as_row(trial) for trial in results.by_rank()],
            "failures": [
                {"trial": trial.number, "state": trial.state, "reason": trial.failure, "folder": trial.folder}
                for trial in results.trials
                if trial.state in (FAILED, INTERRUPTED)
            ],
            "problems": list(results.problems),
        }
    )
    return document


def _best_after(results: SweepResults) -> float | None:
    """Seconds from the beginning of the sweep to the end of its best trial, pauses included.

    None where the best trial is older than the sweep: another sweep of the same study made it.
    """
    best, started = results.best, results.facts.started
    if best is None or best.ended is None or started is None or best.ended < started:
        return None
    return best.ended - started
