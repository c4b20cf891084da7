"""The trial of this process, if there is one: it reports its values and its end to the study."""

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.errors import UsageError
from hexlit.tuning.samplers import build_pruner

if TYPE_CHECKING:
    from optuna.trial import Trial

VARIABLE = "HEXLIT_TRIAL"
"""Environment variable that holds the ticket; set only in the processes of trials."""


@dataclass(frozen=True)
class TrialTicket:
    """One trial of a study."""

    storage: str | None
    """As `hydra.sweeper.storage`."""
    folder: str
    """Absolute path of the sweep's folder."""
    study: str
    """Name of the study."""
    trial_id: int
    """Number of the trial in the storage."""
    number: int
    """Number of the trial in the study."""
    objectives: list[str]
    monitor: str
    pruner: dict[str, Any] | None
    """Node `hydra.sweeper.pruner`; None without pruning."""
    seeds: int
    group: str
    """Name that the trials of the sweep share."""
    sweep_id: str
    """Identifies the sweep among others with the same folder's name."""
    storage_timeout: float = 0.0
    """Seconds that the trial waits for a database that does not answer: longer than its sweep
    does.
    """

    def encoded(self) -> str:
        """The ticket as text for the environment."""
        return json.dumps(asdict(self))


def ticket_of(environment: Mapping[str, str]) -> TrialTicket | None:
    """The ticket in `environment`; None outside a sweep."""
    text = environment.get(VARIABLE)
    return TrialTicket(**json.loads(text)) if text else None


class RunningTrial:
    """A running trial, as seen by the process that works on it.

    Several seeds are trained one after the other. Each report is the mean over the values of the
    ended seeds and the value of the running one. Step `k * steps + i` is the same stage of the k-th
    seed in all trials. A pruner that compares seeds (Wilcoxon) gets the value of each seed at its
    end instead, with the seed's number as step.

    Attributes:
        ticket: names the trial.
        pruned: whether the pruner has ended it.
        retry: how long it waits for its study.
    """

    def __init__(self, ticket: TrialTicket) -> None:
        """Attach to the study of `ticket`."""
        import optuna
        from optuna.pruners import WilcoxonPruner

        from hexlit.tuning.storage import Retry, open_storage

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.ticket = ticket
        self.pruned = False
        pruner = build_pruner(ticket.pruner)
        self._by_seed = isinstance(pruner, WilcoxonPruner)
        self.retry = Retry(ticket.storage_timeout)
        study = optuna.load_study(
            study_name=ticket.study,
            storage=open_storage(ticket.storage, Path(ticket.folder), self.retry),
            sampler=optuna.samplers.RandomSampler(),  # the parameters are drawn already
            pruner=pruner,
        )
        self._study = study
        self._trial: Trial = optuna.trial.Trial(study, ticket.trial_id)
        # A job that Slurm starts again keeps the values of its first start.
        self._ended: list[list[float]] = self._trial.user_attrs.get("seed_values") or []
        if self._trial.user_attrs.get("failure"):
            self.note(failure=None)

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes that the study keeps for the trial."""
        return dict(self._trial.user_attrs)

    @property
    def seeds_ended(self) -> int:
        """Seeds whose trainings have ended."""
        return len(self._ended)

    @property
    def may_prune(self) -> bool:
        """Whether there is a pruner, and a single objective for it."""
        return bool(self.ticket.pruner) and len(self.ticket.objectives) == 1

    def report(self, step: int, value: float) -> bool:
        """Report `value` of the monitored metric; True when the trial should end."""
        if not self.may_prune or self._by_seed:
            return False
        return self._report(step, _mean([*(ended[0] for ended in self._ended), value]))

    def end_seed(self, values: Mapping[str, Any], epochs: int) -> None:
        """Record the end of a seed's training: its `values` by metric, after `epochs` epochs."""
        earlier = self._trial.user_attrs.get("epochs") or 0
        self.note(epochs=earlier + epochs)
        if self.pruned:
            return
        result = []
        for name in self.ticket.objectives:
            value = values.get(name)
            if not isinstance(value, int | float):
                near = ", ".join(sorted(values)) or "none"
                raise UsageError(
                    f"sweep.objective={name}: no such metric was logged; there are {near}"
                )
            result.append(float(value))
        self._ended.append(result)
        if self.ticket.seeds > 1:
            self.note(seed_values=self._ended)
        if self.may_prune and self._by_seed and self._report(len(self._ended) - 1, result[0]):
            self.pruned = len(self._ended) < self.ticket.seeds

    @property
    def values(self) -> list[float]:
        """The objectives: means over the ended seeds."""
        return [_mean(list(column)) for column in zip(*self._ended, strict=True)]

    def note(self, **attributes: Any) -> None:
        """Save `attributes` with the trial in the study."""
        for name, value in attributes.items():
            self._trial.set_user_attr(name, value)

    def tell(self) -> None:
        """Report the end of the trial to the study."""
        from optuna.trial import TrialState

        if self.pruned:
            self._study.tell(self._trial, state=TrialState.PRUNED)
        elif not all(math.isfinite(value) for value in self.values):
            self.note(failure=f"its value is {', '.join(map(str, self.values))}")
            self._study.tell(self._trial, state=TrialState.FAIL)
        else:
            self._study.tell(self._trial, values=self.values)

    def _report(self, step: int, value: float) -> bool:
        self._trial.report(value, step)
        return bool(self._trial.should_prune())


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


@contextmanager
def running_trial(
    ticket: TrialTicket, micro_batch_of: Callable[[Exception], int | None]
) -> Iterator[RunningTrial]:
    """Work on the trial of `ticket` in the block.

    When the block ends well, the study gets the values. When it raises, the trial keeps the reason, and the
    sweep records the failure. `micro_batch_of(error)` gives the examples that went through the
    network at once; None for an error that is not about memory.
    """
    from hexlit.tuning.storage import StorageGoneError

    trial = RunningTrial(ticket)
    try:
        yield trial
        trial.tell()
    except BaseException as error:
        if not isinstance(error, Exception):
            trial.retry.ended.set()  # the trial must end now
        reason = reason_of(error)
        micro_batch = micro_batch_of(error) if isinstance(error, Exception) else None
        facts: dict[str, Any] = {"failure": reason}
        if micro_batch is not None:
            facts = {"failure": f"out of memory: {reason}", "micro_batch": micro_batch}
        with contextlib.suppress(StorageGoneError):
            trial.note(**facts)
        raise


def first_line(error: BaseException) -> str:
    """First line of the message of `error`."""
    return (str(error).strip().splitlines() or ["no message"])[0]


def reason_of(error: BaseException) -> str:
    """The type of `error`, and the first line of its message; a mistake of the user needs no
    type.
    """
    reason = first_line(error)
    return reason if isinstance(error, UsageError) else f"{type(error).__name__}: {reason}"
