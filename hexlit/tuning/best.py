"""`best.yaml`: the best trial, and the overrides that start a training like it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hexlit.files import plain, write_text_atomic
from hexlit.tuning.ranking import COMPARABLE, ranked_value
from hexlit.tuning.results import SweepResults
from hexlit.tuning.space import render
from hexlit.tuning.sweep_folder import shown_folder
from hexlit.tuning.trial_result import TrialResult

BEST_FILE = "best.yaml"

BUDGET = ("trainer.max_epochs", "trainer.max_time", "trainer.max_flops", "data.subset")
"""Settings left out of `best.yaml`: how long a trial trains, and on how much, says nothing about a full training."""

_OF_THE_SWEEP = ("hydra", "sweep")


def write_best(results: SweepResults) -> Path | None:
    """Write `best.yaml` into the sweep's folder; remove an old one where no trial has succeeded."""
    path = results.folder / BEST_FILE
    best = results.best
    if best is None:
        path.unlink(missing_ok=True)
        return None
    write_text_atomic(path, best_text(results, best))
    return path


def best_text(results: SweepResults, best: TrialResult) -> str:
    """The content of `best.yaml` for the trial `best`."""
    from omegaconf import OmegaConf

    fixed = results.facts.overrides if results.tuned else best.overrides
    kept, left_out = best_overrides(best, fixed)
    several = len(results.objectives) > 1
    content: dict[str, Any] = {"trial": best.number}
    values = [None] * len(results.objectives) if best.values is None else list(best.values)
    content |= {"values": values} if several else {"value": values[0]}
    names = [objective.name for objective in results.objectives]
    content |= {"objective": names if several else names[0]}
    if results.ranking.by == COMPARABLE:
        content["comparable"] = ranked_value(best, results.ranking)
    content |= {"params": dict(best.params), "overrides": kept, "left_out": left_out}
    where = " ".join(shown_folder(results.folder).splitlines())
    return f"# hexlit train +best={where}\n{OmegaConf.to_yaml(OmegaConf.create(plain(content)))}"


def best_overrides(best: TrialResult, fixed: Sequence[str]) -> tuple[list[str], list[str]]:
    """Overrides of a training like `best`, and the budget that is left out of them.

    The `fixed` overrides of the sweep's command line come first, without those of the sweep itself. The sampled
    values follow, as the trial had them.
    """
    had = {_key(line): line for line in best.overrides}
    kept: list[str] = []
    left_out: list[str] = []
    for line in fixed:
        key = _key(line)
        if key in best.params or re.split(r"[./@]", key)[0] in _OF_THE_SWEEP:
            continue
        (left_out if key in BUDGET else kept).append(line)
    kept += [had.get(name, render(name, value)) for name, value in best.params.items()]
    return kept, left_out


def _key(line: str) -> str:
    return line.partition("=")[0].lstrip("+~")
