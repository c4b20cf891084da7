"""An attempt at a trial in a process of its own, which is watched."""

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

from hexlit.accelerate.process_tree import ProcessEndedError, ProcessTree, ResourceSample
from hexlit.accelerate.resources import RESOURCES_FILE, last_device_bytes
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
"""Seconds between two looks at the memory of a trial."""
CONSOLE = "console.log"
"""What the process of an attempt prints, in its folder."""
_SPOKEN = (1, 2)
"""Exit codes before which hexlit says why."""
TEMPORARY = "tmp"
"""Folder for temporary files inside that of an attempt."""
_LONGEST_TEMPORARY = 70
"""Characters of a path, below which the path of a socket there (107 at most) is still possible."""
_SOFT_END = 15.0
"""Seconds that a trial has to end by itself once it was asked to."""


@dataclass(frozen=True)
class Job:
    """One attempt at a trial."""

    ticket: TrialTicket
    folder: Path
    """The attempt's own folder, made already."""
    overrides: list[str]
    """Of the task: those of the command line, and the trial's parameters."""
    hydra_overrides: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    """Flags of the command line, such as --config-dir."""
    slot: Slot | None = None
    """The device slot that the trial's process takes over."""


@dataclass(frozen=True)
class Ending:
    """How an attempt ended, seen from outside; what the trial itself has told the study is there."""

    failure: str | None = None
    """Why it failed; None where it ended well."""
    interrupted: bool = False
    """Whether it was ended with the sweep."""
    seconds: float = 0.0
    host_peak_bytes: int | None = None
    device_peak_bytes: int | None = None


class NoProcessError(Exception):
    """The system gives no process to run a trial in."""


class Runner(Protocol):
    """Brings attempts to their end; called by several threads at once."""

    def run(self, job: Job, under_way: UnderWay) -> Ending:
        """Work on `job` until it has ended, and keep `under_way` true meanwhile."""
        ...


@dataclass(frozen=True)
class Limits:
    """What a trial may take; None is no limit."""

    host_bytes: float | None = None
    device_bytes: float | None = None
    seconds: float | None = None

    def exceeded(self, seconds: float, sample: ResourceSample | None) -> str | None:
        """Which limit is exceeded after `seconds` and with `sample`, as a reason; None: none."""
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
    """One process a trial: `hexlit COMMAND OVERRIDES`, in a session of its own, so that all it has begun ends with it.

    The output of the process goes to `console.log` in the attempt's folder. Whatever happens to the process, only its
    trial fails. It dies with this process.
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
        """What the trial in `folder` says that it holds of its device, as the driver does not tell `why`."""
        if self._limits.device_bytes is not None and not self._warned:
            self._warned = True
            log.warning(
                "sweep.device_memory_budget: %s; a trial is held to what torch says it takes, and on a cpu to nothing",
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
            "hydra.sweeper.storage=null",  # it is in the ticket, and in no file of the trial
            f"hydra.run.dir={quoted(str(job.folder))}",
            "hydra.mode=RUN",
        ]


class _Watch:
    """Waits for a process, looking at what it takes."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        limits: Limits,
        stop: threading.Event,
        under_way: UnderWay,
        told_device_bytes: Callable[[str], int | None],
    ) -> None:
        """`told_device_bytes(why)` is what the trial itself says, where the driver does not."""
        self._process = process
        self._under_way = under_way
        self._limits = limits
        self._stop = stop
        self._told_device_bytes = told_device_bytes
        self.interrupted = False
        self.host_peak: int | None = None
        self.device_peak: int | None = None

    def until_ended(self) -> str | None:
        """Why the process failed; None where its exit code is 0."""
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
                    return reason  # at once: memory that runs full hurts the other trials
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
            self._process.send_signal(signal.SIGINT)  # loggers and checkpoints end clean
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_SOFT_END)
        return reason


def clean(folder: Path) -> None:
    """Remove what a process that has ended in the middle of its work in `folder` was writing."""
    remove_temporary(folder)
    shutil.rmtree(_temporary_folder(folder), ignore_errors=True)


def _temporary_folder(folder: Path) -> Path:
    """The place for temporary files of the attempt in `folder`, and of libraries in it: inside it, if that will do."""
    own = folder / TEMPORARY
    if len(str(own)) <= _LONGEST_TEMPORARY:
        return own
    name = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"hexlit-trial-{name}"


def _environment(job: Job, ticket: TrialTicket) -> dict[str, str]:
    """Of the process of an attempt."""
    temporary = _temporary_folder(job.folder)
    temporary.mkdir(mode=0o700, exist_ok=True)
    own = {VARIABLE: ticket.encoded(), "TMPDIR": str(temporary)}
    # Compiled code is for all trials.
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
    """End the process, and whatever it has begun and left behind."""
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
    """Of what `error` says."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else "no message"


def larger(one: int | None, other: int | None) -> int | None:
    """The larger of two numbers, where both are known."""
    return other if one is None else one if other is None else max(one, other)
