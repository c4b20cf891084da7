"""A running sweep: asks for trials, keeps the slots full, and reports the outcome of each trial."""

import contextlib
import json
import logging
import os
import shlex
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from omegaconf import DictConfig, OmegaConf
from optuna import Study
from optuna.trial import FrozenTrial, Trial, TrialState
from rich.console import Console

from hexlit.accelerate.machine import remove_process_file, write_process_file
from hexlit.errors import UsageError
from hexlit.files import read_json, remove_temporary, write_text_atomic
from hexlit.interruption import prints_resume_hint
from hexlit.locks import FolderLock
from hexlit.reporting.sweep import SweepDisplay, sweep_page
from hexlit.reporting.text import show
from hexlit.tuning import shared_trials
from hexlit.tuning.attempts import Attempts
from hexlit.tuning.plan import Plan, make_plan, sweep_facts
from hexlit.tuning.processes import SLURM, Attempt, clean
from hexlit.tuning.program import Program
from hexlit.tuning.result_files import write_results
from hexlit.tuning.results import as_document, read_results
from hexlit.tuning.samplers import build_sampler
from hexlit.tuning.space import render
from hexlit.tuning.storage import Retry, StorageGoneError
from hexlit.tuning.study import create_study
from hexlit.tuning.sweep_folder import MULTIRUN_FILE, SWEEP_FILE
from hexlit.tuning.trial import first_line
from hexlit.tuning.trials import folder_name

log = logging.getLogger(__name__)

_TICK = 1.0
"""Seconds between two looks at whether there is room for a trial."""
LEADING = 10
"""Rows of the leaderboard that are shown at the end."""
_FEWEST_JUDGED = 5
"""Least number of trials for a failure rate."""


def run_sweep(
    program: Program,
    config: DictConfig,
    settings: dict[str, Any],
    arguments: list[str],
    hydra_context: Any,
    task_function: Any,
) -> float | list[float]:
    """Run the sweep of `program` that the composed `config` and the sweeper's `settings` describe,
    and return its best value(s).

    `arguments` are the task's overrides, including those to be swept over. With Hydra's basic
    launcher each trial is a process; any other launcher gets one launch per trial.

    Raises:
        UsageError: a setting is wrong, no trial succeeded, or too many failed.
    """
    plan = make_plan(program, config, settings, arguments, hydra_context.config_loader)

    def make_launcher() -> Any:
        from hydra.core.plugins import Plugins

        there: Any = OmegaConf.merge(config, {"hydra": {"sweep": {"dir": str(plan.folder)}}})
        parts = {"hydra_context": hydra_context, "task_function": task_function}
        return Plugins.instance().instantiate_launcher(config=there, **parts)

    where = f"the sweep is in {os.path.relpath(plan.folder)}"
    with FolderLock(plan.folder):
        write_process_file(plan.folder)
        try:
            with prints_resume_hint(plan.shown, where, again(plan, config)):
                return SweepSession(plan, config, make_launcher).run()
        finally:
            remove_process_file(plan.folder)


