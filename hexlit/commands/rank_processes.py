"""The other ranks of a run on this machine, where neither torchrun nor srun has started them.

Each runs the same command in a folder of its own, `ranks/N` of the run's folder, which has its log, its output and its
own tables of phases and steps. A rank that dies ends the whole run: in good order where that takes no longer than
`GRACE` and `LAST` seconds, else at once. They die with this process, however it ends.
"""

import atexit
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from hexlit.accelerate.ranks import Ranks, ranks
from hexlit.errors import UsageError
from hexlit.lifeline import Lifeline, die_with_parent
from hexlit.tuning.space import quoted

LIFELINE = "HEXLIT_RANK_LIFELINE"
"""Variable with the number of a pipe, whose end tells a rank that the first one has ended."""

RANKS, OUTPUT = "ranks", "output.log"
"""Folder of the ranks within that of the run, and the file there to which a rank prints."""

GRACE, LAST = 1.0, 5.0
"""Seconds for this process to notice itself that a rank is gone, and then to end in good order."""

_OF_THE_RUN = ("hydra.mode=", "hydra.run.dir=", "hydra.sweep.", "hydra/sweeper", "hydra.sweeper.", "hydra/launcher")


def rank_arguments(argv: list[str]) -> list[str] | None:
    """The arguments of a rank that hexlit has started, which are complete; None for every other process.

    The rank dies with the first one from now on.
    """
    number = os.environ.pop(LIFELINE, None)
    if number is None:
        return None
    if not number.isdecimal():
        raise UsageError(f"{LIFELINE}={number}: hexlit sets it for processes that it starts")
    die_with_parent(int(number))
    return argv


def folder_arguments() -> list[str]:
    """An argument with a folder that is removed in the end, for a rank of torchrun or srun other than the first."""
    if ranks().writes:
        return []
    folder = tempfile.mkdtemp(prefix="hexlit-rank-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return [f"hydra.run.dir={quoted(folder)}"]


@contextmanager
def other_ranks(devices: int | None, folder: Path) -> Iterator[None]:
    """Within the block this process is the first of as many ranks as `devices`, unless it is one of several already.

    Raises:
        UsageError: one of them died; the line says which, and where its output is.
    """
    if (devices or 1) == 1 or ranks().several:
        yield
        return
    place = Ranks(size=devices or 1, local_size=devices or 1, port=_free_port())
    before = {name: os.environ.get(name) for name in place.environment()}
    started = _Started(place, folder)
    try:
        os.environ.update(place.environment())
        with started.heard_of():
            try:
                yield
                started.wait()
            except Exception as error:
                started.explain(error)
                raise
            finally:
                started.end()
    finally:
        started.end()
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


class _Started:
    """Processes of the ranks 1 and up. A thread waits for the end of each."""

    def __init__(self, place: Ranks, folder: Path) -> None:
        self.loss: str | None = None
        """How the run has lost a rank."""
        self._lost, self._over = threading.Event(), threading.Event()
        self._hears = False
        self._lifelines: list[Lifeline] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads: list[threading.Thread] = []
        try:
            for rank in range(1, place.size):
                own = Ranks(rank, place.size, rank, place.local_size, place.address, place.port)
                self._start(own, folder / RANKS / str(rank))
        except BaseException:
            self.end()
            raise

    def _start(self, place: Ranks, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        lifeline = Lifeline()
        self._lifelines.append(lifeline)
        with (folder / OUTPUT).open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "hexlit", "train", *_overrides(), f"hydra.run.dir={quoted(str(folder))}"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | place.environment() | {LIFELINE: str(lifeline.fileno())},
                start_new_session=True,
                pass_fds=[lifeline.fileno()],
            )
        lifeline.started()
        self._processes.append(process)
        thread = threading.Thread(target=self._watch, args=(place.rank, process, folder / OUTPUT), daemon=True)
        thread.start()
        self._threads.append(thread)

    @contextmanager
    def heard_of(self) -> Iterator[None]:
        """Within the block the main thread hears of a loss by a signal, which ends what it waits for."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def lost(number: int, frame: FrameType | None) -> None:
            if not self._over.is_set():
                raise UsageError(str(self.loss))

        before = signal.signal(signal.SIGUSR1, lost)
        self._hears = True
        try:
            yield
        finally:
            signal.signal(signal.SIGUSR1, before)

    def wait(self) -> None:
        """Wait for the end of all, who have nothing left to do."""
        self._over.set()
        for thread in self._threads:
            thread.join(LAST)

    def explain(self, error: Exception) -> None:
        """Raise the loss of a rank, where `error` comes of that: a connection that broke."""
        if not isinstance(error, UsageError) and self._lost.wait(GRACE):
            raise UsageError(str(self.loss)) from error

    def end(self) -> None:
        """End all, with whatever they have begun."""
        self._over.set()
        for lifeline in self._lifelines:
            lifeline.close()
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def _watch(self, rank: int, process: subprocess.Popen[bytes], output: Path) -> None:
        code = process.wait()
        if code == 0 or self._lost.is_set() or self._over.is_set():
            return
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}{_last_words(output)}"
        self.loss = f"rank {rank} ended {how}; its output is in {os.path.relpath(output)}"
        self._lost.set()
        if self._over.wait(GRACE):
            return
        if self._hears:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        if self._over.wait(LAST):
            return
        print(f"hexlit train: {self.loss}", file=sys.stderr, flush=True)
        os._exit(2)  # the main thread waits inside a device's library, which hears nothing; pipes end the others


def _overrides() -> list[str]:
    """The overrides of this command, without those of its own folder and sweep."""
    from hydra.core.hydra_config import HydraConfig

    found = HydraConfig.get()
    folders = [source.path for source in found.runtime.config_sources if source.provider == "command-line"]
    flags = [part for folder in folders for part in ("--config-dir", str(folder))]
    return [*flags, *(o for o in [*found.overrides.task, *found.overrides.hydra] if not o.startswith(_OF_THE_RUN))]


def _last_words(output: Path) -> str:
    lines = output.read_text(encoding="utf-8", errors="replace").strip().splitlines() if output.exists() else []
    return f" ({lines[-1].strip()[:300]})" if lines else ""


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind((Ranks.address, 0))
        port: int = listening.getsockname()[1]
        return port


def refuse_in_a_sweep(devices: int | None, environment: Mapping[str, str] | None = None) -> None:
    """Refuse several devices for one trial: the slots of a sweep give it one."""
    if (devices or 1) > 1 or ranks(environment).several:
        raise UsageError(f"accelerator.devices={devices}: a trial of a sweep trains on one device; leave it out")
