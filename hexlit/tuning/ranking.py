"""The best trial and the reason for it: only successes rank, and never by totals with differing weights."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hexlit.tuning.trial_result import COMPLETE, TrialResult

MINIMIZE, MAXIMIZE = "minimize", "maximize"
OBJECTIVE, COMPARABLE, PARETO = "objective", "comparable", "pareto"
"""Grounds of a ranking: the objective, the comparable loss, or the Pareto front of several objectives."""


@dataclass(frozen=True)
class Objective:
    """A metric that a sweep minimizes or maximizes."""

    name: str
    direction: str

    @property
    def is_total_loss(self) -> bool:
        """Whether it is a total of losses, whose weights may differ from trial to trial."""
        return self.name == "loss" or self.name.endswith(".loss")

    def signed(self, value: float) -> float:
        """`value` so that less is better."""
        return value if self.direction == MINIMIZE else -value


@dataclass(frozen=True)
class Ranking:
    """An order of the successful trials, or their Pareto front."""

    by: str
    """`OBJECTIVE`, `COMPARABLE` or `PARETO`."""
    reason: str
    """One sentence: what ranks the trials, and why."""
    objective: Objective
    """The value that decides the order, or `best`."""
    order: tuple[int, ...]
    """Numbers of the trials, best first; empty with several objectives."""
    front: tuple[int, ...]
    """Numbers of the trials on the Pareto front, best in the first objective first; empty with one objective."""
    unranked: tuple[int, ...]
    """Complete trials without a finite value to rank."""

    @property
    def best(self) -> int | None:
        """Number of the best trial; with several objectives the one of the front that is best in the first."""
        return next(iter(self.order or self.front), None)


def ranked_value(trial: TrialResult, ranking: Ranking) -> float | None:
    """The ranking value of `trial`; with several objectives that of the first."""
    if ranking.by == COMPARABLE:
        return trial.comparable if trial.state == COMPLETE else None
    return trial.values[0] if trial.values else None


def rank_trials(trials: Sequence[TrialResult], objectives: Sequence[Objective], comparable: str | None) -> Ranking:
    """Rank the complete trials; each has one value per objective in `objectives`.

    `comparable` names the metric behind the trials' field `comparable`; None: the task has none.
    """
    complete = [trial for trial in trials if trial.state == COMPLETE]
    if len(objectives) > 1:
        return _pareto(complete, objectives)
    (objective,) = objectives
    reason = f"by {objective.name}, {objective.direction}d"
    if objective.is_total_loss:
        totals = {trial.number: trial.comparable for trial in complete}
        if comparable is not None and any(total is not None for total in totals.values()):
            reason = f"by {comparable}, minimized: the weights within {objective.name} may differ from trial to trial"
            ranked = [(total, number) for number, total in totals.items() if total is not None]
            order = tuple(number for _, number in sorted(ranked))
            unranked = tuple(number for number, total in totals.items() if total is None)
            return Ranking(COMPARABLE, reason, Objective(comparable, MINIMIZE), order, (), unranked)
        if complete:
            missing = "sweep.comparable names no loss" if comparable is None else f"no trial has {comparable}, the loss"
            reason += f"; {missing} that all trials weigh alike"
    finite = [trial for trial in complete if _finite(trial, 1)]
    order = tuple(
        trial.number for trial in sorted(finite, key=lambda t: (objective.signed((t.values or (0.0,))[0]), t.number))
    )
    ranked_numbers = set(order)
    left = tuple(trial.number for trial in complete if trial.number not in ranked_numbers)
    return Ranking(OBJECTIVE, reason, objective, order, (), left)


def _pareto(complete: Sequence[TrialResult], objectives: Sequence[Objective]) -> Ranking:
    points = {
        trial.number: tuple(o.signed(v) for o, v in zip(objectives, trial.values or (), strict=True))
        for trial in complete
        if _finite(trial, len(objectives))
    }
    front = [
        number
        for number, point in points.items()
        if not any(
            other != point and all(a <= b for a, b in zip(other, point, strict=True)) for other in points.values()
        )
    ]
    front.sort(key=lambda number: (points[number], number))
    names = ", ".join(f"{objective.name} {objective.direction}d" for objective in objectives)
    reason = f"several objectives ({names}) have no one order: these trials are beaten by no other in all of them"
    totals = [objective.name for objective in objectives if objective.is_total_loss]
    if totals:
        reason += f"; the weights within {' and '.join(totals)} may differ from trial to trial"
    unranked = tuple(trial.number for trial in complete if trial.number not in points)
    return Ranking(PARETO, reason, objectives[0], (), tuple(front), unranked)


def _finite(trial: TrialResult, count: int) -> bool:
    return trial.values is not None and len(trial.values) == count and all(map(math.isfinite, trial.values))
