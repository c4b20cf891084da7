"""The results of a sweep, finished or still running, read from its folder without disturbing it."""

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from hexlit.accelerate.machine import read_process_file
from hexlit.errors import UsageError
from hexlit.tuning.config import DIRECTION_OF_MODE
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

FINISHED, GOING_ON, STOPPED = "finished", "running", "interrupted"
MINIMIZE, MAXIMIZE = "minimize", "maximize"
OBJECTIVE, COMPARABLE, PARETO = "objective", "comparable", "pareto"
"""Grounds of a ranking: the objective, the comparable loss,
or the Pareto front of several objectives.
"""


@dataclass(frozen=True)
class Objective:
    """A metric that a sweep minimizes or maximizes."""

    name: str
    direction: str

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
    complete = {trial.number: trial for trial in trials if trial.state == COMPLETE}
    points: dict[int, tuple[float, ...]] = {
        number: tuple(o.signed(v) for o, v in zip(objectives, trial.values, strict=True))
        for number, trial in complete.items()
        if trial.values
        and len(trial.values) == len(objectives)
        and all(map(math.isfinite, trial.values))
    }
    first, by = objectives[0], OBJECTIVE
    totals = [
        one.name for one in objectives if f".{one.name}".endswith(".loss")
    ]  # weighted by each trial
    differ = f"the weights within {' and '.join(totals)} may differ from trial to trial"
    if len(objectives) > 1:
        by = PARETO
        names = ", ".join(f"{objective.name} {objective.direction}d" for objective in objectives)
        reason = f"several objectives ({names}) have no one order: these trials are beaten by no other in all of them"
        reason += f"; {differ}" if totals else ""
        points_of_front = {
            number: p
            for number, p in points.items()
            if not any(_beats(o, p) for o in points.values())
        }
        front = tuple(sorted(points_of_front, key=lambda number: (points[number], number)))
        return Ranking(
            by,
            reason,
            first,
            (),
            front,
            tuple(number for number in complete if number not in points),
        )
    reason = f"by {first.name}, {first.direction}d"
    shared: dict[int, tuple[float, ...]] = {
        number: (trial.comparable,)
        for number, trial in complete.items()
        if trial.comparable is not None
    }
    if totals and comparable is not None and shared:
        by, first, points = COMPARABLE, Objective(comparable, MINIMIZE), shared
        reason = f"by {comparable}, minimized: {differ}"
    elif totals and complete:
        missing = (
            "sweep.comparable names no loss"
            if comparable is None
            else f"no trial has {comparable}, the loss"
        )
        reason += f"; {missing} that all trials weigh alike"
    order = tuple(sorted(points, key=lambda number: (points[number], number)))
    return Ranking(
        by, reason, first, order, (), tuple(number for number in complete if number not in points)
    )


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def ranked_value(trial: TrialResult, ranking: Ranking) -> float | None:
    """The ranking value of `trial`; with several objectives that of the first."""
    if ranking.by == COMPARABLE:
        return trial.comparable if trial.state == COMPLETE else None
    return trial.values[0] if trial.values else None


def _saved(trial: TrialResult) -> float | None:
    if (
        trial.saved_seconds is None
        and trial.epochs
        and trial.max_epochs is not None
        and trial.seconds is not None
    ):
        return max(0, trial.max_epochs - trial.epochs) * trial.seconds / trial.epochs
    return trial.saved_seconds


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
        return [parameter_of(*pair) for pair in self.distributions.items()]

    @property
    def pruning(self) -> dict[str, float]:
        """The time that pruning saved, estimated: (planned epochs - epochs done) x the trial's own
        seconds per epoch.

        A trial that knows the cost of its start and its time budget reports its own estimate.
        `saved_seconds` is the sum over `estimated_trials` pruned trials; the epochs or the seconds
        of `unknown_trials` more are not known.
        """
        pruned = [trial for trial in self.trials if trial.state == PRUNED]
        known = [seconds for trial in pruned if (seconds := _saved(trial)) is not None]
        return {
            "saved_seconds": sum(known),
            "estimated_trials": len(known),
            "unknown_trials": len(pruned) - len(known),
        }

    @property
    def progress(self) -> dict[str, Any]:
        """How far the sweep is.

        `done`: trials that are complete, pruned or failed; an interrupted one is repeated. `of`:
        trials asked for; None without a number. `running`: trials that run. `eta_seconds`: seconds
        until the last trial ends, estimated from the ended ones; None while there is no estimate.
        `best`: number of the best trial so far.
        """
        counts, facts = self.counts, self.facts
        left = {
            FINISHED: 0.0,
            GOING_ON: seconds_left(self.trials, facts.n_trials, facts.n_jobs),
        }.get(self.state)
        done = counts[COMPLETE] + counts[PRUNED] + counts[FAILED]
        entries = {
            "done": done,
            "of": facts.n_trials,
            "running": counts[RUNNING],
            "eta_seconds": left,
        }
        return entries | {"best": self.ranking.best}

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
        far = len(self.trials) + 1

        def key(trial: TrialResult) -> tuple[int, int, int, int]:
            number = trial.number
            return trial.rank or far, front.get(number, far), STATES.index(trial.state), number

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
    return _tuned(folder, now, study) if is_tuned(folder) else _sequential(folder, now)


