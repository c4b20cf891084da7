"""A job of any Hydra program as a trial of a sweep: its reports, and its end."""

import functools
import logging
import os
import time
from typing import Any, SupportsFloat

from hydra.core.utils import JobReturn, JobStatus
from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from hexlit.errors import UsageError
from hexlit.tuning.trial import VARIABLE, RunningTrial, reason_of, ticket_of

log = logging.getLogger(__name__)

_RANKS = ("RANK", "LOCAL_RANK", "NODE_RANK", "SLURM_PROCID")
"""Variables with the number of a process among those of one training."""


class ProgramTrial(RunningTrial):
    """The trial of a program that knows its study by `report` alone."""

    def report(self, step: int, value: float) -> bool:
        """Report an intermediate value; True when the trial should end."""
        return len(self.ticket.objectives) == 1 and self._report(step, value)

    def end(self, result: Any) -> None:
        """Report the end to the study, and the returned number, or numbers.

        Raises:
            UsageError: `result` is none.
        """
        if self.pruned:
            return self.tell()
        values = list(result) if isinstance(result, list | tuple) else [result]
        count = len(self.ticket.objectives)
        if len(values) != count or not all(isinstance(one, SupportsFloat) for one in values):
            rule = "must be a number" if count == 1 else f"must be {count} numbers, one a direction"
            raise UsageError(f"the returned value {str(result)[:80]}: {rule}")
        self._ended.append([float(one) for one in values])
        return self.tell()


def report(value: float, step: int) -> None:
    """Report an intermediate `value` of this trial after `step` steps, such as epochs.

    Outside of a sweep it does nothing. With several objectives nothing is pruned. Where several
    processes train together, use `PruningCallback`.

    Raises:
        TrialPruned: the pruner has decided that the trial ends. Let it leave the function of
            `@hydra.main`.
    """
    trial = trial_of_process()
    if trial is not None and trial.report(step, float(value)):
        import optuna

        trial.pruned = True
        raise optuna.TrialPruned(f"pruned at step {step}")


def trial_of_process() -> ProgramTrial | None:
    """The trial that this process works on; None outside of a sweep."""
    return _trial_of(os.environ.get(VARIABLE, ""))


@functools.lru_cache(maxsize=1)
def _trial_of(text: str) -> ProgramTrial | None:
    ticket = ticket_of({VARIABLE: text})
    return None if ticket is None else ProgramTrial(ticket)


class EndOfTrial(Callback):
    """Reports to the study how the function of `@hydra.main` ended, and what it returned.

    Hydra calls it in the processes of trials. Where several train together, the first reports.
    """

    def on_job_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Called before the function."""
        self._began = time.monotonic()

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: Any) -> None:
        """Called when the function has returned, or raised an exception."""
        # Launchers have set the variable for the function alone.
        given = config.hydra.job.env_set.get(VARIABLE, "")
        trial = _trial_of(os.environ.get(VARIABLE, given))
        if trial is None or any(os.environ.get(name, "0") != "0" for name in _RANKS):
            return
        import optuna

        result = job_return._return_value
        if isinstance(result, optuna.TrialPruned):
            trial.pruned = True
            job_return.status = JobStatus.COMPLETED
            job_return.return_value = None
        elif job_return.status != JobStatus.COMPLETED:
            trial.note(failure=reason_of(result))
            return
        # Without waiting for a slot.
        trial.note(seconds=round(time.monotonic() - self._began, 3))
        try:
            trial.end(result)
        except UsageError as error:
            log.error("%s", error)
            trial.note(failure=str(error))
