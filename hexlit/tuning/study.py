"""A study: made, read or continued; how its trials begin, and what becomes of those that are
interrupted.

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
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optuna.exceptions import UpdateFinishedTrialError

from hexlit.accelerate.host import process_space
from hexlit.accelerate.machine import RunProcess
from hexlit.errors import UsageError
from hexlit.tuning.storage import (
    Retry,
    RetryingStorage,
    file_of,
    hidden_password,
    open_storage,
    whole_url,
)
from hexlit.tuning.sweep_folder import JOURNAL_FILE, read_facts

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial, Trial

    from hexlit.tuning.plan import Plan

TERMS = "terms"
"""Attribute of a study that holds the shared settings."""
SPACE = "the space of "
"""Start of the terms that say what is searched."""
WATCHER, RETRY_OF, INTERRUPTED, SURPLUS = "watcher", "retry_of", "interrupted", "surplus"
OVERRIDES = "overrides"
"""Attributes of trials."""
HEARTBEAT = 60.0
"""Seconds between two heartbeats of a trial's watcher."""
PRESUMED_DEAD = 10 * HEARTBEAT
"""A trial of another machine or container counts
as interrupted after this many seconds of silence.
"""
_BEGINNING = 10.0
"""Seconds that a study may lack its terms: its maker writes them just after it exists."""


def create_study(plan: "Plan", sampler: "BaseSampler", retry: Retry) -> "Study":
    """The study of `plan`: a new one, or the one that was begun under its name, to resume or to
    join.

    Programs that show studies, such as optuna-dashboard, name its values after the objectives. The
    study keeps the terms of the plan, which all its processes must share. Here a server has to
    answer at once; later calls wait as `retry` says.

    Raises:
        UsageError: the study exists and is not to be resumed or joined, or is missing; or its
            directions or its terms differ.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    name, settings, resume, join = (
        plan.study_name,
        plan.settings,
        plan.judged.resume,
        plan.judged.join,
    )
    storage = open_storage(settings.storage, plan.folder)
    if isinstance(storage, RetryingStorage):
        storage.retry = retry  # from now on, as it has answered
    where = hidden_password(settings.storage) if settings.storage else str(plan.folder)
    exists = name in [study.study_name for study in storage.get_all_studies()]
    unborn = (
        resume and not exists and not any(plan.folder.glob("trial-*"))
    )  # killed just before it made its study
    asked = f"sweep.{'resume' if resume else 'join'}=true"
    way = (
        "sweep.resume=true to continue it"
        if settings.storage is None
        else "sweep.join=true to work on it too"
    )
    taken = f"hydra.sweeper.study_name={name}: this study exists already in {where}; add {way}, or choose another name"
    if exists and not (resume or join):
        raise UsageError(taken)
    if not exists and (resume or join) and not unborn:
        raise UsageError(f"{asked}: there is no study {name} in {where}")
    parts: dict[str, Any] = {
        "study_name": name,
        "storage": storage,
        "sampler": sampler,
        "pruner": plan.pruner,
    }
    if exists:
        study = optuna.load_study(**parts)
        was = [direction.name.lower() for direction in study.directions]
        if was != settings.direction:
            raise UsageError(
                f"hydra.sweeper.direction={settings.direction}: the study {name} was begun with {was}"
            )
        _check_terms(study, plan.terms, asked)
    else:
        try:
            study = optuna.create_study(**parts, directions=settings.direction)
        except optuna.exceptions.DuplicatedStudyError:  # just now, by another process
            raise UsageError(taken) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        if study.metric_names is None:
            study.set_metric_names(plan.objectives)
    if TERMS not in study.user_attrs:
        study.set_user_attr(TERMS, plan.terms)
    return study


def _check_terms(study: "Study", terms: Mapping[str, str], asked: str) -> None:
    """Raise `UsageError` where the `terms` differ from those of the study's beginning,
    which may be just now.
    """
    resume = asked.startswith("sweep.resume")
    end = time.monotonic() + _BEGINNING
    while TERMS not in study.user_attrs and not resume and time.monotonic() < end:
        time.sleep(0.2)
    was = study.user_attrs.get(TERMS, terms if resume else {})
    for name in dict.fromkeys([*was, *terms]):
        if was.get(name) != terms.get(name):
            message = (
                f"{name} is {terms.get(name)}, but {was.get(name)} in the study {study.study_name}"
            )
            raise UsageError(f"{asked}: {message}; make them agree")


def load_study(folder: Path) -> "Study":
    """The Optuna study of the sweep in `folder`, to read from.

    Raises:
        UsageError: there is none, or it cannot be read.
    """
    import optuna

    facts = read_facts(folder)
    path = folder / JOURNAL_FILE if facts.storage is None else file_of(facts.storage)
    if path is not None and not path.is_file():  # opening it would create it
        raise UsageError(f"{path}: there is no such study yet")
    try:
        storage = open_storage(whole_url(facts.storage), folder)
        # The sampler is never used; the default one would take time to make.
        return optuna.load_study(
            study_name=facts.study_name, storage=storage, sampler=optuna.samplers.RandomSampler()
        )
    except KeyError as error:
        raise UsageError(
            f"{path or facts.storage}: there is no study {facts.study_name}"
        ) from error


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
    """Whether a process still watches over the running `trial`,
    as far as can be known from here.
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
    """Record that this process watches over the trial;
    a trial that has just ended needs no record.
    """
    with contextlib.suppress(UpdateFinishedTrialError):
        trial.set_user_attr(WATCHER, watcher_now())