def _tuned(folder: Path, now: float, study: "Study | None") -> SweepResults:
    from hexlit.tuning.study import load_study

    process = read_process_file(folder)
    alive = process is not None and process.alive
    facts = read_facts(folder)
    frozen = []
    try:
        study = study or load_study(folder)
        frozen = study.get_trials(deepcopy=False)
        if not facts.directions:  # killed before it could write its facts
            facts = replace(
                facts, directions=tuple(direction.name.lower() for direction in study.directions)
            )
    except UsageError:
        if not alive:  # a sweep that has just begun has no study yet
            raise
    trials = trials_of_study(folder, facts, frozen, alive, now)
    names = facts.objectives or tuple(
        f"objective {number}" for number in range(len(facts.directions) or 1)
    )
    objectives = [
        Objective(*pair) for pair in zip(names, facts.directions or [MINIMIZE], strict=True)
    ]
    state = GOING_ON if alive else FINISHED if facts.finished is not None else STOPPED
    if state == STOPPED and any(trial.state == RUNNING for trial in trials):
        state = GOING_ON  # its process runs elsewhere, or another process has joined the study
    return _ranked(
        folder, state, facts, objectives, distributions_of_study(frozen), trials, tuned=True
    )


def _sequential(folder: Path, now: float) -> SweepResults:
    jobs = list(numbered_folders(folder))
    if not jobs:
        hint = "is a single run" if (folder / ".hydra").is_dir() else "holds no sweep"
        raise UsageError(f"folder={folder}: {hint}; a sweep's folder has trial-000/ or 0/ in it")
    swept = swept_overrides(folder)
    config = read_yaml(jobs[0][1] / ".hydra" / "config.yaml") or {}
    watched = {"monitor": "train.loss", "monitor_mode": "min"} | (config.get("trainer") or {})
    facts = SweepFacts(folder.parent.name, comparable=(config.get("sweep") or {}).get("comparable"))
    trials = trials_of_jobs(jobs, swept, facts, now)
    name, direction, problems = watched["monitor"], DIRECTION_OF_MODE[watched["monitor_mode"]], []
    columns = {name for trial in trials for name in trial.curves.columns}
    losses = [name for name in ("val.loss", "train.loss") if name in columns]
    if name not in columns and losses:
        problems = [
            f"trainer.monitor={name} has not been measured; the jobs are compared by {losses[0]}"
        ]
        name, direction = losses[0], MINIMIZE
    for at, trial in enumerate(trials):
        last = trial.curves.last(name) if trial.state == COMPLETE else None
        trials[at] = replace(trial, values=None if last is None else (last,))
    asked = math.prod(swept.values()) if swept else None
    ended = all(trial.state != RUNNING for trial in trials)
    state = GOING_ON if not ended else FINISHED if len(trials) >= (asked or 0) else STOPPED
    first = min(trial.started or now for trial in trials)
    last = max(trial.ended or now for trial in trials) if ended else None
    facts = replace(
        facts, objectives=(name,), directions=(direction,), monitor=name, n_trials=asked
    )
    facts = replace(
        facts, started=first, finished=last, seconds=None if last is None else last - first
    )
    distributions = distributions_of_values([trial.params for trial in trials])
    return _ranked(
        folder, state, facts, [Objective(name, direction)], distributions, trials, problems
    )


def _ranked(
    folder: Path,
    state: str,
    facts: SweepFacts,
    objectives: Sequence[Objective],
    distributions: Mapping[str, "BaseDistribution"],
    trials: Sequence[TrialResult],
    problems: Sequence[str] = (),
    *,
    tuned: bool = False,
) -> SweepResults:
    split = reported_split(trials, objectives)
    if split is not None:
        trials = [_with_losses(trial, split, facts.comparable) for trial in trials]
    comparable = None if facts.comparable is None else f"{split or 'train'}.{facts.comparable}"
    ranking = rank_trials(trials, objectives, comparable)
    ranks = {number: rank for rank, number in enumerate(ranking.order, 1)}
    ranked = tuple(replace(trial, rank=ranks.get(trial.number)) for trial in trials)
    known = distributions, ranked, split, comparable, ranking, tuple(problems)
    return SweepResults(folder, tuned, state, facts, tuple(objectives), *known)


