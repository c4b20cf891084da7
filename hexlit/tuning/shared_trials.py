"""Trials of a study that several processes share: how they begin, how they are watched, and what
becomes of those that are interrupted.

Processes share a study without locks, by the numbers that its storage gives. A trial that repeats
an interrupted one has its number as `retry_of`. A trial begins if fewer than `n_trials` trials that
are no repeats have lower numbers, or if it is the first repeat of its trial. Any other one is
surplus: two processes have begun it at once.

Optuna's private names stand here alone. Its public ones can only begin a trial by asking the
sampler, whose trial is then visible before it is known to be watched, or a repeat; and they cannot
change the trial of another process.
"""

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optuna.exceptions import UpdateFinishedTrialError

from hexlit.accelerate.host import process_space
from hexlit.accelerate.machine import RunProcess

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial, Trial

WATCHER = "watcher"
RETRY_OF = "retry_of"
INTERRUPTED = "interrupted"
SURPLUS = "surplus"
OVERRIDES = "overrides"
"""Attributes of trials."""
HEARTBEAT = 60.0
"""Seconds between two heartbeats of a trial's watcher."""
PRESUMED_DEAD = 10 * HEARTBEAT
"""A trial of another machine or container counts as interrupted after this many seconds of
silence.
"""


def watcher_now() -> dict[str, Any]:
    """This process as the one that watches over a trial; a running trial without one was
    interrupted.

    `host` is the machine or container of the process number (see `process_space`), `seen` the time
    of its last heartbeat, in seconds since 1970.
    """
    import psutil

    process = psutil.Process()
    facts = {"host": process_space(), "pid": process.pid, "create_time": process.create_time()}
    return facts | {"seen": time.time()}


def is_watched(trial: "FrozenTrial") -> bool:
    """Whether a process still watches over the running `trial`, as far as can be known from
    here.
    """
    watcher = trial.user_attrs.get(WATCHER)
    if watcher is None:
        return False
    if watcher["host"] == process_space():
        return RunProcess(watcher["pid"], watcher["create_time"]).alive
    return bool(time.time() - watcher["seen"] < PRESUMED_DEAD)


def storage_id(trial: "Trial") -> int:
    """Number of the trial in its storage."""
    return trial._trial_id


def record_of(study: "Study", trial: "Trial") -> "FrozenTrial":
    """The study's present record of `trial`."""
    return study._storage.get_trial(trial._trial_id)


def record_heartbeat(study: "Study", trial: "Trial") -> None:
    """Record that this process watches over the trial; a trial that has just ended needs no
    record.
    """
    with contextlib.suppress(UpdateFinishedTrialError):
        trial.set_user_attr(WATCHER, watcher_now())


def is_interrupted(trial: "FrozenTrial") -> bool:
    """Whether `trial` did not come to its end, by no fault of the trial: another one repeats it."""
    return trial.state.name == "FAIL" and bool(trial.user_attrs.get(INTERRUPTED))


def is_surplus(trial: "FrozenTrial") -> bool:
    """Whether `trial` was begun once too often; counts, tables and figures leave it out."""
    return bool(trial.user_attrs.get(SURPLUS))


def counts(trial: "FrozenTrial") -> bool:
    """Whether `trial` has ended and is one of the `n_trials`: an interrupted one does not count,
    and is repeated.
    """
    return bool(trial.state.is_finished()) and not is_interrupted(trial) and not is_surplus(trial)


def originals(trials: Sequence["FrozenTrial"]) -> list["FrozenTrial"]:
    """The trials that repeat no other, by number."""
    chosen = [
        trial for trial in trials if RETRY_OF not in trial.user_attrs and not is_surplus(trial)
    ]
    return sorted(chosen, key=lambda trial: trial.number)


def interrupt(study: "Study", trial: Any) -> bool:
    """Record that `trial` was interrupted; False if it had ended before, or another process has
    recorded it.
    """
    from optuna.trial import TrialState

    try:
        study._storage.set_trial_user_attr(trial._trial_id, INTERRUPTED, True)
        study._storage.set_trial_user_attr(trial._trial_id, "failure", "interrupted with the sweep")
        return study._storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)
    except UpdateFinishedTrialError:
        return False


