"""The results of a sweep, finished or still running, read from its folder without disturbing it."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hexlit.accelerate.machine import read_process_file
from hexlit.errors import UsageError
from hexlit.tuning.parameters import Parameter, parameters_of_study, parameters_of_values
from hexlit.tuning.progress import Progress, Saving, seconds_left, time_saved
from hexlit.tuning.ranking import MAXIMIZE, MINIMIZE, Objective, Ranking, rank_trials, ranked_value
from hexlit.tuning.sweep_folder import (
    SweepFacts,
    facts_of_job,
    is_tuned,
    numbered_folders,
    read_facts,
    swept_overrides,
)
from hexlit.tuning.trial_result import COMPLETE, FAILED, PRUNED, RUNNING, STATES, TrialResult
from hexlit.tuning.trials import trials_of_folders, trials_of_study, tuned_folders

if TYPE_CHECKING:
    from optuna import Study

FINISHED, GOING_ON, STOPPED = "finished", "running", "interrupted"


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
    parameters: tuple[Parameter, ...]
    trials: tuple[TrialResult, ...]
    split: str | None
    """The data of the reported losses: `val` where there are such, else `train`; None without losses."""
    comparable: str | None
    """Metric that compares trials with differing loss weights, such as `val.comparable_loss`; None without one."""
    ranking: Ranking
    saving: Saving
    progress: Progress
    problems: tuple[str, ...]
    """Things that could not be read, one line each."""

    @property
    def counts(self) -> dict[str, int]:
        """Number of trials in each state."""
        counted = Counter(trial.state for trial in self.trials)
        return {state: counted[state] for state in STATES}

    @property
    def best(self) -> TrialResult | None:
        """The best trial; with several objectives the one of the Pareto front that is best in the first."""
        return next((trial for trial in self.trials if trial.number == self.ranking.best), None)

    def by_rank(self) -> list[TrialResult]:
        """All trials: the ranked, the Pareto front (without ranks), other complete ones, the rest."""
        front = {number: place for place, number in enumerate(self.ranking.front)}
        far = len(self.trials) + 1

        def place(trial: TrialResult) -> tuple[int, int, int, int]:
            number = trial.number
            return trial.rank or far, front.get(number, far), STATES.index(trial.state), number

        return sorted(self.trials, key=place)


def read_results(folder: Path, now: float | None = None, study: "Study | None" = None) -> SweepResults:
    """Read the sweep in `folder`; nothing is written. `now` is the time in seconds since 1970; None: the clock's.

    `study` is the sweep's, where it is open already.

    Raises:
        UsageError: there is no sweep in `folder`.
    """
    now = time.time() if now is None else now
    if not folder.is_dir():
        raise UsageError(f"folder={folder}: there is no such folder")
    process = read_process_file(folder)
    alive = process is not None and process.alive
    if is_tuned(folder):
        return _tuned(folder, alive, now, study)
    return _sequential(folder, now)


def _tuned(folder: Path, alive: bool, now: float, study: "Study | None") -> SweepResults:
    from hexlit.tuning.study import load_study

    facts, problems = read_facts(folder)
    try:
        study = study or load_study(folder)
    except UsageError as error:
        result = trials_of_folders(tuned_folders(folder), (), facts, now)
        if result or not alive:  # a sweep that has just begun has no study yet
            problems = [*problems, f"{error}; the trials are read from their folders"]
        trials, parameters = _without_study(result, facts), parameters_of_values([trial.params for trial in result])
        directions = facts.directions
    else:
        frozen = study.get_trials(deepcopy=False)
        trials = trials_of_study(folder, facts, frozen, alive, now)
        parameters = parameters_of_study(frozen)
        directions = facts.directions or tuple(direction.name.lower() for direction in study.directions)
    count = max(1, len(facts.objectives), len(directions))
    names = [*facts.objectives, *(f"objective {number}" for number in range(len(facts.objectives), count))]
    ways = [*directions, *([MINIMIZE] * (count - len(directions)))]
    objectives = [
        Objective(name, MAXIMIZE if way == MAXIMIZE else MINIMIZE) for name, way in zip(names, ways, strict=True)
    ]
    state = GOING_ON if alive else FINISHED if facts.finished is not None else STOPPED
    if state == STOPPED and any(trial.state == RUNNING for trial in trials):
        state = GOING_ON  # its process runs elsewhere, or another process has joined the study
    return _results(folder, True, state, facts, objectives, parameters, trials, facts.n_trials, problems)


def _without_study(found: Sequence[TrialResult], facts: SweepFacts) -> list[TrialResult]:
    """The trials with the last values of their objectives, as there is no study that has the reported ones."""
    trials = []
    for trial in found:
        last = [trial.curves.last(name) for name in facts.objectives]
        known = [value for value in last if value is not None]
        values = tuple(known) if known and len(known) == len(last) and trial.state == COMPLETE else None
        trials.append(replace(trial, values=values))
    return trials


def _sequential(folder: Path, now: float) -> SweepResults:
    numbered = list(numbered_folders(folder))
    if not numbered:
        hint = "is a single run" if (folder / ".hydra").is_dir() else "holds no sweep"
        raise UsageError(f"folder={folder}: {hint}; a sweep's folder has trial-000/ or 0/ in it")
    keys, asked = swept_overrides(folder)
    facts = replace(facts_of_job(numbered[0][1]), name=folder.parent.name)
    result = trials_of_folders(numbered, keys, facts, now)
    objective, problems = _objective_of_jobs(facts, result)
    facts = replace(facts, objectives=(objective.name,), directions=(objective.direction,), monitor=objective.name)
    trials = _without_study(result, facts)
    ended = all(trial.state != RUNNING for trial in trials)
    whole = all(trial.state == COMPLETE for trial in trials) if asked is None else len(trials) >= asked
    state = GOING_ON if not ended else FINISHED if whole else STOPPED
    begun = [trial.started for trial in trials if trial.started is not None]
    over = [trial.ended for trial in trials if trial.ended is not None]
    first, last = min(begun, default=None), max(over, default=None) if ended else None
    seconds = None if first is None or last is None else last - first
    facts = replace(facts, started=first, finished=last, seconds=seconds)
    if asked is None:
        problems.append("multirun.yaml does not say how many jobs were asked for")
    parameters = parameters_of_values([trial.params for trial in trials])
    return _results(folder, False, state, facts, [objective], parameters, trials, asked, problems)


def _objective_of_jobs(facts: SweepFacts, trials: Sequence[TrialResult]) -> tuple[Objective, list[str]]:
    """The objective of a plain `--multirun`: its runs' `trainer.monitor`, or a loss; and why it is a loss."""
    watched = [Objective(*pair) for pair in zip(facts.objectives, facts.directions, strict=True)]
    columns = {name for trial in trials for name in trial.curves.columns}
    losses = [Objective(name, MINIMIZE) for name in ("val.loss", "train.loss") if name in columns]
    if watched and (watched[0].name in columns or not losses):
        return watched[0], []
    objective = losses[0] if losses else Objective("loss", MINIMIZE)
    what = f"trainer.monitor={watched[0].name} has not been measured" if watched else "no job says its trainer.monitor"
    return objective, [f"{what}; the jobs are compared by {objective.name}"]


