"""The results of a sweep, finished or still running: read from its folder without disturbing it, as
a document and a table.
"""

import csv
import io
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from hexlit.accelerate.machine import read_process_file
from hexlit.errors import UsageError
from hexlit.files import plain
from hexlit.tuning.space import describe_parameter, distributions_of_study
from hexlit.tuning.sweep_folder import (
    JOURNAL_FILE,
    SWEEP_FILE,
    SweepFacts,
    read_facts,
    shown_folder,
)
from hexlit.tuning.trials import (
    COMPLETE,
    FAILED,
    PRUNED,
    RUNNING,
    STATES,
    TrialResult,
    trials_of_study,
)

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

FINISHED = "finished"
GOING_ON = "running"
STOPPED = "interrupted"
MINIMIZE = "minimize"
OBJECTIVE, COMPARABLE, PARETO = "objective", "comparable", "pareto"
"""Grounds of a ranking: the objective, the comparable loss, or the Pareto front."""
VERSION = 3
"""Version of `overall_results.json`; its schema, `overall_results.schema.json`, names it too."""
FIELDS = [one.name for one in fields(TrialResult)][:-4]
"""Fields of a trial in `overall_results.json`."""
MEASURED = ("latest", "epochs", "seconds", "host_peak_bytes", "device_peak_bytes")
"""Columns of the leaderboard."""


@dataclass(frozen=True)
class Objective:
    """A metric that a sweep minimizes or maximizes."""

    name: str
    direction: str

    @property
    def is_total(self) -> bool:
        """Whether it is a total loss, with the weights of each trial."""
        return self.name.rpartition(".")[2] == "loss"


@dataclass(frozen=True)
class Ranking:
    """An order of the successful trials, or their Pareto front; never by totals with differing
    weights.
    """

    by: str
    """`OBJECTIVE`, `COMPARABLE` or `PARETO`."""
    reason: str
    """What ranks the trials, and why."""
    objective: Objective
    """The value that decides the order, or `best`."""
    order: Sequence[int]
    """Numbers of the trials, best first; empty with several objectives."""
    front: Sequence[int]
    """Numbers of the trials on the Pareto front, best in the first objective first."""
    unranked: Sequence[int]
    """Complete trials without a finite value to rank."""

    @property
    def best(self) -> int | None:
        """Number of the best trial, of a front the one that is best in the first objective."""
        return next(iter(self.order or self.front), None)

    def value_of(self, trial: TrialResult) -> float | None:
        """The ranking value of a complete trial."""
        if self.by == COMPARABLE:
            return trial.comparable if trial.state == COMPLETE else None
        return trial.values[0] if trial.values else None


def rank_trials(
    trials: Sequence[TrialResult],
    objectives: Sequence[Objective],
    comparable: str | None,
    front: Sequence[int] = (),
) -> Ranking:
    """Rank the complete trials; each has one value per objective.

    `comparable` names the metric behind the trials' field `comparable`, None for none; `front` has
    the Pareto front of several objectives.
    """
    by = OBJECTIVE if len(objectives) == 1 else PARETO
    objective = objectives[0]
    reason = f"by {objective.name}, {objective.direction}d"
    complete = [trial for trial in trials if trial.state == COMPLETE]
    if by == PARETO:
        names = ", ".join(f"{one.name} {one.direction}d" for one in objectives)
        reason = f"by the Pareto front of {names}"
    elif objective.is_total and any(trial.comparable is not None for trial in complete):
        by = COMPARABLE
        reason = f"by {comparable}, minimized: the weights within {objective.name} may differ"
        objective = Objective(str(comparable), MINIMIZE)
    elif objective.is_total:
        reason += "; no trial has a loss that all trials weigh alike"
    ranking = Ranking(by, reason, objective, (), (), ())
    sign = 1 if objective.direction == MINIMIZE else -1
    keys = {}
    for trial in complete:
        value = ranking.value_of(trial)
        if value is not None and math.isfinite(value):
            keys[trial.number] = (sign * value, trial.number)
    unranked = [trial.number for trial in complete if trial.number not in keys]
    order = sorted(keys, key=keys.__getitem__)
    if by == PARETO:
        return replace(ranking, front=[one for one in order if one in front], unranked=unranked)
    return replace(ranking, order=order, unranked=unranked)


