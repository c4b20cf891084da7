"""Working on trials to their end: room on a device, a folder, a process, and a second attempt with less memory."""

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from optuna import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from hexlit.accelerate.host import free_host_bytes
from hexlit.accelerate.nvml import Nvml
from hexlit.errors import UsageError
from hexlit.tuning.plan import Plan
from hexlit.tuning.processes import (
    GIB,
    WITH_THE_SWEEP,
    Attempt,
    AttemptEnd,
    Launches,
    Limits,
    NoProcessError,
    TrialProcess,
    larger,
    named,
)
from hexlit.tuning.slots import Slots
from hexlit.tuning.storage import StorageGoneError, hidden_password
from hexlit.tuning.trial import TrialTicket

log = logging.getLogger(__name__)

_ONCE_MORE = {"attempts": 2, "epochs": 0, "failure": None, "micro_batch": None, "seed_values": None}
"""Attributes of a trial that begins again."""
_LONGER = 60.0


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
        self._command = str(config.hydra.job.name)
        self._limits = Limits(
            host_bytes=None if judged.memory_budget is None else judged.memory_budget * GIB,
            device_bytes=None if judged.device_memory_budget is None else judged.device_memory_budget * GIB,
            seconds=judged.trial_timeout,
        )
        self._lock = threading.Lock()
        self._running: dict[int, Attempt] = {}
        self._host_peak: int | None = None
        self._device_peak: int | None = None
        self._launches: Launches | None = None
        launcher = str(config.hydra.runtime.choices.get("hydra/launcher", "basic"))
        self._slots: dict[str, Slots] = {}
        if launcher == "basic":
            configured = str(OmegaConf.select(config, "accelerator.device") or "auto")
            most = judged.slots or plan.n_jobs
            self._slots = {device: Slots(device_name(device), most) for device in judged.devices or [configured]}
        else:
            self._launch_all(f"hydra/launcher={launcher}", at_once=True)

    def room(self) -> bool:
        """Whether the free memory would take another trial: its budget, or the most that one has taken.

        Memory that running trials have not taken yet is not free.
        """
        with self._lock:
            running = list(self._running.values())
        need = self._limits.host_bytes or self._host_peak
        if running and need is not None:
            kept = sum(max(0.0, need - one.host_bytes) for one in running)
            if free_host_bytes() < need + kept:
                return False
        return not self._slots or any(self._has_room(device, running) for device in self._slots)

    def _has_room(self, device: str, running: list[Attempt]) -> bool:
        """Whether the memory of `device` would take another trial."""
        need = self._limits.device_bytes or self._device_peak
        there = [one for one in running if one.device == device]
        free = free_bytes_on(device) if need is not None and there else None
        return need is None or free is None or free >= need + sum(max(0.0, need - one.device_bytes) for one in there)

    def expect(self, trial: Trial, overrides: list[str]) -> None:
        """Reserve memory for `trial`, before `bring_to_end` is called."""
        attempt = Attempt(self._ticket(trial), overrides, self._plan.hydra_overrides, self._plan.flags)
        with self._lock:
            self._running[trial.number] = attempt

    def bring_to_end(self, trial: Trial, overrides: list[str]) -> AttemptEnd:
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
            ending = WITH_THE_SWEEP  # the sweep ends, and says why
        except Exception as error:  # a full disk: no harm to the other trials
            log.exception("trial %d", trial.number)
            ending = AttemptEnd(failure=named(error))
        finally:
            with self._lock:
                self._running.pop(trial.number, None)
        self._host_peak = larger(self._host_peak, ending.host_peak_bytes)
        self._device_peak = larger(self._device_peak, ending.device_peak_bytes)
        return ending

    def _attempt(self, trial: Trial, overrides: list[str], name: str) -> AttemptEnd:
        self.expect(trial, overrides)
        attempt = self._running[trial.number]
        self._take_slot(attempt)
        if self._stop.is_set():
            return WITH_THE_SWEEP
        attempt.folder = new_folder(self._plan.folder, name)
        trial.set_user_attr("folder", attempt.folder.name)
        if self._plan.judged.devices is not None:
            attempt.overrides = [*overrides, f"accelerator.device={attempt.device}"]
        if self._launches is None:
            try:
                return TrialProcess(self._command, attempt).wait(self._limits, self._stop)
            except NoProcessError as error:
                with self._lock:
                    if self._launches is None:
                        why = "no process can be started for a trial (%s): the trials run one after another in this one"
                        log.warning(why, error)
                        self._launch_all("in this process", at_once=False)
        assert self._launches is not None
        return self._launches.run(attempt)

    def _ticket(self, trial: Trial) -> TrialTicket:
        plan = self._plan
        return TrialTicket(
            **{name: getattr(plan, name) for name in ("objectives", "monitor", "group", "sweep_id")},
            **{name: getattr(plan.judged, name) for name in ("report_every", "seeds")},
            storage=None if plan.storage is None else hidden_password(plan.storage),
            folder=str(plan.folder),
            study=plan.study_name,
            trial_id=trial._trial_id,
            number=trial.number,
            pruner=plan.pruner_node,
            # The sweep gives up first; its trials then count as interrupted.
            storage_timeout=plan.judged.storage_timeout + _LONGER,
        )

    def _launch_all(self, where: str, *, at_once: bool) -> None:
        if self._limits != Limits():
            names = "sweep.memory_budget, sweep.device_memory_budget and sweep.trial_timeout"
            log.warning("%s: %s are not kept there", where, names)
        self._launches = Launches(self._make_launcher, self._stop, at_once=at_once)

    def _take_slot(self, attempt: Attempt) -> None:
        """Wait for a slot of the device with the fewest trials of this sweep, where there are slots, until the end."""
        began, said = time.monotonic(), False
        while self._slots and not self._stop.is_set():
            with self._lock:
                running = list(self._running.values())
                for device in sorted(self._slots, key=[one.device for one in running].count):
                    slot = self._slots[device].take(str(self._plan.folder)) if self._has_room(device, running) else None
                    if slot is not None:
                        attempt.device, attempt.slot = device, slot
                        return
            self._stop.wait(0.1)
            if not said and time.monotonic() - began > 5:
                said = True
                owners = sorted({owner for slots in self._slots.values() for owner in slots.owners()})
                log.warning("waiting for %s: its slots are taken by %s", " or ".join(self._slots), ", ".join(owners))


def new_folder(parent: Path, name: str) -> Path:
    """Make the folder `name` in `parent`, or `name-2`, `name-3` ... where it exists, and return it.

    Two simultaneous callers get two folders. `parent` is made where it is missing. Raises `UsageError` when the folder
    cannot be made.
    """
    number = 1
    while True:
        folder = parent / (name if number == 1 else f"{name}-{number}")
        try:
            parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
            return folder
        except FileExistsError:
            if not parent.is_dir():
                raise UsageError(f"{parent}: this folder cannot be made: it is a file") from None
            number += 1
        except OSError as error:
            raise UsageError(f"{folder}: this folder cannot be made: {error.strerror}") from None


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
    reading = dict(enumerate(readings)).get(int(number or 0))
    if reading is None or reading.total_bytes is None or reading.used_bytes is None:
        return None
    return reading.total_bytes - reading.used_bytes


def noted(study: Study, trial: Trial) -> FrozenTrial:
    """The study's present record of `trial`."""
    return study._storage.get_trial(trial._trial_id)
