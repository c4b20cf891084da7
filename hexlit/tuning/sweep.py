"""A running sweep: asks for trials, keeps the slots full, and reports the outcome of each trial."""

import contextlib
import json
import logging
import os
import shlex
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from optuna import Study
from optuna.trial import FrozenTrial, Trial, TrialState
from rich.console import Console

from hexlit.accelerate.machine import remove_process_file, write_process_file
from hexlit.errors import UsageError
from hexlit.files import read_json, remove_temporary, write_text_atomic
from hexlit.interruption import says_how_to_continue
from hexlit.locks import FolderLock
from hexlit.reporting.sweep import SweepDisplay, sweep_page
from hexlit.reporting.text import show
from hexlit.tuning.address import STORAGE_VARIABLE, hidden_password
from hexlit.tuning.attempts import Attempts, noted
from hexlit.tuning.build import build_sampler
from hexlit.tuning.outcome import outcome, reason
from hexlit.tuning.patience import Patience, StorageGoneError
from hexlit.tuning.plan import Plan, make_plan, sweep_facts
from hexlit.tuning.result_files import as_document, write_results
from hexlit.tuning.results import read_results
from hexlit.tuning.runner import Ending, clean, first_line
from hexlit.tuning.slurm_jobs import LAUNCHER, LEFT
from hexlit.tuning.space import render
from hexlit.tuning.study import counts, create_study, interrupt, retry_interrupted, sign_of_life
from hexlit.tuning.sweep_folder import MULTIRUN_FILE, SWEEP_FILE
from hexlit.tuning.tracked_sweep import track_sweep
from hexlit.tuning.turns import turn
from hexlit.tuning.watcher import Watcher

log = logging.getLogger(__name__)

_TICK = 1.0
"""Seconds between two looks at whether there is room for a trial."""
LEADING = 10
"""Rows of the leaderboard that are shown at the end."""
_FEWEST_JUDGED = 5
"""Least number of trials for a failure rate."""


def run_sweep(
    config: DictConfig, settings: dict[str, Any], arguments: list[str], hydra_context: Any, task_function: Any
) -> float | list[float]:
    """Run the sweep that the composed `config` and the sweeper's `settings` describe, and return its best value(s).

    `arguments` are the task's overrides, including those to be swept over. With Hydra's basic launcher each trial is
    a process of its own; any other launcher gets one launch per trial.

    Raises:
        UsageError: a setting is wrong, no trial succeeded, or too many failed.
    """
    plan = make_plan(config, settings, arguments, hydra_context.config_loader)

    def make_launcher() -> Any:
        from hydra.core.plugins import Plugins

        there = OmegaConf.merge(_without_password(config), {"hydra": {"sweep": {"dir": str(plan.folder)}}})
        assert isinstance(there, DictConfig)
        return Plugins.instance().instantiate_launcher(
            config=there, hydra_context=hydra_context, task_function=task_function
        )

    if plan.storage is not None and hidden_password(plan.storage) != plan.storage:
        os.environ[STORAGE_VARIABLE] = plan.storage  # for the trials: no command line and no file shows it
    with FolderLock(plan.folder):
        write_process_file(plan.folder)
        try:
            with says_how_to_continue(
                "hexlit train", lambda: f"the sweep is in {os.path.relpath(plan.folder)}", lambda: again(plan, config)
            ):
                return Sweep(plan, config, make_launcher).run()
        finally:
            remove_process_file(plan.folder)