@dataclass(frozen=True)
class SweepResults:
    """Everything that is known about a sweep."""

    folder: Path
    state: str
    """`running`, `finished`, or `interrupted`: it was killed and can continue."""
    facts: SweepFacts
    objectives: Sequence[Objective]
    distributions: Mapping[str, "BaseDistribution"]
    """The searched parameters by name."""
    trials: Sequence[TrialResult]
    split: str | None
    """The data of the reported losses: `val` where there are such, else `train`; None without
    losses.
    """
    comparable: str | None
    """Metric that compares trials with differing loss weights, such as `val.comparable_loss`."""
    ranking: Ranking

    @property
    def parameters(self) -> list[dict[str, Any]]:
        """The searched parameters with their ranges."""
        return [describe_parameter(name, one) for name, one in self.distributions.items()]

    @property
    def pruning(self) -> dict[str, float]:
        """The time that pruning saved, as the trials estimate it; of `unknown_trials` it is not
        known.
        """
        pruned = [trial for trial in self.trials if trial.state == PRUNED]
        saved = [trial.saved_seconds for trial in pruned if trial.saved_seconds is not None]
        unknown = len(pruned) - len(saved)
        return {
            "saved_seconds": sum(saved),
            "estimated_trials": len(saved),
            "unknown_trials": unknown,
        }

    @property
    def progress(self) -> dict[str, Any]:
        """Trials `done`, asked for (`of`) and `running`, and the best one until now.

        An interrupted trial is repeated, so it is not done. `eta_seconds`: until the last trial
        ends; None without an estimate. `best_after_seconds`: until the best one ended; None where
        it is older than the sweep.
        """
        counts = self.counts
        best = self.best
        after = None
        if best is not None and best.ended is not None and self.facts.started is not None:
            after = best.ended - self.facts.started
        return {
            "done": counts[COMPLETE] + counts[PRUNED] + counts[FAILED],
            "of": self.facts.n_trials,
            "running": counts[RUNNING],
            "eta_seconds": self._seconds_left() if self.state == GOING_ON else None,
            "best": self.ranking.best,
            "best_value": None if best is None else self.ranking.value_of(best),
            "best_after_seconds": after if after is None or after >= 0 else None,
        }

    def _seconds_left(self) -> float | None:
        """Each remaining trial takes the mean time of those that have ended."""
        over = [trial for trial in self.trials if trial.state in (COMPLETE, PRUNED, FAILED)]
        times = [trial.seconds for trial in over if trial.seconds is not None]
        if not times or self.facts.n_trials is None:
            return None
        remaining = max(0, self.facts.n_trials - len(over))
        return fmean(times) * remaining / (self.facts.n_jobs or 1)

    @property
    def counts(self) -> dict[str, int]:
        """Number of trials in each state."""
        counted = Counter(trial.state for trial in self.trials)
        return {state: counted[state] for state in STATES}

    @property
    def best(self) -> TrialResult | None:
        """The best trial, see `Ranking.best`."""
        return next((trial for trial in self.trials if trial.number == self.ranking.best), None)

    def by_rank(self) -> list[TrialResult]:
        """All trials: the ranked or the Pareto front, other complete ones, the rest."""
        ranks = [*self.ranking.order, *self.ranking.front]
        last = len(self.trials)

        def key(trial: TrialResult) -> tuple[int, int, int]:
            rank = ranks.index(trial.number) if trial.number in ranks else last
            return rank, STATES.index(trial.state), trial.number

        return sorted(self.trials, key=key)


def read_results(
    folder: Path, now: float | None = None, study: "Study | None" = None
) -> SweepResults:
    """Read the sweep in `folder`; nothing is written. `now` is the time in seconds since 1970;
    None: the clock's.

    `study` is the sweep's, where it is open already.

    Raises:
        UsageError: there is no sweep in `folder`, or its study cannot be read.
    """
    from hexlit.tuning.study import load_study

    now = time.time() if now is None else now
    if not (folder / SWEEP_FILE).is_file() and not (folder / JOURNAL_FILE).is_file():
        raise UsageError(f"folder={folder}: holds no sweep of hydra/sweeper=optuna")
    process = read_process_file(folder)
    alive = process is not None and process.alive
    facts = read_facts(folder)
    records: list[FrozenTrial] = []
    front: list[int] = []
    try:
        study = study or load_study(folder)
        records = study.get_trials(deepcopy=False)
        if not facts.directions:  # killed before it could write its facts
            directions = [direction.name.lower() for direction in study.directions]
            facts = replace(facts, directions=tuple(directions))
        if len(facts.directions) > 1:
            front = [trial.number for trial in study.best_trials]
    except UsageError:
        if not alive:  # a sweep that has just begun has no study yet
            raise
    trials = trials_of_study(folder, facts.comparable, records, alive, now)
    directions = list(facts.directions or [MINIMIZE])
    names = facts.objectives or [f"objective {number}" for number in range(len(directions))]
    objectives = [Objective(*pair) for pair in zip(names, directions, strict=True)]
    state = STOPPED
    if not alive and facts.finished is not None:
        state = FINISHED
    elif alive or any(trial.state == RUNNING for trial in trials):
        # A trial runs without the sweep's process if that one is remote, or another has joined.
        state = GOING_ON
    split = reported_split(trials, objectives[0])
    if split is not None:
        trials = [_with_losses(trial, split, facts.comparable) for trial in trials]
    comparable = None if facts.comparable is None else f"{split or 'train'}.{facts.comparable}"
    ranking = rank_trials(trials, objectives, comparable, front)
    ranks = {number: rank for rank, number in enumerate(ranking.order, 1)}
    return SweepResults(
        folder=folder,
        state=state,
        facts=facts,
        objectives=objectives,
        distributions=distributions_of_study(records),
        trials=[replace(trial, rank=ranks.get(trial.number)) for trial in trials],
        split=split,
        comparable=comparable,
        ranking=ranking,
    )


