"""Why trials of a sweep were pruned: the values of each, beside the trials that came before it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from hexlit.tuning.ranking import MAXIMIZE
from hexlit.tuning.results import SweepResults
from hexlit.tuning.trial_result import COMPLETE, PRUNED, TrialResult


@dataclass(frozen=True)
class PrunedTrial:
    """One trial that was pruned."""

    number: int
    epochs: int
    """Epochs that it was given; parts of the budget in a sweep that compares by budget."""
    best: float
    """The best value that it had reported."""
    median: float | None
    """Median over the trials that were complete by then, after equally many epochs; None without such trials."""
    compared: int
    """Number of those complete trials."""
    saved_seconds: float | None
    params: Mapping[str, object]

    def reason(self, metric: str) -> str:
        """One sentence about it; `metric` is the reported metric."""
        reached = f"trial {self.number}: at best {metric} {self.best:.4g} in {self.epochs} epochs"
        if self.median is None:
            return f"{reached}, with no complete trial to compare with"
        trials = "trial" if self.compared == 1 else "trials"
        return f"{reached}; the median of {self.compared} complete {trials} was {self.median:.4g}"


def pruned_trials(results: SweepResults) -> list[PrunedTrial]:
    """The pruned trials of a sweep, in the order of their numbers.

    The median is the value that the median pruners use; other pruners have their own rules.
    """
    upwards = results.objectives[0].direction == MAXIMIZE
    complete = [trial for trial in results.trials if trial.state == COMPLETE]
    result = []
    for trial in sorted(results.trials, key=lambda trial: trial.number):
        reported = {step: value for step, value in trial.intermediate.items() if math.isfinite(value)}
        if trial.state != PRUNED or not reported:
            continue
        step = max(reported)
        others = [other.intermediate[step] for other in complete if _was_there(other, trial, step)]
        result.append(
            PrunedTrial(
                number=trial.number,
                epochs=step + 1,
                best=max(reported.values()) if upwards else min(reported.values()),
                median=median(others) if others else None,
                compared=len(others),
                saved_seconds=trial.saved_seconds,
                params=trial.params,
            )
        )
    return result


def _was_there(other: TrialResult, trial: TrialResult, step: int) -> bool:
    """Whether `other` had ended before `trial`, and had reported at `step`."""
    if step not in other.intermediate:
        return False
    return other.ended is None or trial.ended is None or other.ended <= trial.ended
