"""Working on trials to their end: room on a device, a folder, a process, and a second attempt with less memory."""

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from omegaconf import DictConfig, OmegaConf
from optuna import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from hexlit.accelerate.host import free_host_bytes
from hexlit.accelerate.nvml import Nvml
from hexlit.tuning.address import hidden_password
from hexlit.tuning.folders import new_folder
from hexlit.tuning.launchers import LauncherRunner
from hexlit.tuning.patience import StorageGoneError
from hexlit.tuning.plan import Plan
from hexlit.tuning.runner import (
    GIB,
    Ending,
    Job,
    Limits,
    NoProcessError,
    ProcessRunner,
    Runner,
    first_line,
    larger,
)
from hexlit.tuning.slots import Slot, Slots
from hexlit.tuning.study import sign_of_life
from hexlit.tuning.ticket import TrialTicket
from hexlit.tuning.under_way import UnderWay
from hexlit.tuning.watcher import SIGN_OF_LIFE, Watcher

log = logging.getLogger(__name__)

_ONCE_MORE = {"attempts": 2, "epochs": 0, "failure": None, "micro_batch": None, "seed_values": None}
"""Attributes of a trial that begins again."""
_LONGER = 60.0
_INTERRUPTED = Ending(failure="interrupted with the sweep", interrupted=True)


