"""A study: made, continued, or opened to read."""

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.errors import UsageError
from hexlit.tuning.storage import (
    Retry,
    RetryingStorage,
    file_of,
    open_storage,
)
from hexlit.tuning.sweep_folder import JOURNAL_FILE, read_facts

if TYPE_CHECKING:
    from optuna import Study
    from optuna.samplers import BaseSampler

    from hexlit.tuning.plan import Plan

TERMS = "terms"
"""Attribute of a study that holds the shared settings."""
_BEGINNING = 10.0
"""Seconds that a study may lack its terms: its maker writes them just after it exists."""


def create_study(plan: "Plan", sampler: "BaseSampler", retry: Retry) -> "Study":
    """The study of `plan`: a new one, or the one that was begun under its name, to resume or to
    join.

    Programs that show studies, such as optuna-dashboard, name its values after the objectives. The
    study keeps the terms of the plan, which all its processes must share. Here a server has to
    answer at once; later calls wait by the rule `retry`.

    Raises:
        UsageError: the study exists and is not to be resumed or joined, or is missing; or its
            directions or its terms differ.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    name = plan.study_name
    settings = plan.settings
    storage = open_storage(settings.storage, plan.folder)
    if isinstance(storage, RetryingStorage):
        storage.retry = retry  # from now on, as it has answered
    exists = name in [study.study_name for study in storage.get_all_studies()]
    continues = plan.judged.resume or plan.judged.join
    # A sweep that was killed just before it made its study has no trials.
    begins = not continues or (plan.judged.resume and not any(plan.folder.glob("trial-*")))
    if exists and not continues:
        raise UsageError(_taken(plan))
    if not exists and not begins:
        raise UsageError(f"{_asked(plan)}: there is no study {name} in {_place(plan)}")
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
        _check_terms(study, plan)
    else:
        try:
            study = optuna.create_study(**parts, directions=settings.direction)
        except optuna.exceptions.DuplicatedStudyError:  # just now, by another process
            raise UsageError(_taken(plan)) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        if study.metric_names is None:
            study.set_metric_names(plan.objectives)
    if TERMS not in study.user_attrs:
        study.set_user_attr(TERMS, plan.terms)
    return study


def _place(plan: "Plan") -> str:
    """Where the study of `plan` is kept, for people."""
    if plan.settings.storage is None:
        return str(plan.folder)
    return str(plan.settings.storage)


def _taken(plan: "Plan") -> str:
    """The message that the study of `plan` exists already."""
    if plan.settings.storage is None:
        way = f"{plan.judged.section}.resume=true to continue it"
    else:
        way = f"{plan.judged.section}.join=true to work on it too"
    return (
        f"hydra.sweeper.study_name={plan.study_name}: this study exists already in {_place(plan)}; "
        f"add {way}, or choose another name"
    )


def _asked(plan: "Plan") -> str:
    """The setting that continues a study."""
    return f"{plan.judged.section}.{'resume' if plan.judged.resume else 'join'}=true"


def _check_terms(study: "Study", plan: "Plan") -> None:
    """Raise `UsageError` where the terms of `plan` differ from those of the study's beginning,
    which may be just now.
    """
    resume = plan.judged.resume
    end = time.monotonic() + _BEGINNING
    while TERMS not in study.user_attrs and not resume and time.monotonic() < end:
        time.sleep(0.2)
    terms = plan.terms
    was = study.user_attrs.get(TERMS, terms if resume else {})
    for name in dict.fromkeys([*was, *terms]):
        if was.get(name) != terms.get(name):
            raise UsageError(
                f"{_asked(plan)}: {name} is {terms.get(name)}, but {was.get(name)} in the study "
                f"{study.study_name}; make them agree"
            )


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
        storage = open_storage(facts.storage, folder)
        # The sampler is never used; the default one would take time to make.
        return optuna.load_study(
            study_name=facts.study_name, storage=storage, sampler=optuna.samplers.RandomSampler()
        )
    except KeyError as error:
        raise UsageError(
            f"{path or facts.storage}: there is no study {facts.study_name}"
        ) from error
