"""One attempt at a trial: a child process that is watched, or a launch by one of Hydra's
launchers.
"""

import contextlib
import functools
import hashlib
import logging
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil
from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from hexlit.accelerate.machine import RESOURCES_FILE, ProcessTree, last_device_bytes
from hexlit.cluster.lifeline import Child, last_line
from hexlit.files import remove_temporary
from hexlit.tuning.config import SweepSettings
from hexlit.tuning.space import quoted
from hexlit.tuning.trial import VARIABLE, TrialTicket, reason_of

log = logging.getLogger(__name__)

GIB = 2**30
CONSOLE = "console.log"
"""File in an attempt's folder with the output of its process."""
SLURM = "submitit_slurm"
_LOOK_EVERY = 0.5
"""Seconds between two readings of a trial's memory."""
_SPOKEN = (1, 2)
"""Exit codes of errors that hexlit has explained itself."""
_LONGEST_TEMPORARY = 70
"""Characters of a path; a socket's path below a longer one could exceed 107 characters."""
_SOFT_END = 15.0
"""Seconds that a trial has to end by itself after a request."""
_ASKED_EVERY = 10
"""Seconds between two requests to Slurm's controller; each covers all jobs."""
_GOES_ON = {
    "CONFIGURING",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "RESIZING",
    "SIGNALING",
    "SPECIAL_EXIT",
    "STAGE_OUT",
}
_GOES_ON |= {"STOPPED", "SUSPENDED"}
"""States of jobs that have not ended, in addition to those that submitit knows."""
_NO_OUTPUT = re.compile(r"^Job (\w+).*\(state: (\w+)", re.DOTALL)


@dataclass
class Attempt:
    """One attempt at a trial: what it takes now, and how it ended; the study has what the trial
    itself reported.
    """

    ticket: TrialTicket
    overrides: list[str]
    """Overrides of the task: those of the command line, and the trial's parameters."""
    hydra_overrides: list[str] = field(default_factory=list)
    start: list[str] = field(default_factory=list)
    """The words that start the program, and its flags, such as --config-dir."""
    environment: dict[str, str] = field(default_factory=dict)
    """Variables of its environment."""
    folder: Path = Path()
    """The folder of the attempt, which exists already."""
    slot: IO[bytes] | None = None
    """The device slot that the trial's process takes over."""
    device: str = ""
    taken: dict[str, int] = field(default_factory=dict)
    """Memory that it takes now, in bytes, of the `host` and the `device`."""
    peaks: dict[str, int] = field(default_factory=dict)
    """The most that it has taken of them."""
    failure: str | None = None
    """Why it failed; None after a success."""
    interrupted: bool = False
    """Whether it ended with the sweep."""
    seconds: float = 0.0

    def interrupt(self) -> None:
        """Note that it ended with the sweep."""
        self.failure = "interrupted with the sweep"
        self.interrupted = True


class NoProcessError(Exception):
    """The system cannot start a process for a trial."""


