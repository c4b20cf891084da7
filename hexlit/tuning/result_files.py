"""The results of a sweep as files in its folder."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import OmegaConf

from hexlit.files import plain, write_text_atomic
from hexlit.reporting.page import PAGE_FILE
from hexlit.reporting.sweep import best_command, sweep_page
from hexlit.tuning.results import COMPARABLE, SweepResults, as_document, leaderboard, read_results
from hexlit.tuning.space import render
from hexlit.tuning.trials import TrialResult

if TYPE_CHECKING:
    from optuna import Study

RESULTS_FILE = "overall_results.json"
LEADERBOARD_FILE = "leaderboard.csv"
BEST_FILE = "best.yaml"
BUDGET = ("trainer.max_epochs", "trainer.max_time", "trainer.max_flops", "data.subset")
"""Settings left out of `best.yaml`: a full training has a longer budget than a trial."""


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
        write_text_atomic(folder / BEST_FILE, best_text(results, results.best, document))
    if figures:
        from hexlit.reporting.html import render as html
        from hexlit.tuning.figures import write_figures  # matplotlib

        drawn = write_figures(results, folder / "figures")
        page = sweep_page(document, drawn, _reports_of_trials(results))
        write_text_atomic(folder / PAGE_FILE, html(page))
    return results


def _reports_of_trials(results: SweepResults) -> dict[int, str]:
    """Number of a trial -> path from the sweep's folder to its report; with several seeds that of
    the first.
    """
    paths = {}
    for trial in results.trials:
        for path in (f"{trial.folder}/seed-0/{PAGE_FILE}", f"{trial.folder}/{PAGE_FILE}"):
            if (results.folder / path).is_file():
                paths[trial.number] = path
    return paths


def best_text(results: SweepResults, best: TrialResult, document: Mapping[str, Any]) -> str:
    """The content of `best.yaml`: the trial `best` of the `document`, and the overrides that start
    a training like it.
    """
    kept, left_out = best_overrides(best, results.facts.overrides)
    names = [objective.name for objective in results.objectives]
    values = list(best.values or [None] * len(names))
    content: dict[str, Any] = {"trial": best.number}
    if len(names) > 1:
        content |= {"values": values, "objective": names}
    else:
        content |= {"value": values[0], "objective": names[0]}
    if results.ranking.by == COMPARABLE:
        content["comparable"] = best.comparable
    content |= {"params": dict(best.params), "overrides": kept, "left_out": left_out}
    command = " ".join(best_command(document).splitlines())
    return f"# {command}\n{OmegaConf.to_yaml(OmegaConf.create(plain(content)))}"


def best_overrides(best: TrialResult, fixed: Sequence[str]) -> tuple[list[str], list[str]]:
    """Overrides of a training like `best`, and the budget that is left out of them.

    The `fixed` overrides of the sweep's command line come first, without those of the sweep itself.
    The sampled values follow, as the trial had them.
    """
    kept: list[str] = []
    left_out: list[str] = []
    for line in fixed:
        key = _key(line)
        if key not in best.params and re.split(r"[./@]", key)[0] not in ("hydra", "sweep"):
            lines = left_out if key in BUDGET else kept
            lines.append(line)
    overrides = {_key(line): line for line in best.overrides}
    for name, value in best.params.items():
        kept.append(overrides.get(name) or render(name, value))
    return kept, left_out


def _key(line: str) -> str:
    return line.partition("=")[0].lstrip("+~")
