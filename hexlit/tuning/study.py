"""A study: made, read or continued; its interrupted trials, and the trials that count."""

import contextlib
import logging
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optuna.exceptions import UpdateFinishedTrialError

from hexlit.errors import UsageError
from hexlit.tuning.address import hidden_password, whole_url
from hexlit.tuning.patience import Patience, PatientStorage
from hexlit.tuning.storage import open_storage
from hexlit.tuning.sweep_folder import JOURNAL_FILE, read_facts
from hexlit.tuning.watcher import ATTRIBUTE, Watcher, watcher_of

if TYPE_CHECKING:
    from optuna import Study
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial

log = logging.getLogger(__name__)

TERMS = "terms"
"""Attribute of a study that holds the shared settings."""
_BEGINNING = 10.0
"""Seconds that a study may lack its terms: its maker writes them just after it exists."""
_LOOK_EVERY = 0.2


def create_study(
    name: str,
    storage: str | None,
    folder: Path,
    directions: Sequence[str],
    sampler: "BaseSampler",
    pruner: "BasePruner",
    *,
    resume: bool,
    join: bool = False,
    terms: Mapping[str, str] | None = None,
    objectives: Sequence[str] = (),
    patience: Patience | None = None,
) -> "Study":
    """A new study, or with `resume` or `join` the one that was begun under this `name`.

    Programs that show studies, such as optuna-dashboard, name its values after the `objectives`. The study keeps the
    `terms`: names and values that all its processes must share. Here a server has to answer at once; later calls
    wait as `patience` says.

    Raises:
        UsageError: the study exists without `resume` or `join`, or is missing with one of them; or its directions or
            its terms differ.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    opened = open_storage(storage, folder)
    if isinstance(opened, PatientStorage) and patience is not None:
        opened.patience = patience  # from now on, as it has answered
    where = hidden_password(storage) if storage else str(folder)
    exists = name in [study.study_name for study in opened.get_all_studies()]
    if exists and not (resume or join):
        way = "sweep.resume=true to continue it" if storage is None else "sweep.join=true to work on it too"
        raise UsageError(
            f"hydra.sweeper.study_name={name}: this study exists already in {where}; add {way}, or choose another name"
        )
    if resume and not exists:
        raise UsageError(f"sweep.resume=true: there is no study {name} in {where} to continue")
    if join and not exists:
        raise UsageError(f"sweep.join=true: there is no study {name} in {where}; the process that begins it omits this")
    if not exists:
        try:
            study = optuna.create_study(
                study_name=name,
                storage=opened,
                sampler=sampler,
                pruner=pruner,
                directions=list(directions),  # type: ignore[arg-type]  # checked
            )
        except optuna.exceptions.DuplicatedStudyError:
            message = f"hydra.sweeper.study_name={name}: another process has begun it in {where} just now"
            raise UsageError(f"{message}; add sweep.join=true to work on it too") from None
        if objectives:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                study.set_metric_names(list(objectives))
        study.set_user_attr(TERMS, dict(terms or {}))
        return study
    study = optuna.load_study(study_name=name, storage=opened, sampler=sampler, pruner=pruner)
    was = [direction.name.lower() for direction in study.directions]
    if was != list(directions):
        raise UsageError(f"hydra.sweeper.direction={','.join(directions)}: the study {name} was begun with {was}")
    if join:
        _check_terms(study, terms or {})
    elif TERMS not in study.user_attrs:  # who began it was killed before it could say
        study.set_user_attr(TERMS, dict(terms or {}))
    return study


def _check_terms(study: "Study", terms: Mapping[str, str]) -> None:
    """Raise `UsageError` where the `terms` differ from those of the study's beginning, which may be just now."""
    end = time.monotonic() + _BEGINNING
    while TERMS not in study.user_attrs:
        if time.monotonic() > end:
            raise UsageError(
                f"sweep.join=true: the study {study.study_name} says nothing of its search; sweep.resume=true "
                "continues it in the folder of the sweep that began it"
            )
        time.sleep(_LOOK_EVERY)
    was = study.user_attrs[TERMS]
    for name in dict.fromkeys([*was, *terms]):
        if was.get(name) != terms.get(name):
            message = f"{name} is {terms.get(name)}, but {was.get(name)} in the study {study.study_name}"
            raise UsageError(f"sweep.join=true: {message}; make them agree")