def _with_losses(trial: TrialResult, split: str, comparable: str | None) -> TrialResult:
    """`trial` with its final losses over the data `split`."""
    losses = trial.curves.losses(split)
    shared = None if comparable is None else trial.curves.last(f"{split}.{comparable}")
    others = {name: value for name, value in losses.items() if name not in ("loss", comparable)}
    return replace(trial, loss=losses.get("loss"), comparable=shared, losses=others)


def _results(
    folder: Path,
    tuned: bool,
    state: str,
    facts: SweepFacts,
    objectives: Sequence[Objective],
    parameters: Sequence[Parameter],
    trials: Sequence[TrialResult],
    asked: int | None,
    problems: Sequence[str],
) -> SweepResults:
    split = reported_split(trials, objectives)
    if split is not None:
        trials = [_with_losses(trial, split, facts.comparable) for trial in trials]
    comparable = None if facts.comparable is None else f"{split or 'train'}.{facts.comparable}"
    ranking = rank_trials(trials, objectives, comparable)
    ranks = {number: rank for rank, number in enumerate(ranking.order, 1)}
    trials = [replace(trial, rank=ranks.get(trial.number)) for trial in trials]
    counts = Counter(trial.state for trial in trials)
    left = {FINISHED: 0.0, GOING_ON: seconds_left(trials, asked, facts.n_jobs)}
    progress = Progress(
        done=counts[COMPLETE] + counts[PRUNED] + counts[FAILED],
        of=asked,
        running=counts[RUNNING],
        eta_seconds=left.get(state),
        best=ranking.best,
    )
    return SweepResults(
        folder,
        tuned,
        state,
        facts,
        tuple(objectives),
        tuple(parameters),
        tuple(trials),
        split,
        comparable,
        ranking,
        time_saved(trials),
        progress,
        tuple(problems),
    )


def reported_split(trials: Sequence[TrialResult], objectives: Sequence[Objective]) -> str | None:
    """The data of the compared losses: that of an objective, else validation, else training."""
    known = {split for trial in trials for split in trial.curves.splits}
    wanted = [objective.name.rpartition(".")[0] for objective in objectives if objective.name.endswith("loss")]
    return next((split for split in (*wanted, "val", "train", *sorted(known)) if split in known), None)


def best_value(results: SweepResults) -> float | None:
    """The value that makes the best trial the best."""
    best = results.best
    return None if best is None else ranked_value(best, results.ranking)