class Attempts:
    """Works on trials, several at once, each in the thread that calls `bring_to_end`."""

    def __init__(
        self,
        plan: Plan,
        study: Study,
        config: DictConfig,
        make_launcher: Callable[[], Any],
        stop: threading.Event,
    ) -> None:
        """Trials of `study`, until `stop` is set.

        With Hydra's basic launcher each attempt is a process of its own. `make_launcher()` makes any other launcher,
        which gets one launch per attempt.
        """
        judged = plan.judged
        self._plan = plan
        self._study = study
        self._stop = stop
        self._make_launcher = make_launcher
        self._limits = Limits(
            host_bytes=None if judged.memory_budget is None else judged.memory_budget * GIB,
            device_bytes=None if judged.device_memory_budget is None else judged.device_memory_budget * GIB,
            seconds=judged.trial_timeout,
        )
        self._lock = threading.Lock()
        self._under_way: dict[int, UnderWay] = {}
        self._host_peak: int | None = None
        self._device_peak: int | None = None
        self._in_process: Runner | None = None
        self._runner: Runner
        launcher = str(config.hydra.runtime.choices.get("hydra/launcher", "basic"))
        self._slots: dict[str, Slots] = {}
        if launcher == "basic":
            self._runner = ProcessRunner(str(config.hydra.job.name), self._limits, stop)
            configured = str(OmegaConf.select(config, "accelerator.device") or "auto")
            most = judged.slots or plan.n_jobs
            self._slots = {device: Slots(device_name(device), most) for device in judged.devices or [configured]}
        else:
            # joblib's launches share their processes: the death of one would fail all running trials.
            self._runner = LauncherRunner(make_launcher, stop, at_once=launcher != "joblib")
            self._warn_of_limits(f"hydra/launcher={launcher}")

    def room(self) -> bool:
        """Whether the free memory would take another trial: its budget, or the most that one has taken.

        Memory that running trials have not taken yet is not free.
        """
        with self._lock:
            running = list(self._under_way.values())
        need = self._limits.host_bytes or self._host_peak
        kept = 0.0 if need is None else sum(max(0.0, need - one.host_bytes) for one in running)
        if running and need is not None and free_host_bytes() < need + kept:
            return False
        return not self._slots or any(self._has_room(device, running) for device in self._slots)

    def _has_room(self, device: str, running: list[UnderWay]) -> bool:
        """Whether the memory of `device` would take another trial."""
        need = self._limits.device_bytes or self._device_peak
        there = [one for one in running if one.device == device]
        free = free_bytes_on(device) if need is not None and there else None
        return need is None or free is None or free >= need + sum(max(0.0, need - one.device_bytes) for one in there)

    def expect(self, trial: Trial) -> None:
        """Reserve memory for `trial`, before `bring_to_end` is called."""
        with self._lock:
            self._under_way[trial.number] = UnderWay(lambda: None)

    def bring_to_end(self, trial: Trial, overrides: list[str]) -> Ending:
        """Work on `trial`, once more with half the micro-batch where it runs out of memory."""
        try:
            ending = self._attempt(trial, overrides, f"trial-{trial.number:03d}")
            known = noted(self._study, trial)
            micro_batch = known.user_attrs.get("micro_batch") or 1
            if known.state == TrialState.RUNNING and micro_batch > 1 and not self._stop.is_set():
                half = int(micro_batch) // 2
                log.warning("trial %d ran out of memory; once more with accelerator.micro_batch=%d", trial.number, half)
                for name, value in _ONCE_MORE.items():
                    trial.set_user_attr(name, value)
                smaller = [*overrides, f"accelerator.micro_batch={half}"]
                ending = self._attempt(trial, smaller, f"trial-{trial.number:03d}-retry")
        except StorageGoneError:
            ending = _INTERRUPTED  # the sweep ends, and says why
        except Exception as error:  # a full disk: no harm to the other trials
            log.exception("trial %d", trial.number)
            ending = Ending(failure=f"{type(error).__name__}: {first_line(error)}")
        finally:
            with self._lock:
                self._under_way.pop(trial.number, None)
        self._host_peak = larger(self._host_peak, ending.host_peak_bytes)
        self._device_peak = larger(self._device_peak, ending.device_peak_bytes)
        return ending

    def _attempt(self, trial: Trial, overrides: list[str], name: str) -> Ending:
        watcher = Watcher.this()

        def sign() -> None:
            try:
                sign_of_life(self._study, trial._trial_id, replace(watcher, seen=time.time()))
            except Exception as error:  # the storage may be back in a minute
                log.warning("trial %d: no sign of life can be given (%s)", trial.number, first_line(error))

        under_way = UnderWay(sign)
        with self._lock:
            self._under_way[trial.number] = under_way
        slot = self._take_slot(under_way)
        if self._stop.is_set():
            return _INTERRUPTED
        folder = new_folder(self._plan.folder, name)
        trial.set_user_attr("folder", folder.name)
        device = [] if self._plan.judged.devices is None else [f"accelerator.device={under_way.device}"]
        plan = self._plan
        job = Job(self._ticket(trial), folder, [*overrides, *device], plan.hydra_overrides, plan.flags, slot)
        return self._run(job, under_way)

    def _ticket(self, trial: Trial) -> TrialTicket:
        plan = self._plan
        return TrialTicket(
            storage=None if plan.storage is None else hidden_password(plan.storage),
            folder=str(plan.folder),
            study=plan.study_name,
            trial_id=trial._trial_id,
            number=trial.number,
            objectives=plan.objectives,
            monitor=plan.monitor,
            pruner=plan.pruner_node,
            report_every=plan.judged.report_every,
            seeds=plan.judged.seeds,
            group=plan.group,
            sweep_id=plan.sweep_id,
            # The sweep gives up first; its trials then count as interrupted.
            storage_timeout=plan.judged.storage_timeout + _LONGER,
        )

    def _run(self, job: Job, under_way: UnderWay) -> Ending:
        if self._in_process is None:
            try:
                return self._runner.run(job, under_way)
            except NoProcessError as error:
                with self._lock:
                    if self._in_process is None:
                        log.warning(
                            "no process can be started for a trial (%s): the trials run one after another in this one",
                            error,
                        )
                        self._warn_of_limits("in this process")
                        self._in_process = LauncherRunner(self._make_launcher, self._stop, at_once=False)
        return self._in_process.run(job, under_way)

    def _take_slot(self, under_way: UnderWay) -> Slot | None:
        """A slot of the device with the fewest trials of this sweep, waited for. None without slots, or at the end."""
        began = message = time.monotonic()
        while self._slots and not self._stop.is_set():
            with self._lock:
                running = list(self._under_way.values())
                taken = [one.device for one in running]
                for device in sorted(self._slots, key=taken.count):
                    slot = self._slots[device].take(timeout=0) if self._has_room(device, running) else None
                    if slot is not None:
                        under_way.device = device
                        return slot
            self._stop.wait(0.1)
            now = time.monotonic()
            if message == began and now - began > 5:
                log.warning("waiting for %s: other sweeps have all its slots (sweep.slots)", " or ".join(self._slots))
            if now - message > (5 if message == began else SIGN_OF_LIFE):
                message = now
                under_way.alive()
        return None

    def _warn_of_limits(self, where: str) -> None:
        if self._limits != Limits():
            log.warning(
                "%s: sweep.memory_budget, sweep.device_memory_budget and sweep.trial_timeout are not kept there", where
            )


def device_name(configured: str) -> str:
    """The one name of a device, however it is written. `auto` gives the most likely device, found without torch."""
    if configured == "auto":
        with contextlib.closing(Nvml()) as driver:
            configured = "cuda" if not driver.reason else "mps" if sys.platform == "darwin" else "cpu"
    kind, _, number = configured.partition(":")
    if kind != "cuda":
        return configured
    visible = [entry.strip() for entry in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if entry.strip()]
    index = int(number or 0)
    return f"cuda:{visible[index] if index < len(visible) else index}"


def free_bytes_on(device: str) -> int | None:
    """Memory that is free on `device`, in bytes; None where it is not known."""
    kind, _, number = device.partition(":")
    if kind not in ("cuda", "auto"):
        return None
    with contextlib.closing(Nvml(os.environ.get("CUDA_VISIBLE_DEVICES"))) as driver:
        readings = [] if driver.reason else driver.read()
    if int(number or 0) >= len(readings):
        return None
    reading = readings[int(number or 0)]
    if reading.total_bytes is None or reading.used_bytes is None:
        return None
    return reading.total_bytes - reading.used_bytes


def noted(study: Study, trial: Trial) -> FrozenTrial:
    """The study's present record of `trial`."""
    return study._storage.get_trial(trial._trial_id)
