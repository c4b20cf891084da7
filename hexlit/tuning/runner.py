"""One attempt at a trial, in a process of its own that is watched."""

import contextlib
import hashlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from hexlit.accelerate.machine import RESOURCES_FILE, ProcessEndedError, ProcessTree, ResourceSample, last_device_bytes
from hexlit.files import remove_temporary
from hexlit.lifeline import Lifeline
from hexlit.tuning.slots import Slot
from hexlit.tuning.space import quoted
from hexlit.tuning.ticket import VARIABLE, TrialTicket
from hexlit.tuning.under_way import UnderWay
from hexlit.tuning.watcher import SIGN_OF_LIFE

log = logging.getLogger(__name__)

GIB = 2**30
_LOOK_EVERY = 0.5
"""Seconds between two readings of a trial's memory."""
CONSOLE = "console.log"
"""File in an attempt's folder with the output of its process."""
_SPOKEN = (1, 2)
"""Exit codes of errors that hexlit has explained itself."""
TEMPORARY = "tmp"
"""Folder for temporary files inside that of an attempt."""
_LONGEST_TEMPORARY = 70
"""Characters of a path; a socket's path below a longer one could exceed 107 characters."""
_SOFT_END = 15.0
"""Seconds that a trial has to end by itself after a request."""


@dataclass(frozen=True)
class Job:
    """One attempt at a trial."""

    ticket: TrialTicket
    folder: Path
    """The attempt's own folder, which exists already."""
    overrides: list[str]
    """Overrides of the task: those of the command line, and the trial's parameters."""
    hydra_overrides: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    """Flags of the command line, such as --config-dir."""
    slot: Slot | None = None
    """The device slot that the trial's process takes over."""


@dataclass(frozen=True)
class Ending:
    """The end of an attempt, seen from outside; the study has what the trial itself has told."""

    failure: str | None = None
    """Why it failed; None after a success."""
    interrupted: bool = False
    """Whether it ended with the sweep."""
    seconds: float = 0.0
    host_peak_bytes: int | None = None
    device_peak_bytes: int | None = None


class NoProcessError(Exception):
    """The system cannot start a process for a trial."""


class Runner(Protocol):
    """Works on attempts until they end; called by several threads at once."""

    def run(self, job: Job, under_way: UnderWay) -> Ending:
        """Work on `job` until it has ended, and keep `under_way` up to date."""
        ...


@dataclass(frozen=True)
class Limits:
    """Most that a trial may take; None: no limit."""

    host_bytes: float | None = None
    device_bytes: float | None = None
    seconds: float | None = None

    def exceeded(self, seconds: float, sample: ResourceSample | None) -> str | None:
        """The limit that `seconds` or `sample` exceeds, as a reason; None: no limit is exceeded."""
        if self.seconds is not None and seconds > self.seconds:
            return f"over its time: {seconds:.0f} s of sweep.trial_timeout={self.seconds:g}"
        for name, limit, taken in (
            ("memory_budget", self.host_bytes, None if sample is None else sample.host_bytes),
            ("device_memory_budget", self.device_bytes, None if sample is None else sample.device_bytes),
        ):
            if limit is not None and taken is not None and taken > limit:
                return f"over its memory budget: {taken / GIB:.2f} GiB of sweep.{name}={limit / GIB:g}"
        return None


class ProcessRunner:
    """One process per trial: `hexlit COMMAND OVERRIDES`, in a session of its own, so that all its children end with it.

    The output of the process goes to `console.log` in the attempt's folder. Whatever happens to the process, only its
    trial fails. It ends when this process does.
    """

    def __init__(self, command: str, limits: Limits, stop: threading.Event) -> None:
        """Run `hexlit command` for each job; when `stop` is set, end what runs."""
        self._command = command
        self._limits = limits
        self._stop = stop
        self._warned = False

    def run(self, job: Job, under_way: UnderWay) -> Ending:
        """See `Runner`; raises NoProcessError where none can be started."""
        began = time.monotonic()
        lifeline, slot = Lifeline(), job.slot
        try:
            descriptors = [lifeline.fileno()] + ([] if slot is None else [slot.fileno()])
            ticket = replace(job.ticket, lifeline=lifeline.fileno())
            environment = _environment(job, ticket)
            with (job.folder / CONSOLE).open("ab") as console:
                try:
                    process = subprocess.Popen(
                        self._arguments(job),
                        stdin=subprocess.DEVNULL,
                        stdout=console,
                        stderr=subprocess.STDOUT,
                        env=environment,
                        start_new_session=True,
                        pass_fds=descriptors,
                    )
                except OSError as error:
                    raise NoProcessError(error.strerror or str(error)) from error
        except BaseException:
            lifeline.close()
            raise
        finally:
            if slot is not None:
                slot.release()  # the trial's process holds it from now on
        lifeline.started()
        try:
            watch = _Watch(process, self._limits, self._stop, under_way, partial(self._told_device_bytes, job.folder))
            failure = watch.until_ended()
        finally:
            _end_session(process)
            lifeline.close()
            clean(job.folder)
        if process.returncode in _SPOKEN:
            failure = f"{failure}{_last_words(job.folder / CONSOLE)}"
        return Ending(
            failure=failure,
            interrupted=watch.interrupted,
            seconds=time.monotonic() - began,
            host_peak_bytes=watch.host_peak,
            device_peak_bytes=watch.device_peak,
        )

    def _told_device_bytes(self, folder: Path, why: str) -> int | None:
        """Device memory that the trial in `folder` reports itself; `why` is the driver's reason for telling nothing."""
        if self._limits.device_bytes is not None and not self._warned:
            self._warned = True
            log.warning(
                "sweep.device_memory_budget: %s; torch's own figure counts instead, and on a cpu nothing is limited",
                why,
            )
        seeds = sorted(folder.glob(f"seed-*/{RESOURCES_FILE}"))
        return last_device_bytes(seeds[-1] if seeds else folder / RESOURCES_FILE)

    def _arguments(self, job: Job) -> list[str]:
        return [
            sys.executable,
            "-m",
            "hexlit",
            self._command,
            *job.flags,
            *job.overrides,
            *job.hydra_overrides,
            "hydra.sweeper.storage=null",  # the ticket has it, and no file of the trial may
            f"hydra.run.dir={quoted(str(job.folder))}",
            "hydra.mode=RUN",
        ]