class TrialProcess:
    """The process of an attempt: the program's command line in a new session, so that all its
    children end too.

    Its output goes to `console.log` in the attempt's folder. It ends when this process does.
    """

    def __init__(self, attempt: Attempt) -> None:
        """Start it; raises `NoProcessError` where the system cannot."""
        self._attempt = attempt
        self._began = time.monotonic()
        folder = attempt.folder
        slot = attempt.slot
        arguments = [*attempt.start, *attempt.overrides, *attempt.hydra_overrides]
        # The ticket has it, and no file of the trial may.
        arguments += ["hydra.sweeper.storage=null"]
        arguments += [f"hydra.run.dir={quoted(str(folder))}", "hydra.mode=RUN"]
        try:
            with (folder / CONSOLE).open("ab") as console:
                self._process = Child(
                    arguments,
                    env=_environment(attempt),
                    pass_fds=[] if slot is None else [slot.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=console,
                    stderr=subprocess.STDOUT,
                )
        except OSError as error:
            raise NoProcessError(error.strerror or str(error)) from error
        finally:
            if slot is not None:
                slot.close()  # the trial's process holds it from now on

    def wait(self, limits: SweepSettings, stop: threading.Event) -> None:
        """Wait for the end, which comes at the `limits`, and soon after `stop` is set; the attempt
        notes it.
        """
        attempt = self._attempt
        process = self._process
        try:
            attempt.failure = self._watch(limits, stop)
        finally:
            process.end()
            clean(attempt.folder)
        attempt.seconds = time.monotonic() - self._began
        if attempt.failure is not None and stop.is_set():
            attempt.interrupt()
        elif process.returncode in _SPOKEN:
            attempt.failure = ": ".join(
                filter(None, [attempt.failure, last_line(attempt.folder / CONSOLE)])
            )

    def _watch(self, limits: SweepSettings, stop: threading.Event) -> str | None:
        """Why the process failed, or None where its exit code is 0."""
        with contextlib.ExitStack() as open_tree:
            tree = None
            with contextlib.suppress(psutil.NoSuchProcess):
                tree = open_tree.enter_context(contextlib.closing(ProcessTree(self._process.pid)))
            while True:
                if self._process.ended_within(_LOOK_EVERY):
                    return self._process.how or None
                if stop.is_set():
                    # Lets loggers and checkpoints end properly.
                    self._process.send_signal(signal.SIGINT)
                    self._process.ended_within(_SOFT_END)
                    return "stopped"
                with contextlib.suppress(psutil.NoSuchProcess):
                    if tree is not None:
                        self._measure(tree, limits)
                reason = exceeded(limits, time.monotonic() - self._began, self._attempt.taken)
                if reason is not None:
                    return reason  # at once: full memory hurts the other trials

    def _measure(self, tree: ProcessTree, limits: SweepSettings) -> None:
        attempt = self._attempt
        sample = tree.sample()
        device = sample.device_bytes
        if device is None:
            if limits.device_memory_budget is not None:
                _warn_of_own_figure(
                    limits.section, sample.reasons.get("device_bytes", "not measured")
                )
            seeds = sorted(attempt.folder.glob(f"seed-*/{RESOURCES_FILE}"))
            device = last_device_bytes(seeds[-1] if seeds else attempt.folder / RESOURCES_FILE)
        figures = {"host": sample.host_bytes, "device": device}
        attempt.taken = {name: value for name, value in figures.items() if value is not None}
        attempt.peaks |= {
            name: max(value, attempt.peaks.get(name, 0)) for name, value in attempt.taken.items()
        }


def exceeded(limits: SweepSettings, seconds: float, taken: Mapping[str, int]) -> str | None:
    """The limit that `seconds`, or the bytes `taken`, exceed, as a reason; None: no limit is
    exceeded.
    """
    if limits.trial_timeout is not None and seconds > limits.trial_timeout:
        return f"over its time: {seconds:.0f} s of {limits.section}.trial_timeout={limits.trial_timeout:g}"
    for name, key in (("host", "memory_budget"), ("device", "device_memory_budget")):
        limit = getattr(limits, key)
        gib = taken.get(name, 0) / GIB
        if limit is not None and gib > limit:
            return f"over its memory budget: {gib:.2f} GiB of {limits.section}.{key}={limit:g}"
    return None


@functools.cache
def _warn_of_own_figure(section: str, why: str) -> None:
    log.warning(
        "%s.device_memory_budget: %s; torch's own figure counts, and on a cpu nothing is limited",
        section,
        why,
    )


class Launches:
    """Attempts by one of Hydra's launchers, one launch each.

    A launched job cannot be recalled. When the sweep ends, its trial counts as interrupted, and the
    launcher decides about the job.
    """

    def __init__(self, make: Callable[[], Any], stop: threading.Event, most: int) -> None:
        """`make()` gives a launcher that is set up; `most` launch in parallel, until `stop` is
        set.
        """
        self._make = make
        self._stop = stop
        self._free = threading.Semaphore(most)

    def run(self, attempt: Attempt) -> None:
        """Launch the attempt, and wait for its end, which it notes, or that of the sweep."""
        if attempt.slot is not None:
            attempt.slot.close()
        while not self._free.acquire(timeout=_LOOK_EVERY):
            if self._stop.is_set():
                return attempt.interrupt()
        began = time.monotonic()
        # In another thread: this one has to notice when the sweep ends.
        thread = threading.Thread(target=self._launch, args=[attempt], daemon=True)
        thread.start()
        while thread.is_alive() and not self._stop.is_set():
            thread.join(_LOOK_EVERY)
        if self._stop.is_set():
            attempt.interrupt()
        attempt.seconds = time.monotonic() - began
        self._free.release()
        return None

    def _launch(self, attempt: Attempt) -> None:
        from hydra.core.utils import JobStatus

        overrides = [
            *attempt.overrides,
            "hydra.sweeper.storage=null",
            f"hydra.sweep.dir={quoted(str(attempt.folder.parent))}",
            f"hydra.sweep.subdir={quoted(attempt.folder.name)}",
            f"+hydra.job.env_set.{VARIABLE}={quoted(attempt.ticket.encoded())}",
        ]
        try:
            [result] = self._make().launch([overrides], initial_job_idx=attempt.ticket.number)
            attempt.failure = (
                None if result.status == JobStatus.COMPLETED else reason_of(result._return_value)
            )
        except (Exception, SystemExit) as error:  # a job that exits or is killed ends its launcher
            ended = (
                _NO_OUTPUT.match(str(error))
                if type(error).__name__ == "UncompletedJobError"
                else None
            )
            attempt.failure = (
                f"job {ended[1]} of Slurm ended as {ended[2]}" if ended else reason_of(error)
            )
        finally:
            clean(attempt.folder)


class AskTheController(Callback):
    """Makes submitit ask Slurm's controller before Hydra launches jobs there. Hydra builds it from
    `conf/`.

    By default submitit asks `sacct` every ten minutes, and waits forever without accounting: a
    cancelled job leaves no result file, and submitit would check nothing else.
    """

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Called when a sweep is about to begin."""
        if config.hydra.runtime.choices.get("hydra/launcher") == SLURM:
            ask_the_controller()


def ask_the_controller() -> None:
    """Make submitit ask `squeue`."""
    from submitit.slurm.slurm import SlurmInfoWatcher, SlurmJob

    class QueueWatcher(SlurmInfoWatcher):
        """Reads `squeue`, which forgets a job some minutes after its end."""

        def _make_command(self) -> list[str] | None:
            self._asked = self._registered - self._finished
            # squeue rejects a number that it has forgotten, so all jobs of this user are listed.
            return (
                ["squeue", "--me", "-h", "-r", "-t", "all", "-o", "%i|%T|%N"]
                if self._asked
                else None
            )

        def read_info(self, string: bytes | str) -> dict[str, dict[str, str]]:
            text = string if isinstance(string, str) else string.decode()
            result = {job: {"JobID": job, "State": "ENDED", "NodeList": ""} for job in self._asked}
            for line in text.splitlines():
                job, state, nodes = (part.strip() for part in line.split("|"))
                result[job] = {
                    "JobID": job,
                    "State": "PENDING" if state in _GOES_ON else state,
                    "NodeList": nodes,
                }
            return result

    SlurmJob.watcher = QueueWatcher(delay_s=_ASKED_EVERY)


def clean(folder: Path) -> None:
    """Remove the unfinished files that a process in `folder` left when it ended."""
    remove_temporary(folder)
    shutil.rmtree(_temporary_folder(folder), ignore_errors=True)


def _temporary_folder(folder: Path) -> Path:
    """The temporary folder of the attempt in `folder` and its libraries: inside it, unless that
    path is too long.
    """
    own = folder / "tmp"
    name = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    return (
        own
        if len(str(own)) <= _LONGEST_TEMPORARY
        else Path(tempfile.gettempdir()) / f"hexlit-trial-{name}"
    )


def _environment(attempt: Attempt) -> dict[str, str]:
    """Environment of the process of an attempt."""
    temporary = _temporary_folder(attempt.folder)
    temporary.mkdir(mode=0o700, exist_ok=True)
    # All trials share compiled code.
    shared = {
        "TORCHINDUCTOR_CACHE_DIR": str(
            Path(tempfile.gettempdir()) / f"hexlit-inductor-{os.getuid()}"
        )
    }
    kept = {name: value for name, value in os.environ.items() if name != "HYDRA_FULL_ERROR"}
    given = {VARIABLE: attempt.ticket.encoded(), "TMPDIR": str(temporary)}
    return {**shared, **kept, **attempt.environment, **given}
