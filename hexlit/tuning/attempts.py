"""Working on trials to their end: room on a device, a folder, a process, and a second attempt with
less memory.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from omegaconf import DictConfig
from optuna import Study
from optuna.trial import Trial, TrialState

from hexlit.accelerate.host import free_host_bytes, usable_cores
from hexlit.accelerate.nvml import Nvml
from hexlit.tuning.plan import Plan
from hexlit.tuning.processes import GIB, Attempt, Launches, NoProcessError, TrialProcess
from hexlit.tuning.shared_trials import record_of, storage_id
from hexlit.tuning.slots import Slots, device_name
from hexlit.tuning.storage import StorageGoneError
from hexlit.tuning.trial import TrialTicket, reason_of

log = logging.getLogger(__name__)

_RETRY_ATTRIBUTES = {
    "attempts": 2,
    "epochs": 0,
    "failure": None,
    "micro_batch": None,
    "seed_values": None,
}
"""Attributes of a trial that begins again."""
_EXTRA_TIMEOUT = 60.0


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

        With Hydra's basic launcher each attempt is a process. `make_launcher()` makes
        any other launcher, which gets one launch per attempt.
        """
        judged = plan.judged
        self._plan = plan
        self._study = study
        self._stop = stop
        self._make_launcher = make_launcher
        self._config = config
        self._start = plan.program.start()
        self._lock = threading.Lock()
        self._running: dict[int, Attempt] = {}
        self._peaks: dict[str, int] = {}
        self._launches: Launches | None = None
        launcher = str(config.hydra.runtime.choices.get("hydra/launcher", "basic"))
        self._slots: dict[str, Slots] = {}
        if launcher == "basic":
            configured = plan.program.device(config)
            most = judged.slots or plan.settings.n_jobs
            self._slots = {
                device: Slots(device_name(device), most)
                for device in judged.devices or [configured]
            }
        else:
            self._launch_all(f"hydra/launcher={launcher}", plan.settings.n_jobs)

    def room(self) -> bool:
        """Whether the free memory would take another trial: its budget, or the most that one has
        taken.

        Memory that running trials have not taken yet is not free.
        """
        with self._lock:
            running = list(self._running.values())
        if not self._fits("host", self._plan.judged.memory_budget, running, free_host_bytes):
            return False
        return not self._slots or any(self._has_room(device, running) for device in self._slots)

    def _has_room(self, device: str, running: list[Attempt]) -> bool:
        there = [one for one in running if one.device == device]
        return self._fits(
            "device", self._plan.judged.device_memory_budget, there, partial(free_bytes_on, device)
        )

    def _fits(
        self,
        kind: str,
        budget: float | None,
        running: list[Attempt],
        free_bytes: Callable[[], int | None],
    ) -> bool:
        need = self._peaks.get(kind) if budget is None else budget * GIB
        free = free_bytes() if running and need is not None else None
        if free is None or need is None:
            return True
        return free >= need + sum(max(0.0, need - one.taken.get(kind, 0)) for one in running)

    def expect(self, trial: Trial, overrides: list[str]) -> Attempt:
        """Reserve memory for an attempt at `trial`, before `bring_to_end` is called."""
        attempt = Attempt(self._ticket(trial), overrides, self._plan.hydra_overrides, self._start)
        with self._lock:
            self._running[trial.number] = attempt
        return attempt

    def bring_to_end(self, trial: Trial, overrides: list[str]) -> Attempt:
        """Work on `trial`, once more where it runs out of memory and the program knows how to take
        less; gives the last attempt.
        """
        attempt = self.expect(trial, overrides)
        try:
            self._attempt(trial, attempt, f"trial-{trial.number:03d}")
            known = record_of(self._study, trial)
            less = self._plan.program.second_attempt(known.user_attrs)
            if known.state == TrialState.RUNNING and less and not self._stop.is_set():
                log.warning(
                    "trial %d ran out of memory; once more with %s", trial.number, " ".join(less)
                )
                for name, value in _RETRY_ATTRIBUTES.items():
                    trial.set_user_attr(name, value)
                attempt = self.expect(trial, [*overrides, *less])
                self._attempt(trial, attempt, f"trial-{trial.number:03d}-retry")
        except StorageGoneError:
            attempt.interrupt()  # the sweep ends, and reports why
        except Exception as error:  # a full disk: no harm to the other trials
            log.exception("trial %d", trial.number)
            attempt.failure = reason_of(error)
        with self._lock:
            self._running.pop(trial.number, None)
            self._peaks |= {
                kind: max(peak, self._peaks.get(kind, 0)) for kind, peak in attempt.peaks.items()
            }
        return attempt

    def _attempt(self, trial: Trial, attempt: Attempt, name: str) -> None:
        self._take_slot(attempt)
        if self._stop.is_set():
            return attempt.interrupt()
        attempt.folder = self._plan.folder / name
        attempt.folder.mkdir()
        trial.set_user_attr("folder", name)
        self._give_share(attempt)
        if self._launches is None:
            try:
                return TrialProcess(attempt).wait(self._plan.judged, self._stop)
            except NoProcessError as error:
                with self._lock:
                    if self._launches is None:
                        why = "no process can be started for a trial (%s): the trials run one after another in this one"
                        log.warning(why, error)
                        self._launch_all("in this process", 1)
        assert self._launches is not None
        return self._launches.run(attempt)

    def _give_share(self, attempt: Attempt) -> None:
        """Give a trial of this machine its share; it is the same when no processes can be started
        and the trials run one after another.
        """
        if not self._slots:
            return  # it runs remotely
        plan = self._plan
        cores = max(1, usable_cores() // plan.settings.n_jobs)
        device = None if plan.judged.devices is None else attempt.device
        share = plan.program.share(self._config, cores, device, plan.named)
        overrides, attempt.environment = share
        attempt.overrides = [*attempt.overrides, *overrides]

    def _ticket(self, trial: Trial) -> TrialTicket:
        plan = self._plan
        return TrialTicket(
            **{name: getattr(plan, name) for name in ("objectives", "group", "sweep_id")},
            **{name: getattr(plan.judged, name) for name in ("monitor", "seeds")},
            storage=plan.settings.storage,
            folder=str(plan.folder),
            study=plan.study_name,
            trial_id=storage_id(trial),
            number=trial.number,
            pruner=plan.settings.pruner,
            # The sweep gives up first; its trials then count as interrupted.
            storage_timeout=plan.judged.storage_timeout + _EXTRA_TIMEOUT,
        )

    def _launch_all(self, where: str, most: int) -> None:
        judged = self._plan.judged
        limits = (judged.memory_budget, judged.device_memory_budget, judged.trial_timeout)
        if limits != (None, None, None):
            log.warning("%s: the limits of %s are not kept there", where, judged.section)
        self._launches = Launches(self._make_launcher, self._stop, most)

    def _take_slot(self, attempt: Attempt) -> None:
        """Wait for a slot of the device with the fewest trials of this sweep, where there are
        slots, until the end.
        """
        began = time.monotonic()
        warned = False
        while self._slots and not self._stop.is_set():
            with self._lock:
                running = list(self._running.values())
                for device in sorted(self._slots, key=[one.device for one in running].count):
                    slot = None
                    if self._has_room(device, running):
                        slot = self._slots[device].take()
                    if slot is not None:
                        attempt.device = device
                        attempt.slot = slot
                        return
            self._stop.wait(0.1)
            if not warned and time.monotonic() - began > 5:
                warned = True
                log.warning(
                    "trial %d waits for a slot of %s; a larger %s.slots lets more run at a time",
                    attempt.ticket.number,
                    " or ".join(self._slots),
                    self._plan.judged.section,
                )


def free_bytes_on(device: str) -> int | None:
    """Memory that is free on `device`, in bytes; None where it is not known."""
    kind, _, number = device.partition(":")
    if kind not in ("cuda", "auto"):
        return None
    with contextlib.closing(Nvml(os.environ.get("CUDA_VISIBLE_DEVICES"))) as driver:
        return dict(enumerate(driver.free_bytes())).get(int(number or 0))