class SweepSession:
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
        if plan.judged.resume:
            # Unfinished files of a killed sweep. Trials of other launchers may have outlived it.
            remove_temporary(plan.folder, below=self._launcher == "basic")
        self._study = self._opened()
        self._attempts = Attempts(plan, self._study, self._config, self._make_launcher, self._stop)
        OmegaConf.save(self._config, plan.folder / MULTIRUN_FILE)
        try:
            title = f"{plan.shown} --multirun · {plan.study_name}"
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
        plan.program.track(self._config, plan, document)
        return self._verdict()

    def _opened(self) -> Study:
        """The study; a new one is made after `sweep.json`, so that a sweep killed between them can
        be resumed.
        """
        if not self._before:
            self._save(finished=None)
        try:
            study = self._open()
        except Exception:
            if not self._before:  # refused: there is nothing to resume
                (self._plan.folder / SWEEP_FILE).unlink()
            raise
        self._save(finished=None)
        return study

    def _open(self) -> Study:
        plan = self._plan
        node = self._plan.settings.sampler
        sampler = build_sampler(node, plan.space, seed=plan.seed)
        study = create_study(plan, sampler, Retry(plan.judged.storage_timeout, ended=self._stop))
        before = len(study.get_trials(deepcopy=False))
        if plan.judged.join:
            # So that two processes that join at once draw differently.
            before += int(plan.sweep_id, 16)
        if before:
            study.sampler = build_sampler(node, plan.space, seed=plan.seed, trials_before=before)
        return study

    def _interrupt_abandoned(self) -> None:
        abandoned = shared_trials.interrupt_abandoned(self._study)
        for trial in abandoned:
            clean(self._plan.folder / folder_name(trial))
        if abandoned:
            log.info(
                "interrupted, and repeated now: trial %s",
                ", ".join(str(trial.number) for trial in abandoned),
            )
            self._warn_of_jobs()

    def _warn_of_jobs(self) -> None:
        if self._launcher == SLURM:
            log.warning(
                "jobs of Slurm outlive their sweep: squeue --me lists them, scancel NUMBER ends one"
            )

    def _work(self) -> None:
        n_jobs = self._plan.settings.n_jobs
        running: dict[Future[Attempt], Trial] = {}
        with ThreadPoolExecutor(n_jobs, "trial") as pool:
            try:
                lines: list[str] = []
                heartbeat = time.monotonic()
                while True:
                    if not running:
                        self._interrupt_abandoned()
                    while len(running) < n_jobs:
                        begun = self._begin()
                        if begun is None:
                            break
                        trial, overrides = begun
                        self._attempts.expect(trial, overrides)
                        running[pool.submit(self._attempts.bring_to_end, trial, overrides)] = trial
                    # After the slots are full again; the trials that have just ended are saved
                    # first.
                    if lines:
                        self._save_results()
                    self._display.update(
                        as_document(read_results(self._plan.folder, study=self._study)), lines
                    )
                    if not running:
                        return
                    ended, _ = wait(running, timeout=_TICK, return_when=FIRST_COMPLETED)
                    lines = [self._settle(running.pop(future), future.result()) for future in ended]
                    if time.monotonic() - heartbeat > shared_trials.HEARTBEAT:
                        heartbeat = time.monotonic()
                        for trial in running.values():
                            shared_trials.record_heartbeat(self._study, trial)
            except BaseException:
                self._stop.set()
                log.warning("ending %d trials", len(running))
                self._warn_of_jobs()
                for future, trial in running.items():
                    with contextlib.suppress(Exception):
                        attempt = future.result()
                        attempt.interrupt()  # the signal that ends the sweep may have ended it too
                        self._settle(trial, attempt)
                raise

    def _begin(self) -> tuple[Trial, list[str]] | None:
        """A trial that begins now, with its task overrides; None when no trial begins."""
        plan = self._plan
        settings = self._plan.settings
        trials = self._study.get_trials(deepcopy=False)
        if not shared_trials.may_begin(trials, settings.n_trials):
            return None
        if settings.timeout is not None and time.monotonic() - self._began > settings.timeout:
            return None
        if (
            self._too_many_failed([trial for trial in trials if shared_trials.counts(trial)])
            or not self._attempts.room()
        ):
            return None
        try:
            trial = shared_trials.begin_trial(self._study, plan.space, settings.n_trials)
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"hydra.sweeper.params: {first_line(error)} (the space the study began with?)"
            ) from error
        if trial is None:
            return self._begin()  # another process has begun it; perhaps there is one more
        lines = [*plan.overrides, *(render(name, value) for name, value in trial.params.items())]
        trial.set_user_attr(shared_trials.OVERRIDES, lines)
        return trial, lines

    def _too_many_failed(self, done: list[FrozenTrial]) -> bool:
        failed = sum(trial.state == TrialState.FAIL for trial in done)
        return failed > self._plan.settings.max_failure_rate * max(len(done), _FEWEST_JUDGED)

    def _settle(self, trial: Trial, attempt: Attempt) -> str:
        """Report to the study how `trial` ended, unless the trial has done so; returns the outcome
        as one line.
        """
        known = shared_trials.record_of(self._study, trial)
        if known.state == TrialState.RUNNING:
            if attempt.interrupted:
                shared_trials.interrupt(self._study, trial)
            else:
                failure = known.user_attrs.get("failure")
                seen = attempt.failure
                ended_from_outside = seen is not None and not seen.startswith("exit code")
                if not failure or ended_from_outside:
                    failure = seen or "ended without a value"
                facts = {"failure": failure, "seconds": round(attempt.seconds, 3)}
                facts |= {f"{kind}_peak_bytes": peak for kind, peak in attempt.peaks.items()}
                for name, value in facts.items():
                    trial.set_user_attr(name, value)
                self._study.tell(trial, state=TrialState.FAIL)
        return outcome(shared_trials.record_of(self._study, trial), self._plan.objectives)

    def _save(self, *, finished: float | None) -> None:
        """Write `sweep.json`."""
        session_seconds = time.monotonic() - self._began
        started = self._before.get("started") or time.time() - session_seconds
        facts = sweep_facts(
            self._plan,
            started=started,
            finished=finished,
            seconds=session_seconds + self._before.get("seconds", 0.0),
        )
        text = json.dumps(facts, indent=2)
        write_text_atomic(self._plan.folder / SWEEP_FILE, f"{text}\n")

    def _save_results(self) -> None:
        try:
            self._save(finished=None)
            write_results(self._plan.folder, figures=False, study=self._study)
        except OSError as error:  # a full disk is no reason to lose the running trials
            log.warning(
                "%s: the results are not up to date (%s)", self._plan.folder, error.strerror
            )

    def _verdict(self) -> float | list[float]:
        trials = [
            trial for trial in self._study.get_trials(deepcopy=False) if shared_trials.counts(trial)
        ]
        failed = [trial for trial in trials if trial.state == TrialState.FAIL]
        if self._too_many_failed(trials) or not any(
            trial.state == TrialState.COMPLETE for trial in trials
        ):
            last = (
                f"trial {failed[-1].number}: {failed[-1].user_attrs.get('failure')}"
                if failed
                else "none failed"
            )
            rate = f"hydra.sweeper.max_failure_rate={self._plan.settings.max_failure_rate}"
            counted = f"{len(failed)} of {len(trials)} trials failed ({last})"
            raise UsageError(f"{rate}: {counted}; see {self._plan.folder}")
        best: list[float] = self._study.best_trials[0].values
        return best if len(best) > 1 else best[0]


def again(plan: Plan, config: DictConfig) -> str:
    """The shell command that continues the sweep of `plan`, which was composed as `config`."""
    asked = [*config.hydra.overrides.task, *config.hydra.overrides.hydra]
    section = plan.judged.section
    own = ("hydra.mode=", "hydra.sweep.dir=", f"{section}.resume=", f"{section}.join=")
    kept = [str(override) for override in asked if not str(override).startswith(own)]
    place = f"hydra.sweep.dir={os.path.relpath(plan.folder)}"
    return f"{plan.shown} --multirun {shlex.join([*kept, place, f'{section}.resume=true'])}"


def outcome(trial: FrozenTrial, objectives: Sequence[str]) -> str:
    """One line on a trial that has ended."""
    if trial.state == TrialState.COMPLETE:
        outcome_text = ", ".join(
            f"{name} {value:.4g}" for name, value in zip(objectives, trial.values, strict=True)
        )
    elif trial.state == TrialState.PRUNED:
        outcome_text = f"pruned after {len(trial.intermediate_values)} reports"
    else:
        outcome_text = (
            "interrupted"
            if shared_trials.is_interrupted(trial)
            else f"failed, {trial.user_attrs.get('failure')}"
        )
    return f"trial {trial.number}: {outcome_text}"