class Sweep:
    """One session of a sweep."""

    def __init__(self, plan: Plan, config: DictConfig, make_launcher: Callable[[], Any]) -> None:
        """The sweep of `plan`; `make_launcher` makes one of Hydra's launchers."""
        self._plan = plan
        self._config = config
        self._make_launcher = make_launcher
        self._launcher = str(config.hydra.runtime.choices.get("hydra/launcher", "basic"))
        self._stop = threading.Event()
        self._before = read_json(plan.folder / SWEEP_FILE)
        self._began = time.monotonic()
        self._console = Console()

    def run(self) -> float | list[float]:
        """Run the trials until they end; see `run_sweep`."""
        plan = self._plan
        if plan.resume:
            # Unfinished files of a killed sweep. Trials of other launchers may have outlived it.
            remove_temporary(plan.folder, below=self._launcher == "basic")
        self._study = self._open()
        self._attempts = Attempts(plan, self._study, self._config, self._make_launcher, self._stop)
        OmegaConf.save(_without_password(self._config), plan.folder / MULTIRUN_FILE)
        self._save(finished=None)
        try:
            title = f"hexlit train --multirun · {plan.study_name}"
            with SweepDisplay(title, console=self._console) as self._display:
                self._work()
        except BaseException:
            remove_process_file(plan.folder)
            with contextlib.suppress(StorageGoneError):
                self._save_results()
            raise
        self._save(finished=time.time())
        remove_process_file(plan.folder)
        results = write_results(plan.folder, figures=True, study=self._study)
        document = as_document(results)
        show(sweep_page(document, together=True), self._console, rows=LEADING)
        track_sweep(self._config, plan.folder, document, group=plan.group, resumed=plan.resume)
        return self._verdict()

    def _open(self) -> Study:
        plan = self._plan
        sampler = build_sampler(plan.sampler, plan.space, seed=plan.seed)
        study = create_study(
            plan.study_name,
            plan.storage,
            plan.folder,
            plan.directions,
            sampler,
            plan.pruner,
            resume=plan.resume,
            join=plan.judged.join,
            terms=plan.terms,
            objectives=plan.objectives,
            patience=Patience(plan.judged.storage_timeout, ended=self._stop),
        )
        before = len(study.get_trials(deepcopy=False))
        if plan.judged.join:
            before += int(plan.sweep_id, 16)  # so that two processes that join at once draw differently
        if before:
            study.sampler = build_sampler(plan.sampler, plan.space, seed=plan.seed, trials_before=before)
            with turn(study):
                self._retry_interrupted(study)
        return study

    def _retry_interrupted(self, study: Study) -> None:
        again = retry_interrupted(study)
        for trial in again:
            if "folder" in trial.user_attrs:
                clean(self._plan.folder / Path(trial.user_attrs["folder"]).name)
        if again:
            log.info("interrupted, and repeated now: trial %s", ", ".join(str(trial.number) for trial in again))
            self._warn_of_jobs()

    def _warn_of_jobs(self) -> None:
        if self._launcher == LAUNCHER:
            log.warning(LEFT)

    def _work(self) -> None:
        plan = self._plan
        running: dict[Future[Ending], Trial] = {}
        with ThreadPoolExecutor(plan.n_jobs, "trial") as pool:
            try:
                news: list[str] = []
                while True:
                    while len(running) < plan.n_jobs and (begun := self._begin(running)) is not None:
                        trial, overrides = begun
                        self._attempts.expect(trial)
                        running[pool.submit(self._attempts.bring_to_end, trial, overrides)] = trial
                    self._show(news)  # after the slots are full again
                    if not running:
                        return
                    ended, _ = wait(running, timeout=_TICK, return_when=FIRST_COMPLETED)
                    news = [self._settle(running.pop(future), future.result()) for future in ended]
            except BaseException:
                self._stop.set()
                log.warning("ending %d trials", len(running))
                self._warn_of_jobs()
                for future, trial in running.items():
                    with contextlib.suppress(Exception):
                        # The signal that ends the sweep may have ended it too: that is no failure of its own.
                        self._settle(trial, replace(future.result(), interrupted=True))
                raise

    def _begin(self, running: dict[Future[Ending], Trial]) -> tuple[Trial, list[str]] | None:
        """A trial that begins now, with its task overrides; None when no trial begins."""
        again = not running
        while again or self._may_begin():
            with turn(self._study) as mine:
                if again:
                    self._retry_interrupted(self._study)  # trials of other machines that have been silent for too long
                if not self._may_begin():  # another process may have begun one
                    return None
                trial, overrides = self._ask()
                if mine():
                    return trial, overrides
                interrupt(self._study, trial)  # the server was away: another process may have had the turn too
                again = True
        return None

    def _may_begin(self) -> bool:
        """Whether another trial may begin now."""
        plan = self._plan
        trials = self._study.get_trials(deepcopy=False)
        done = [trial for trial in trials if counts(trial)]
        under_way = sum(trial.state == TrialState.RUNNING for trial in trials)  # those on other machines too
        if len(done) + under_way >= plan.n_trials:
            return False
        if plan.timeout is not None and time.monotonic() - self._began > plan.timeout:
            return False
        return not self._too_many_failed(done) and self._attempts.room()

    def _too_many_failed(self, done: list[FrozenTrial]) -> bool:
        failed = sum(trial.state == TrialState.FAIL for trial in done)
        return failed > self._plan.max_failure_rate * max(len(done), _FEWEST_JUDGED)

    def _ask(self) -> tuple[Trial, list[str]]:
        """A new trial, and its task overrides."""
        plan = self._plan
        trial: Trial | None = None
        try:
            trial = self._study.ask(fixed_distributions=plan.space)
            sign_of_life(self._study, trial._trial_id, Watcher.this())
            self._ask_more(trial)
            fixed = {override.lstrip("+~").partition("=")[0] for override in plan.overrides}
            for name in fixed.intersection(trial.params):
                raise UsageError(f"{name}: searched by {plan.custom}, and fixed on the command line; drop one")
        except BaseException as error:
            if trial is not None:
                interrupt(self._study, trial)
            if isinstance(error, ValueError) and not isinstance(error, UsageError):
                reason = first_line(error)
                raise UsageError(f"hydra.sweeper.params: {reason} (is it the space the study began with?)") from error
            raise
        overrides = [*plan.overrides, *plan.own_overrides]
        overrides += [render(name, value) for name, value in trial.params.items()]
        trial.set_user_attr("overrides", [override for override in overrides if override not in plan.own_overrides])
        return trial, overrides

    def _ask_more(self, trial: Trial) -> None:
        """Let the user's function ask for more parameters."""
        plan = self._plan
        if plan.custom is None:
            return
        try:
            plan.custom(self._config, trial)
        except Exception as error:  # foreign code may raise anything
            message = f"{type(error).__name__}: {first_line(error)}"
            raise UsageError(f"hydra.sweeper.custom_search_space: {message}") from error

    def _settle(self, trial: Trial, ending: Ending) -> str:
        """Tell the study how `trial` ended, unless the trial has done so; returns the outcome as one line."""
        known = noted(self._study, trial)
        if known.state == TrialState.RUNNING:
            if ending.interrupted:
                interrupt(self._study, trial)
            else:
                facts = {
                    "failure": reason(ending, known),
                    "seconds": round(ending.seconds, 3),
                    "host_peak_bytes": ending.host_peak_bytes,
                    "device_peak_bytes": ending.device_peak_bytes,
                }
                for name, value in facts.items():
                    if value is not None:
                        trial.set_user_attr(name, value)
                self._study.tell(trial, state=TrialState.FAIL)
        return outcome(noted(self._study, trial), self._plan)

    def _save(self, *, finished: float | None) -> None:
        """Write `sweep.json`."""
        before = self._before
        facts = sweep_facts(
            self._plan,
            started=before.get("started") or time.time() - (time.monotonic() - self._began),
            finished=finished,
            seconds=before.get("seconds", 0.0) + time.monotonic() - self._began,
        )
        write_text_atomic(self._plan.folder / SWEEP_FILE, json.dumps(facts, indent=2) + "\n")

    def _show(self, news: list[str]) -> None:
        """Show the state of the sweep; results of the trials that have just ended are saved first."""
        if news:
            self._save_results()
        self._display.update(as_document(read_results(self._plan.folder, study=self._study)), news)

    def _save_results(self) -> None:
        try:
            self._save(finished=None)
            write_results(self._plan.folder, figures=False, study=self._study)
        except OSError as error:  # a full disk is no reason to lose the running trials
            log.warning("%s: the results are not up to date (%s)", self._plan.folder, error.strerror)

    def _verdict(self) -> float | list[float]:
        trials = [trial for trial in self._study.get_trials(deepcopy=False) if counts(trial)]
        failed = [trial for trial in trials if trial.state == TrialState.FAIL]
        last = f"trial {failed[-1].number}: {failed[-1].user_attrs.get('failure')}" if failed else "none failed"
        if self._too_many_failed(trials):
            raise UsageError(
                f"hydra.sweeper.max_failure_rate={self._plan.max_failure_rate}: {len(failed)} of {len(trials)} trials "
                f"failed ({last}); see {self._plan.folder}"
            )
        if not any(trial.state == TrialState.COMPLETE for trial in trials):
            raise UsageError(f"no trial of {len(trials)} succeeded ({last}); see {self._plan.folder}")
        if len(self._plan.directions) > 1:
            return list(self._study.best_trials[0].values)
        return float(self._study.best_value)


def again(plan: Plan, config: DictConfig) -> str:
    """The shell command that continues the sweep of `plan`, which was composed as `config`."""
    asked = [*config.hydra.overrides.task, *config.hydra.overrides.hydra]
    of_this_session = ("hydra.mode=", "hydra.sweep.dir=", "sweep.resume=", "sweep.join=")
    kept = [str(override) for override in asked if not str(override).startswith(of_this_session)]
    place = f"hydra.sweep.dir={os.path.relpath(plan.folder)}"
    return f"hexlit train --multirun {shlex.join([*kept, place, 'sweep.resume=true'])}"


def _without_password(config: DictConfig) -> DictConfig:
    """The configuration without the password, so that it may be saved."""
    shown = config.copy()
    if config.hydra.sweeper.storage is not None:
        with open_dict(shown), read_write(shown):
            shown.hydra.sweeper.storage = hidden_password(config.hydra.sweeper.storage)
            shown.hydra.overrides.hydra = [
                hidden_password(str(line))
                for line in config.hydra.overrides.hydra
                if not str(line).lstrip("+").startswith("hydra.sweeper.storage=")
            ]
    return shown