def interrupt_abandoned(study: "Study") -> list["FrozenTrial"]:
    """Record the running trials whose watcher is gone as interrupted, and return them.

    One that has no overrides yet is surplus, or never knew whether it is: nothing repeats it.
    """
    running = [trial for trial in study.get_trials(deepcopy=False) if trial.state.name == "RUNNING"]
    interrupted = []
    for trial in running:
        if is_watched(trial):
            continue
        if OVERRIDES not in trial.user_attrs:
            with contextlib.suppress(UpdateFinishedTrialError):  # by another process
                _end_as_surplus(study, trial._trial_id)
        elif interrupt(study, trial):
            interrupted.append(trial)
    return interrupted


def _end_as_surplus(study: "Study", trial_id: int) -> None:
    from optuna.trial import TrialState

    study._storage.set_trial_user_attr(trial_id, SURPLUS, True)
    study._storage.set_trial_state_values(trial_id, TrialState.FAIL)


def may_begin(trials: Sequence["FrozenTrial"], n_trials: int) -> bool:
    """Whether another trial should begin: one of `n_trials`, or a repeat."""
    return len(originals(trials)) < n_trials or bool(_to_repeat(trials))


def begin_trial(
    study: "Study", space: Mapping[str, "BaseDistribution"], n_trials: int
) -> "Trial | None":
    """A trial that begins now with parameters from `space`, watched by this process; None for a
    surplus one.
    """
    import optuna
    from optuna.trial import TrialState

    trials = study.get_trials(deepcopy=False)
    again = next(iter(_to_repeat(trials)), None)
    if again is None and len(originals(trials)) >= n_trials:
        return None
    template = optuna.trial.create_trial(
        state=TrialState.RUNNING, user_attrs={WATCHER: watcher_now()}
    )
    if again is not None:
        template = optuna.trial.create_trial(
            state=TrialState.RUNNING,
            params=again.params,
            distributions=again.distributions,
            user_attrs={WATCHER: watcher_now(), RETRY_OF: again.number},
        )
    trial_id = study._storage.create_new_trial(study._study_id, template_trial=template)
    frozen = study._storage.get_trial(trial_id)
    earlier = [one for one in study.get_trials(deepcopy=False) if one.number < frozen.number]
    if again is None:
        surplus = len(originals(earlier)) >= n_trials
    else:
        surplus = again.number in _repeated(earlier)
    if surplus:
        _end_as_surplus(study, trial_id)
        return None
    try:
        trial = optuna.trial.Trial(study, trial_id)
        for name, distribution in space.items():
            trial._suggest(name, distribution)
        return trial
    except BaseException:
        interrupt(study, frozen)
        raise


def _to_repeat(trials: Sequence["FrozenTrial"]) -> list["FrozenTrial"]:
    """The interrupted trials that no trial repeats."""
    repeated = _repeated(trials)
    interrupted = [trial for trial in trials if is_interrupted(trial)]
    return [trial for trial in interrupted if trial.number not in repeated]


def _repeated(trials: Sequence["FrozenTrial"]) -> set[int | None]:
    """Numbers of the trials that one of `trials` repeats; None for those that repeat none."""
    return {trial.user_attrs.get(RETRY_OF) for trial in trials if not is_surplus(trial)}


def grid_sampler(grid: Mapping[str, list[Any]], seed: int | None) -> "BaseSampler":
    """A sampler of the points of `grid`, shared by processes: a trial takes the first that no trial
    before it has.

    The sweep watches for the end, since a sampler cannot stop a study that runs in other processes.
    """
    from optuna.samplers import GridSampler

    class PositionalGrid(GridSampler):
        def before_trial(self, study: "Study", trial: "FrozenTrial") -> None:
            trials = study.get_trials(deepcopy=False)
            original = trial
            while RETRY_OF in original.user_attrs:
                original = trials[original.user_attrs[RETRY_OF]]
            taken: set[int] = set()
            point = 0
            for one in originals(trials):
                if one.number > original.number:
                    break
                free = [number for number in range(len(self._all_grids)) if number not in taken]
                point = one.system_attrs.get("grid_id", free[0] if free else 0)
                taken.add(point)
            storage = study._storage
            trial_id = trial._trial_id
            storage.set_trial_system_attr(trial_id, "search_space", self._search_space)
            storage.set_trial_system_attr(trial_id, "grid_id", point)

        def after_trial(self, *_: Any) -> None:
            """Do nothing."""

    return PositionalGrid(grid, seed=seed)