class _Watch:
    """Waits for a process, and watches what it takes."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        limits: Limits,
        stop: threading.Event,
        under_way: UnderWay,
        told_device_bytes: Callable[[str], int | None],
    ) -> None:
        """`told_device_bytes(why)` is the trial's own figure, where the driver tells nothing."""
        self._process = process
        self._under_way = under_way
        self._limits = limits
        self._stop = stop
        self._told_device_bytes = told_device_bytes
        self.interrupted = False
        self.host_peak: int | None = None
        self.device_peak: int | None = None

    def until_ended(self) -> str | None:
        """Wait for the end: why the process failed, or None where its exit code is 0."""
        began = time.monotonic()
        told = began
        with contextlib.ExitStack() as open_tree:
            try:
                tree = ProcessTree(self._process.pid)
                open_tree.callback(tree.close)
            except ProcessEndedError:
                tree = None
            while True:
                try:
                    return _describe(self._process.wait(_LOOK_EVERY))
                except subprocess.TimeoutExpired:
                    pass
                now = time.monotonic()
                if self._stop.is_set():
                    self.interrupted = True
                    return self._end("interrupted with the sweep")
                reason = self._limits.exceeded(now - began, self._sample(tree))
                if reason is not None:
                    return reason  # at once: full memory hurts the other trials
                if now - told > SIGN_OF_LIFE:
                    told = now
                    self._under_way.alive()

    def _sample(self, tree: ProcessTree | None) -> ResourceSample | None:
        if tree is None:
            return None
        try:
            sample = tree.sample()
        except ProcessEndedError:
            return None
        if sample.device_bytes is None:
            why = sample.reasons.get("device_bytes", "not measured")
            sample = replace(sample, device_bytes=self._told_device_bytes(why))
        self.host_peak = larger(self.host_peak, sample.host_bytes)
        self.device_peak = larger(self.device_peak, sample.device_bytes)
        self._under_way.host_bytes = sample.host_bytes or 0
        self._under_way.device_bytes = sample.device_bytes or 0
        return sample

    def _end(self, reason: str) -> str:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)  # lets loggers and checkpoints end properly
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_SOFT_END)
        return reason


def clean(folder: Path) -> None:
    """Remove the unfinished files that a process in `folder` left when it ended."""
    remove_temporary(folder)
    shutil.rmtree(_temporary_folder(folder), ignore_errors=True)


def _temporary_folder(folder: Path) -> Path:
    """The temporary folder of the attempt in `folder` and its libraries: inside it, unless that path is too long."""
    own = folder / TEMPORARY
    if len(str(own)) <= _LONGEST_TEMPORARY:
        return own
    name = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"hexlit-trial-{name}"


def _environment(job: Job, ticket: TrialTicket) -> dict[str, str]:
    """Environment of the process of an attempt."""
    temporary = _temporary_folder(job.folder)
    temporary.mkdir(mode=0o700, exist_ok=True)
    own = {VARIABLE: ticket.encoded(), "TMPDIR": str(temporary)}
    # All trials share compiled code.
    shared = {"TORCHINDUCTOR_CACHE_DIR": str(Path(tempfile.gettempdir()) / f"hexlit-inductor-{os.getuid()}")}
    kept = {name: value for name, value in os.environ.items() if name != "HYDRA_FULL_ERROR"}
    return {**shared, **kept, **own}


def _last_words(console: Path) -> str:
    """The last line that a process has printed."""
    with contextlib.suppress(OSError):
        lines = console.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        if lines:
            return f": {lines[-1].strip()[:300]}"
    return ""


def _end_session(process: subprocess.Popen[bytes]) -> None:
    """End the process and all its children."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _describe(code: int) -> str | None:
    if code == 0:
        return None
    if code > 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def first_line(error: BaseException) -> str:
    """First line of the message of `error`."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else "no message"


def larger(one: int | None, other: int | None) -> int | None:
    """The larger of two numbers, where both are known."""
    return other if one is None else one if other is None else max(one, other)
