"""How far a sweep is, how long it will take, and how much time pruning has saved."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from hexlit.tuning.trial_result import COMPLETE, FAILED, PRUNED, RUNNING, TrialResult


@dataclass(frozen=True)
class Saving:
    """Time that pruning saved, estimated: (planned epochs - epochs done) x the trial's own seconds per epoch.

    A trial that knows the cost of its start and its time budget reports its own estimate.
    """

    seconds: float
    """Sum over the pruned trials that have an estimate."""
    trials: int
    """Their number."""
    unknown: int
    """Pruned trials whose epochs or seconds are not known."""


@dataclass(frozen=True)
class Progress:
    """How far a sweep is."""

    done: int
    """Trials that are complete, pruned or failed. An interrupted one does not count: it is repeated."""
    of: int | None
    """Trials asked for; None without a number."""
    running: int
    eta_seconds: float | None
    """Seconds until the last trial ends, estimated from the ended ones; None while there is no estimate."""
    best: int | None
    """Number of the best trial so far."""


def time_saved(trials: Sequence[TrialResult]) -> Saving:
    """The time that pruning saved; see `Saving`."""
    seconds, known, unknown = 0.0, 0, 0
    for trial in trials:
        if trial.state != PRUNED:
            continue
        if trial.saved_seconds is not None:
            seconds += trial.saved_seconds
            known += 1
        elif trial.epochs and trial.max_epochs is not None and trial.seconds is not None:
            seconds += max(0, trial.max_epochs - trial.epochs) * trial.seconds / trial.epochs
            known += 1
        else:
            unknown += 1
    return Saving(seconds, known, unknown)


def seconds_left(trials: Sequence[TrialResult], asked: int | None, slots: int | None) -> float | None:
    """Seconds until the last of `asked` trials ends; each remaining one takes the mean of those that have ended.

    The remaining trials take the slots as these become free. None while no trial has ended, or without a number.
    """
    ended = [t.seconds for t in trials if t.state in (COMPLETE, PRUNED, FAILED) and t.seconds is not None]
    if not ended or asked is None:
        return None
    mean = fmean(ended)
    running = [max(0.0, mean - (trial.seconds or 0.0)) for trial in trials if trial.state == RUNNING]
    done = sum(trial.state in (COMPLETE, PRUNED, FAILED) for trial in trials)
    free = running + [0.0] * (max(slots or 1, 1) - len(running))
    heapq.heapify(free)
    last = max(running, default=0.0)
    for _ in range(max(0, asked - done - len(running))):
        end = heapq.heappop(free) + mean
        last = max(last, end)
        heapq.heappush(free, end)
    return last