def _with_losses(trial: TrialResult, split: str, comparable: str | None) -> TrialResult:
    """`trial` with its final losses over the data `split`."""
    losses = trial.curves.losses(split)
    shared = None if comparable is None else trial.curves.last(f"{split}.{comparable}")
    others = {name: value for name, value in losses.items() if name not in ("loss", comparable)}
    return replace(trial, loss=losses.get("loss"), comparable=shared, losses=others)


def distributions_of_study(trials: Iterable["FrozenTrial"]) -> dict[str, "BaseDistribution"]:
    """The searched parameters in order of appearance;
    a range that changed covers all its versions.
    """
    result: dict[str, Any] = {}
    for trial in trials:
        for name, now in trial.distributions.items():
            was: Any = result.setdefault(name, now)
            new: Any = now
            if type(new) is type(was) and new != was and hasattr(was, "low"):
                result[name] = type(was)(
                    min(was.low, new.low), max(was.high, new.high), log=was.log
                )
    return result


def distributions_of_values(settings: Sequence[Mapping[str, Any]]) -> dict[str, "BaseDistribution"]:
    """The parameters of a sweep without a study;
    their ranges are those of the values in `settings`.
    """
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    result: dict[str, BaseDistribution] = {}
    for name in dict.fromkeys(name for one in settings for name in one):
        values: list[Any] = [one[name] for one in settings if name in one]
        kinds = {type(value) for value in values}
        if kinds <= {int, float} and all(map(math.isfinite, values)):
            kind = IntDistribution if kinds == {int} else FloatDistribution
            result[name] = kind(min(values), max(values))
        else:
            result[name] = CategoricalDistribution(tuple(dict.fromkeys(values)))
    return result


def parameter_of(name: str, distribution: Any) -> dict[str, Any]:
    """The parameter `name` with a distribution of Optuna:
    `kind` (`float`, `int` or `categorical`) and range.
    """
    known = {
        "name": name,
        "kind": "categorical",
        "log": False,
        "low": None,
        "high": None,
        "choices": (),
    }
    if hasattr(distribution, "choices"):
        return known | {"choices": distribution.choices}
    kind = type(distribution).__name__.removesuffix("Distribution").lower()
    ends = {"low": float(distribution.low), "high": float(distribution.high)}
    return known | ends | {"kind": kind, "log": distribution.log}


def reported_split(trials: Sequence[TrialResult], objectives: Sequence[Objective]) -> str | None:
    """The data of the compared losses: that of an objective, else validation, else training."""
    known = {split for trial in trials for split in trial.curves.splits}
    wanted = [
        objective.name.rpartition(".")[0]
        for objective in objectives
        if objective.name.endswith("loss")
    ]
    return next(
        (split for split in (*wanted, "val", "train", *sorted(known)) if split in known), None
    )


def pruned_trials(results: SweepResults) -> list[dict[str, object]]:
    """A row for each pruned trial that had reported a value, in the order of their numbers.

    `trial`, `epochs` (parts of the budget in a sweep that compares by budget), `best` of the
    reported values, `median` over the trials that were complete by then, after equally many epochs
    (None without such trials), their number `compared`, `saved_seconds`, all in one sentence
    (`why`), and the parameters. The median is the value that the median pruners use; other pruners
    have their own rules.
    """
    better = max if results.objectives[0].direction == MAXIMIZE else min
    metric = results.facts.monitor or results.objectives[0].name
    complete = [trial for trial in results.trials if trial.state == COMPLETE]
    rows = []
    for trial in sorted(results.trials, key=lambda trial: trial.number):
        reported = {
            step: value for step, value in trial.intermediate.items() if math.isfinite(value)
        }
        if trial.state != PRUNED or not reported:
            continue
        best, step, end = better(reported.values()), max(reported), trial.ended or math.inf
        there = [
            other
            for other in complete
            if step in other.intermediate and (other.ended or 0.0) <= end
        ]
        middle = median(other.intermediate[step] for other in there) if there else None
        compared = (
            f"the median of {len(there)} complete trials was {middle:.4g}"
            if there
            else "no trial was complete"
        )
        row: dict[str, object] = {
            "trial": trial.number,
            "epochs": step + 1,
            "best": best,
            "median": middle,
        }
        row |= {"compared": len(there), "saved_seconds": _saved(trial)}
        why = f"trial {trial.number}: at best {metric} {best:.4g} in {step + 1} epochs; {compared}"
        rows.append(row | {"why": why} | dict(trial.params))
    return rows