def _with_losses(trial: TrialResult, split: str, comparable: str | None) -> TrialResult:
    """`trial` with its final losses over the data `split`."""
    losses = {}
    for name, value in trial.final.items():
        if name.startswith(f"{split}.") and name.endswith("loss"):
            losses[name.removeprefix(f"{split}.")] = value
    total = losses.pop("loss", None)
    shared = losses.pop(comparable, None) if comparable is not None else None
    return replace(trial, loss=total, comparable=shared, losses=losses)


def reported_split(trials: Sequence[TrialResult], objective: Objective) -> str | None:
    """The data of the compared losses: that of the objective, else validation, else training."""
    known = set()
    for trial in trials:
        known |= {name.removesuffix(".loss") for name in trial.curves if name.endswith(".loss")}
    for split in (objective.name.rpartition(".")[0], "val", "train"):
        if split in known:
            return split
    return None


def as_document(results: SweepResults) -> dict[str, Any]:
    """The results as `overall_results.json` has them: plain values only, NaN and infinities as
    null.
    """
    facts = results.facts
    ranking = results.ranking
    failures = []
    for trial in results.trials:
        if trial.failure is not None:
            entry = {"trial": trial.number, "state": trial.state, "reason": trial.failure}
            failures.append({**entry, "folder": trial.folder})
    document: dict[str, Any] = {
        "version": VERSION,
        "folder": shown_folder(results.folder),
        "objectives": [asdict(objective) for objective in results.objectives],
        "ranking": {
            "by": ranking.by,
            "reason": ranking.reason,
            "order": ranking.order,
            "unranked": ranking.unranked,
            "pareto_front": ranking.front,
        },
        "best": ranking.best,
        "columns": shown_columns(results),
        "trials": [],
        "failures": failures,
    }
    for trial in results.by_rank():
        document["trials"].append({name: getattr(trial, name) for name in FIELDS})
    for name in ("state", "counts", "pruning", "split", "comparable", "parameters", "progress"):
        document[name] = getattr(results, name)
    document["program"] = facts.program
    for name in ("name", "sampler", "pruner", "n_jobs", "seeds", "started", "finished", "seconds"):
        document[name] = getattr(facts, name)
    values: dict[str, Any] = plain(document)
    return values


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

    def add(
        heading: str, path: list[str | int], dropped: int | None = None, unit: str | None = None
    ) -> None:
        columns.append({"heading": heading, "unit": unit, "path": path, "dropped": dropped})

    for index, objective in enumerate(results.objectives):
        add(objective.name, ["values", index])
    add("comparable", ["comparable"], 5)
    for name in loss_names(results):
        # All of these columns are losses: `left_loss` is headed `left`.
        add(name.removesuffix("_loss").replace("_", " "), ["losses", name], 3)
    add("epochs", ["epochs"], 4, "epochs")
    add("time", ["seconds"], 6, "seconds")
    add("memory", ["host_peak_bytes"], 2, "bytes")
    add("device memory", ["device_peak_bytes"], 1, "bytes")
    return columns


def leaderboard(results: SweepResults) -> str:
    """All trials as CSV, best first; only successes have a rank, or belong to the Pareto front."""
    names = [objective.name for objective in results.objectives]
    several = any(trial.spread for trial in results.trials)
    spreads = [f"{name} sd" for name in names if several]
    losses = loss_names(results)
    parameters = list(results.distributions)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    headings = ["rank", "trial", "state", *names, *spreads, "comparable", "loss", *losses]
    table.writerow([*headings, *MEASURED, "flags", "failure", "folder", *parameters])
    for trial in results.by_rank():
        rank = "front" if trial.number in results.ranking.front else trial.rank
        cells: list[Any] = [rank, trial.number, trial.state]
        cells += trial.values or [None] * len(names)
        cells += trial.spread or [None] * len(spreads)
        cells += [trial.comparable, trial.loss]
        cells += [trial.losses.get(name) for name in losses]
        cells += [getattr(trial, name) for name in MEASURED]
        cells += [" ".join(trial.flags), trial.failure, trial.folder]
        cells += [trial.params.get(name) for name in parameters]
        table.writerow(plain(cells))
    return text.getvalue()