def is_interrupted(trial: "FrozenTrial") -> bool:
    """Whether `trial` did not come to its end,
    through no fault of its own: another one repeats it.
    """
    return trial.state.name == "FAIL" and bool(trial.user_attrs.get(INTERRUPTED))


def is_surplus(trial: "FrozenTrial") -> bool:
    """Whether `trial` was begun once too often; counts, tables and figures leave it out."""
    return bool(trial.user_attrs.get(SURPLUS))


def counts(trial: "FrozenTrial") -> bool:
    """Whether `trial` has ended and is one of the `n_trials`:
    an interrupted one does not count, and is repeated.
    """
    return bool(trial.state.is_finished()) and not is_interrupted(trial) and not is_surplus(trial)


def originals(trials: Sequence["FrozenTrial"]) -> list["FrozenTrial"]:
    """The trials that repeat no other, by number."""
    chosen = [
        trial for trial in trials if RETRY_OF not in trial.user_attrs and not is_surplus(trial)
    ]
    return sorted(chosen, key=lambda trial: trial.number)


def interrupt(study: "Study", trial: Any) -> bool:
    """Record that `trial` was interrupted;
    False if it had ended before, or another process has recorded it.
    """
    from optuna.trial import TrialState

    try:
        for name, value in ((INTERRUPTED, True), ("failure", "interrupted with the sweep")):
            study._storage.set_trial_user_attr(trial._trial_id, name, value)
        return study._storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)
    except UpdateFinishedTrialError:
        return False


def interrupt_abandoned(study: "Study") -> list["FrozenTrial"]:
    """Record the running trials whose watcher is gone as interrupted, and return them.

    One that has no overrides yet is surplus, or never knew whether it is: nothing repeats it.
    """
    running = [trial for trial in study.get_trials(deepcopy=False) if trial.state.name == "RUNNING"]
    abandoned = [trial for trial in running if not is_watched(trial)]
    for trial in abandoned:
        if OVERRIDES not in trial.user_attrs:
            with contextlib.suppress(UpdateFinishedTrialError):  # by another process
                _end_as_surplus(study, trial._trial_id)
    return [
        trial for trial in abandoned if OVERRIDES in trial.user_attrs and interrupt(study, trial)
    ]


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
    """A trial that begins now with parameters from `space`,
    watched by this process; None for a surplus one.
    """
    import optuna
    from optuna.trial import TrialState

    trials = study.get_trials(deepcopy=False)
    again = next(iter(_to_repeat(trials)), None)
    if again is None and len(originals(trials)) >= n_trials:
        return None
    template = optuna.trial.create_trial(
        state=TrialState.RUNNING,
        params=again.params if again else {},
        distributions=again.distributions if again else {},
        user_attrs={WATCHER: watcher_now()} | ({RETRY_OF: again.number} if again else {}),
    )
    trial_id = study._storage.create_new_trial(study._study_id, template_trial=template)
    frozen = study._storage.get_trial(trial_id)
    earlier = [one for one in study.get_trials(deepcopy=False) if one.number < frozen.number]
    earlier = [
        one for one in earlier if one.state != TrialState.WAITING
    ]  # of older versions, which queued repeats
    if again is None:
        surplus = len(originals(earlier)) >= n_trials
    else:
        surplus = any(
            one.user_attrs.get(RETRY_OF) == again.number and not is_surplus(one) for one in earlier
        )
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
    begun = [trial for trial in trials if trial.state.name != "WAITING" and not is_surplus(trial)]
    done_again = {trial.user_attrs.get(RETRY_OF) for trial in begun}
    return [trial for trial in trials if is_interrupted(trial) and trial.number not in done_again]


def grid_sampler(grid: Mapping[str, list[Any]], seed: int | None) -> "BaseSampler":
    """A sampler of the points of `grid`, shared by processes: a trial takes the first that no trial
    before it has.

    The sweep watches for the end, since a sampler cannot stop a study that runs in other processes.
    """
    from optuna.samplers import GridSampler

    class PositionalGrid(GridSampler):
        def before_trial(self, study: "Study", trial: "FrozenTrial") -> None:
            trials = study.get_trials(deepcopy=False)
            own = trial
            while RETRY_OF in own.user_attrs:
                own = trials[own.user_attrs[RETRY_OF]]
            taken: set[int] = set()
            point = 0
            for one in originals(trials):
                if one.number <= own.number:
                    free = next(
                        (number for number in range(len(self._all_grids)) if number not in taken), 0
                    )
                    point = one.system_attrs.get("grid_id", free)
                    taken.add(point)
            for name, value in (("search_space", self._search_space), ("grid_id", point)):
                study._storage.set_trial_system_attr(trial._trial_id, name, value)

        def after_trial(self, *_: Any) -> None:
            """Do nothing."""

    return PositionalGrid(grid, seed=seed)