def load_study(folder: Path) -> "Study":
    """The Optuna study of the sweep in `folder`, to read from.

    Raises:
        UsageError: there is none, or it cannot be read.
    """
    import optuna

    facts, _ = read_facts(folder)
    path = folder / JOURNAL_FILE if facts.storage is None else _file_of(facts.storage)
    if path is not None and not path.is_file():  # opening it would create it
        raise UsageError(f"{path}: there is no such study yet")
    try:
        storage = open_storage(whole_url(facts.storage), folder)
        # The sampler is never used; the default one would take time to make.
        return optuna.load_study(study_name=facts.study_name, storage=storage, sampler=optuna.samplers.RandomSampler())
    except UsageError:
        raise
    except Exception as error:  # a damaged study or a missing driver can make Optuna raise anything
        raise UsageError(f"{path or facts.storage}: the study cannot be read ({type(error).__name__})") from error


def counts(trial: "FrozenTrial") -> bool:
    """Whether `trial` has ended and is one of the `n_trials`: an interrupted one does not count, and is repeated."""
    return bool(trial.state.is_finished()) and not trial.user_attrs.get("interrupted", False)


def retry_interrupted(study: "Study") -> list["FrozenTrial"]:
    """Fail the trials whose process is gone, and put their parameters first in the queue. Returns these trials.

    Trials whose watcher still lives, on this machine or another, are left alone. Call it in a
    `hexlit.tuning.turns.turn`: otherwise two processes could repeat the same trial.
    """
    from optuna.trial import TrialState

    retried = []
    storage = getattr(study._storage, "_backend", None)
    back = storage.patience.back if isinstance(storage, PatientStorage) else 0.0
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        watcher = watcher_of(trial.user_attrs)
        if watcher is not None and watcher.alive_after(back):
            log.debug("trial %d is still watched by process %s on %s", trial.number, watcher.pid, watcher.host)
            continue
        interrupt(study, trial)
        retried.append(trial)
    trials = study.get_trials(deepcopy=False)
    interrupted = [trial for trial in trials if trial.user_attrs.get("interrupted")]
    # A trial interrupted before it had its parameters has no setting to repeat.
    void = {trial.number for trial in interrupted if not trial.params}
    done_again = {trial.user_attrs.get("retry_of") for trial in trials if trial.number not in void}
    for trial in interrupted:
        if trial.params and trial.number not in done_again:
            study.enqueue_trial(trial.params, user_attrs={"retry_of": trial.number})
    return retried


def interrupt(study: "Study", trial: Any) -> None:
    """Record that `trial` did not come to its end, through no fault of its own."""
    from optuna.trial import TrialState

    storage, trial_id = study._storage, trial._trial_id
    try:
        storage.set_trial_user_attr(trial_id, "interrupted", True)
        storage.set_trial_user_attr(trial_id, "failure", "interrupted with the sweep")
        storage.set_trial_state_values(trial_id, TrialState.FAIL)
    except UpdateFinishedTrialError:
        log.debug("trial %s had ended just before", trial_id)


def sign_of_life(study: "Study", trial_id: int, watcher: Watcher) -> None:
    """Record that `watcher` is with the trial; a trial that has just ended needs no record."""
    with contextlib.suppress(UpdateFinishedTrialError):
        study._storage.set_trial_user_attr(trial_id, ATTRIBUTE, asdict(watcher))


def _file_of(storage: str) -> Path | None:
    """The file of a study that has one: a journal, or SQLite's; None for a server."""
    kind, separator, rest = storage.partition("://")
    if not separator:
        return Path(storage)
    if kind.partition("+")[0] not in ("sqlite", "journal"):
        return None
    return Path(rest.partition("?")[0].removeprefix("/" if kind.startswith("sqlite") else ""))
