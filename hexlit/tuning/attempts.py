"""Bringing trials to their end: a slot on a device, a folder, a process, and one more attempt without memory."""

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from omegaconf import DictConfig, OmegaConf
from optuna import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from hexlit.accelerate.nvml import Nvml
from hexlit.tuning.folders import new_folder
from hexlit.tuning.plan import Plan
from hexlit.tuning.runner import (
    Ending,
    Job,
    LauncherRunner,
    Limits,
    NoProcessError,
    ProcessRunner,
    Runner,
    temporary_folder,
)
from hexlit.tuning.slots import Slot, Slots
from hexlit.tuning.study import Watcher, sign_of_life
from hexlit.tuning.ticket import TrialTicket

log = logging.getLogger(__name__)


class Attempts:
    """Works on trials, several at once, each in the thread that calls `bring_to_end`."""

    def __init__(
        self,
        plan: Plan,
        study: Study,
        config: DictConfig,
        limits: Limits,
        make_launcher: Callable[[], Any],
        stop: threading.Event,
    ) -> None:
        """Trials of `study`, until `stop` is set.

        With Hydra's basic launcher each attempt is a process of its own within `limits`; any other launcher, of which
        `make_launcher()` gives one, is given one launch an attempt.
        """
        self._plan = plan
        self._study = study
        self._stop = stop
        self._make_launcher = make_launcher
        self._one_by_one = threading.Lock()
        self._in_process: Runner | None = None
        self._runner: Runner
        launcher = str(config.hydra.runtime.choices.get("hydra/launcher", "basic"))
        if launcher == "basic":
            self._runner = ProcessRunner(str(config.hydra.job.name), limits, stop)
        else:
            in_this_process = launcher == "joblib" and OmegaConf.select(config, "hydra.launcher.n_jobs") == 1
            self._runner = LauncherRunner(make_launcher, at_once=not in_this_process)
            if limits != Limits():
                log.warning(
                    "hydra/launcher=%s: sweep.memory_budget, sweep.device_memory_budget and sweep.trial_timeout are "
                    "kept by the basic launcher only; set the limits of this launcher",
                    launcher,
                )
        configured = str(OmegaConf.select(config, "accelerator.device") or "auto")
        self._slots = {
            device: Slots(device_name(device), plan.judged.slots or plan.n_jobs)
            for device in plan.judged.devices or [configured]
        }

    def bring_to_end(self, trial: Trial, overrides: list[str]) -> Ending:
        """Work on `trial`, once more with half the micro-batch where it runs out of memory."""
        ending = self._attempt(trial, overrides, f"trial-{trial.number:03d}")
        known = noted(self._study, trial)
        micro_batch = known.user_attrs.get("micro_batch")
        if known.state == TrialState.RUNNING and micro_batch is not None and not self._stop.is_set():
            half = max(1, int(micro_batch) // 2)
            log.warning("trial %d ran out of memory; once more with accelerator.micro_batch=%d", trial.number, half)
            trial.set_user_attr("attempts", 2)
            smaller = [*overrides, f"accelerator.micro_batch={half}"]
            ending = self._attempt(trial, smaller, f"trial-{trial.number:03d}-retry")
        return ending

    def _attempt(self, trial: Trial, overrides: list[str], name: str) -> Ending:
        taken = self._take_slot()
        if taken is None:
            return Ending(failure="interrupted with the sweep", interrupted=True)
        device, slot = taken
        plan = self._plan
        folder = new_folder(plan.folder, name)
        trial.set_user_attr("folder", folder.name)
        temporary = temporary_folder(folder)
        trial.set_user_attr("temporary", str(temporary))
        job = Job(
            TrialTicket(
                storage=plan.storage,
                folder=str(plan.folder),
                study=plan.study_name,
                trial_id=trial._trial_id,
                number=trial.number,
                objectives=plan.objectives,
                monitor=plan.monitor,
                pruner=plan.pruner_node,
                report_every=plan.judged.report_every,
                seeds=plan.judged.seeds,
                group=f"{plan.name}-{plan.folder.name}",
            ),
            folder,
            overrides if plan.judged.devices is None else [*overrides, f"accelerator.device={device}"],
            plan.hydra_overrides,
            plan.flags,
            slot,
            temporary,
        )
        watcher = Watcher.this()

        def alive() -> None:
            sign_of_life(self._study, trial._trial_id, replace(watcher, seen=time.time()))

        if self._in_process is None:
            try:
                return self._runner.run(job, alive)
            except NoProcessError as error:
                self._go_on_in_process(error)
        slot.release()
        assert self._in_process is not None
        return self._in_process.run(replace(job, slot=None), alive)

    def _go_on_in_process(self, error: NoProcessError) -> None:
        with self._one_by_one:
            if self._in_process is None:
                log.warning(
                    "no process can be started for a trial (%s): the trials run one after another in this one", error
                )
                self._in_process = LauncherRunner(self._make_launcher, at_once=False)

    def _take_slot(self) -> tuple[str, Slot] | None:
        """A free slot of any device, waited for; None when the sweep ends before."""
        while not self._stop.is_set():
            for device, slots in self._slots.items():
                slot = slots.take(timeout=0)
                if slot is not None:
                    return device, slot
            self._stop.wait(0.1)
        return None


def device_name(configured: str) -> str:
    """The one name of a device, however it is written; of `auto`, what it most likely is, found out without torch."""
    if configured == "auto":
        with contextlib.closing(Nvml()) as driver:
            configured = "cuda" if not driver.reason else "mps" if sys.platform == "darwin" else "cpu"
    return "cuda:0" if configured == "cuda" else configured


def noted(study: Study, trial: Trial) -> FrozenTrial:
    """What the study knows of `trial` now."""
    return study._storage.get_trial(trial._trial_id)
