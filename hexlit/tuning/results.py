"""The results of a sweep, finished or still running, read from its folder without disturbing it."""

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from hexlit.accelerate.machine import read_process_file
from hexlit.errors import UsageError
from hexlit.tuning.config import DIRECTION_OF_MODE
from hexlit.tuning.space import (
    describe_parameter,
    distributions_of_study,
    distributions_of_values,
)
from hexlit.tuning.sweep_folder import (
    SweepFacts,
    is_tuned,
    numbered_folders,
    read_facts,
    read_yaml,
    swept_overrides,
)
from hexlit.tuning.trials import (
    COMPLETE,
    FAILED,
    PRUNED,
    RUNNING,
    STATES,
    TrialResult,
    trials_of_jobs,
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
MAXIMIZE = "maximize"
OBJECTIVE, COMPARABLE, PARETO = "objective", "comparable", "pareto"
"""Grounds of a ranking: the objective, the comparable loss,
or the Pareto front of several objectives.
"""


@dataclass(frozen=True)
class Objective:
    """A metric that a sweep minimizes or maximizes."""

    name: str
    direction: str

    @property
    def is_total(self) -> bool:
        """Whether it is a total loss, with the weights of each trial."""
        return self.name.rpartition(".")[2] == "loss"

    def signed(self, value: float) -> float:
        """`value` so that less is better."""
        return value if self.direction == MINIMIZE else -value


@dataclass(frozen=True)
class Ranking:
    """An order of the successful trials, or their Pareto front;
    never by totals with differing weights.
    """

    by: str
    """`OBJECTIVE`, `COMPARABLE` or `PARETO`."""
    reason: str
    """One sentence: what ranks the trials, and why."""
    objective: Objective
    """The value that decides the order, or `best`."""
    order: tuple[int, ...]
    """Numbers of the trials, best first; empty with several objectives."""
    front: tuple[int, ...]
    """Numbers of the trials on the Pareto front,
    best in the first objective first; empty with one objective.
    """
    unranked: tuple[int, ...]
    """Complete trials without a finite value to rank."""

    @property
    def best(self) -> int | None:
        """Number of the best trial;
        with several objectives the one of the front that is best in the first.
        """
        return next(iter(self.order or self.front), None)


def rank_trials(
    trials: Sequence[TrialResult], objectives: Sequence[Objective], comparable: str | None
) -> Ranking:
    """Rank the complete trials; each has one value per objective in `objectives`.

    `comparable` names the metric behind the trials' field `comparable`; None: the task has none.
    """
    complete = [trial for trial in trials if trial.state == COMPLETE]
    if len(objectives) > 1:
        return _pareto_ranking(complete, objectives)
    return _ordered_ranking(complete, objectives[0], comparable)


def _pareto_ranking(complete: Sequence[TrialResult], objectives: Sequence[Objective]) -> Ranking:
    points = _finite_points(complete, objectives)
    front = []
    for number, point in points.items():
        if not any(_beats(other, point) for other in points.values()):
            front.append(number)
    front.sort(key=lambda number: (points[number], number))
    names = ", ".join(f"{objective.name} {objective.direction}d" for objective in objectives)
    reason = (
        f"several objectives ({names}) have no one order: these trials are beaten by no other in "
        "all of them"
    )
    totals = [objective.name for objective in objectives if objective.is_total]
    if totals:
        reason += f"; {_differing_weights(totals)}"
    unranked = [trial.number for trial in complete if trial.number not in points]
    return Ranking(PARETO, reason, objectives[0], (), tuple(front), tuple(unranked))


def _ordered_ranking(
    complete: Sequence[TrialResult], objective: Objective, comparable: str | None
) -> Ranking:
    by = OBJECTIVE
    points = _finite_points(complete, [objective])
    reason = f"by {objective.name}, {objective.direction}d"
    shared: dict[int, tuple[float, ...]] = {}
    for trial in complete:
        if trial.comparable is not None:
            shared[trial.number] = (trial.comparable,)
    if objective.is_total and comparable is not None and shared:
        by = COMPARABLE
        reason = f"by {comparable}, minimized: {_differing_weights([objective.name])}"
        objective = Objective(comparable, MINIMIZE)
        points = shared
    elif objective.is_total and complete:
        missing = f"no trial has {comparable}, the loss"
        if comparable is None:
            missing = "sweep.comparable names no loss"
        reason += f"; {missing} that all trials weigh alike"
    order = sorted(points, key=lambda number: (points[number], number))
    unranked = [trial.number for trial in complete if trial.number not in points]
    return Ranking(by, reason, objective, tuple(order), (), tuple(unranked))


def _finite_points(
    complete: Sequence[TrialResult], objectives: Sequence[Objective]
) -> dict[int, tuple[float, ...]]:
    """The values by number, so that less is better, of the trials whose values are finite."""
    points = {}
    for trial in complete:
        values = trial.values or ()
        if len(values) != len(objectives) or not all(map(math.isfinite, values)):
            continue
        pairs = zip(objectives, values, strict=True)
        points[trial.number] = tuple(objective.signed(value) for objective, value in pairs)
    return points


def _differing_weights(totals: Sequence[str]) -> str:
    return f"the weights within {' and '.join(totals)} may differ from trial to trial"


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def ranked_value(trial: TrialResult, ranking: Ranking) -> float | None:
    """The ranking value of `trial`; with several objectives that of the first."""
    if ranking.by == COMPARABLE:
        return trial.comparable if trial.state == COMPLETE else None
    return trial.values[0] if trial.values else None


def saved_seconds(trial: TrialResult) -> float | None:
    """Seconds that pruning saved: the trial's estimate, else (planned epochs - epochs done) x its
    seconds per epoch; None if neither is known.
    """
    if trial.saved_seconds is not None:
        return trial.saved_seconds
    if not trial.epochs or trial.max_epochs is None or trial.seconds is None:
        return None
    return max(0, trial.max_epochs - trial.epochs) * trial.seconds / trial.epochs


def seconds_left(
    trials: Sequence[TrialResult], asked: int | None, slots: int | None
) -> float | None:
    """Seconds until the last of `asked` trials ends; each remaining one takes the mean of those
    that have ended.

    None while no trial has ended, or without a number.
    """
    over = [trial for trial in trials if trial.state in (COMPLETE, PRUNED, FAILED)]
    ended = [trial.seconds for trial in over if trial.seconds is not None]
    if not ended or asked is None:
        return None
    mean = fmean(ended)
    running = [
        max(0.0, mean - (trial.seconds or 0.0)) for trial in trials if trial.state == RUNNING
    ]
    waiting = max(0, asked - len(over) - len(running))
    return max([(sum(running) + waiting * mean) / max(slots or 1, 1), *running])


@dataclass(frozen=True)
class SweepResults:
    """Everything that is known about a sweep."""

    folder: Path
    tuned: bool
    """Whether it has a study; False for a plain `--multirun`."""
    state: str
    """`running`, `finished`, or `interrupted`: it was killed and can continue."""
    facts: SweepFacts
    objectives: tuple[Objective, ...]
    distributions: Mapping[str, "BaseDistribution"]
    """The searched parameters by name."""
    trials: tuple[TrialResult, ...]
    split: str | None
    """The data of the reported losses:
    `val` where there are such, else `train`; None without losses.
    """
    comparable: str | None
    """Metric that compares trials with differing loss weights,
    such as `val.comparable_loss`; None without one.
    """
    ranking: Ranking
    problems: tuple[str, ...]
    """Things that could not be read, one line each."""

    @property
    def parameters(self) -> list[dict[str, Any]]:
        """The searched parameters with their ranges."""
        return [describe_parameter(name, one) for name, one in self.distributions.items()]

    @property
    def pruning(self) -> dict[str, float]:
        """The time that pruning saved, estimated (see the function `saved_seconds`).

        `saved_seconds` is the sum over `estimated_trials` pruned trials; the epochs or the seconds
        of `unknown_trials` more are not known.
        """
        pruned = [trial for trial in self.trials if trial.state == PRUNED]
        estimates = [saved_seconds(trial) for trial in pruned]
        known = [seconds for seconds in estimates if seconds is not None]
        return {
            "saved_seconds": sum(known),
            "estimated_trials": len(known),
            "unknown_trials": len(pruned) - len(known),
        }

    @property
    def progress(self) -> dict[str, Any]:
        """Progress of the sweep.

        `done`: trials that are complete, pruned or failed; an interrupted one is repeated. `of`:
        trials asked for; None without a number. `running`: trials that run. `eta_seconds`: seconds
        until the last trial ends, estimated from the ended ones; None while there is no estimate.
        `best`: number of the best trial until now.
        """
        counts = self.counts
        left = None
        if self.state == FINISHED:
            left = 0.0
        elif self.state == GOING_ON:
            left = seconds_left(self.trials, self.facts.n_trials, self.facts.n_jobs)
        return {
            "done": counts[COMPLETE] + counts[PRUNED] + counts[FAILED],
            "of": self.facts.n_trials,
            "running": counts[RUNNING],
            "eta_seconds": left,
            "best": self.ranking.best,
        }

    @property
    def counts(self) -> dict[str, int]:
        """Number of trials in each state."""
        counted = Counter(trial.state for trial in self.trials)
        return {state: counted[state] for state in STATES}

    @property
    def best(self) -> TrialResult | None:
        """The best trial; with several objectives the
        one of the Pareto front that is best in the first.
        """
        return next((trial for trial in self.trials if trial.number == self.ranking.best), None)

    def by_rank(self) -> list[TrialResult]:
        """All trials: the ranked, the Pareto front (without ranks),
        other complete ones, the rest.
        """
        front = {number: index for index, number in enumerate(self.ranking.front)}
        last = len(self.trials) + 1

        def key(trial: TrialResult) -> tuple[int, int, int, int]:
            rank = trial.rank or last
            return rank, front.get(trial.number, last), STATES.index(trial.state), trial.number

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
    now = time.time() if now is None else now
    if not folder.is_dir():
        raise UsageError(f"folder={folder}: there is no such folder")
    if is_tuned(folder):
        return _read_tuned(folder, now, study)
    return _read_multirun(folder, now)


def _read_tuned(folder: Path, now: float, study: "Study | None") -> SweepResults:
    from hexlit.tuning.study import load_study

    process = read_process_file(folder)
    alive = process is not None and process.alive
    facts = read_facts(folder)
    records: list[FrozenTrial] = []
    try:
        study = study or load_study(folder)
        records = study.get_trials(deepcopy=False)
        if not facts.directions:  # killed before it could write its facts
            directions = [direction.name.lower() for direction in study.directions]
            facts = replace(facts, directions=tuple(directions))
    except UsageError:
        if not alive:  # a sweep that has just begun has no study yet
            raise
    trials = trials_of_study(folder, facts, records, alive, now)
    directions = list(facts.directions or [MINIMIZE])
    names = list(facts.objectives)
    if not names:
        names = [f"objective {number}" for number in range(len(directions))]
    pairs = zip(names, directions, strict=True)
    objectives = [Objective(name, direction) for name, direction in pairs]
    # A trial runs without the sweep's process if that one is remote, or another one has joined.
    if alive:
        state = GOING_ON
    elif facts.finished is not None:
        state = FINISHED
    elif any(trial.state == RUNNING for trial in trials):
        state = GOING_ON
    else:
        state = STOPPED
    distributions = distributions_of_study(records)
    return _ranked(folder, state, facts, objectives, distributions, trials)


def _read_multirun(folder: Path, now: float) -> SweepResults:
    """A plain `--multirun`, which has no study; its jobs are compared by `trainer.monitor`."""
    jobs = list(numbered_folders(folder))
    if not jobs:
        hint = "is a single run" if (folder / ".hydra").is_dir() else "holds no sweep"
        raise UsageError(f"folder={folder}: {hint}; a sweep's folder has trial-000/ or 0/ in it")
    swept = swept_overrides(folder)
    config = read_yaml(jobs[0][1] / ".hydra" / "config.yaml") or {}
    trainer = config.get("trainer") or {}
    sweep = config.get("sweep") or {}
    facts = SweepFacts(folder.parent.name, comparable=sweep.get("comparable"))
    trials = trials_of_jobs(jobs, swept, facts, now)
    name = trainer.get("monitor", "train.loss")
    direction = DIRECTION_OF_MODE[trainer.get("monitor_mode", "min")]
    problems = []
    columns: set[str] = set()
    for trial in trials:
        columns.update(trial.curves.columns)
    losses = [loss for loss in ("val.loss", "train.loss") if loss in columns]
    if name not in columns and losses:
        problems.append(
            f"trainer.monitor={name} has not been measured; the jobs are compared by {losses[0]}"
        )
        name = losses[0]
        direction = MINIMIZE
    for index, trial in enumerate(trials):
        value = trial.curves.last(name) if trial.state == COMPLETE else None
        trials[index] = replace(trial, values=None if value is None else (value,))
    asked = math.prod(swept.values()) if swept else None
    ended = all(trial.state != RUNNING for trial in trials)
    if not ended:
        state = GOING_ON
    elif len(trials) >= (asked or 0):
        state = FINISHED
    else:
        state = STOPPED
    started = min(trial.started or now for trial in trials)
    finished = max(trial.ended or now for trial in trials) if ended else None
    facts = replace(
        facts,
        objectives=(name,),
        directions=(direction,),
        monitor=name,
        n_trials=asked,
        started=started,
        finished=finished,
        seconds=None if finished is None else finished - started,
    )
    distributions = distributions_of_values([trial.params for trial in trials])
    objectives = [Objective(name, direction)]
    return _ranked(folder, state, facts, objectives, distributions, trials, problems)


def _ranked(
    folder: Path,
    state: str,
    facts: SweepFacts,
    objectives: Sequence[Objective],
    distributions: Mapping[str, "BaseDistribution"],
    trials: Sequence[TrialResult],
    problems: Sequence[str] = (),
) -> SweepResults:
    split = reported_split(trials, objectives)
    if split is not None:
        trials = [_with_losses(trial, split, facts.comparable) for trial in trials]
    comparable = None if facts.comparable is None else f"{split or 'train'}.{facts.comparable}"
    ranking = rank_trials(trials, objectives, comparable)
    ranks = {number: rank for rank, number in enumerate(ranking.order, 1)}
    return SweepResults(
        folder=folder,
        tuned=is_tuned(folder),
        state=state,
        facts=facts,
        objectives=tuple(objectives),
        distributions=distributions,
        trials=tuple(replace(trial, rank=ranks.get(trial.number)) for trial in trials),
        split=split,
        comparable=comparable,
        ranking=ranking,
        problems=tuple(problems),
    )


def _with_losses(trial: TrialResult, split: str, comparable: str | None) -> TrialResult:
    """`trial` with its final losses over the data `split`."""
    losses = trial.curves.losses(split)
    total = losses.pop("loss", None)
    shared = None
    if comparable is not None:
        shared = trial.curves.last(f"{split}.{comparable}")
        losses.pop(comparable, None)
    return replace(trial, loss=total, comparable=shared, losses=losses)


def reported_split(trials: Sequence[TrialResult], objectives: Sequence[Objective]) -> str | None:
    """The data of the compared losses: that of an objective, else validation, else training."""
    known: set[str] = set()
    for trial in trials:
        known.update(trial.curves.splits)
    losses = [objective.name for objective in objectives if objective.name.endswith("loss")]
    wanted = [name.rpartition(".")[0] for name in losses]
    for split in (*wanted, "val", "train", *sorted(known)):
        if split in known:
            return split
    return None
