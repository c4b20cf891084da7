"""The other ranks of a run on this machine, if neither torchrun nor srun has started them.

Each runs the same command in a folder of its own, `ranks/N` of the run's folder. It has its own log, output and
tables of phases and steps. A rank that dies ends the whole run, see `hexlit.commands.rank_loss`. All ranks end with
this process, whatever ends it.
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
from typing import TYPE_CHECKING

from hexlit.accelerate.ranks import Ranks, ranks
from hexlit.commands.rank_loss import LAST, RankLoss
from hexlit.errors import UsageError
from hexlit.lifeline import Lifeline, die_with_parent
from hexlit.tuning.space import quoted

if TYPE_CHECKING:
    from hexlit.accelerate.rank_line import Lost

LIFELINE = "HEXLIT_RANK_LIFELINE"
"""Variable with the number of a pipe; its end tells a rank that the first one has ended."""

RANKS, OUTPUT = "ranks", "output.log"
"""Folder of the ranks within that of the run, and the file of a rank's output."""

_tied = False  # whether hexlit has started this process as a rank, which ends with the first one

_OF_THE_RUN = ("hydra.mode=", "hydra.run.dir=", "hydra.sweep.", "hydra/sweeper", "hydra.sweeper.", "hydra/launcher")


def rank_arguments(argv: list[str]) -> list[str] | None:
    """The complete arguments of a rank that hexlit has started; None for every other process.

    From now on the rank ends with the first one.
    """
    global _tied
    number = os.environ.pop(LIFELINE, None)
    if number is None:
        return None
    if not number.isdecimal():
        raise UsageError(f"{LIFELINE}={number}: hexlit sets it for processes that it starts")
    die_with_parent(int(number))
    _tied = True
    return argv


def folder_arguments() -> list[str]:
    """An argument with a temporary folder, for a rank of torchrun or srun other than the first."""
    if ranks().writes:
        return []
    folder = tempfile.mkdtemp(prefix="hexlit-rank-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return [f"hydra.run.dir={quoted(folder)}"]


@contextmanager
def other_ranks(devices: int | None, folder: Path) -> Iterator["Lost | None"]:
    """Within the block this process is the first of `devices` ranks, unless it is one of several already.

    Yields the receiver of lost ranks if the ranks themselves report them; None if hexlit has started them.

    Raises:
        UsageError: a rank died; the line names it and the file of its output.
    """
    if ranks().several:
        loss = RankLoss()
        with loss.ends_the_block():
            yield None if _tied else loss.lose
        return
    if (devices or 1) == 1:
        yield None
        return
    place = Ranks(size=devices or 1, local_size=devices or 1, port=_free_port())
    before = {name: os.environ.get(name) for name in place.environment()}
    loss = RankLoss()
    started = _Started(place, folder, loss)
    try:
        os.environ.update(place.environment())
        with loss.ends_the_block():
            yield None
            started.wait()
    except UsageError:
        if loss.how is not None:
            atexit.register(leave_at_once)
        raise
    finally:
        started.end()
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


class _Started:
    """Processes of the ranks 1 and up. A thread waits for the end of each."""

    def __init__(self, place: Ranks, folder: Path, loss: RankLoss) -> None:
        self._loss = loss
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

    def wait(self) -> None:
        """Wait for the end of all ranks, which have no work left."""
        self._loss.over()
        for thread in self._threads:
            thread.join(LAST)

    def end(self) -> None:
        """End all ranks, with all that they have started."""
        self._loss.over()
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
        if code == 0 or self._loss.is_known:
            return
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}{_last_words(output)}"
        self._loss.lose(f"rank {rank} ended {how}; its output is in {os.path.relpath(output)}")


def _overrides() -> list[str]:
    """The overrides of this command, without those of its own folder and sweep."""
    from hydra.core.hydra_config import HydraConfig

    result = HydraConfig.get()
    folders = [source.path for source in result.runtime.config_sources if source.provider == "command-line"]
    flags = [part for folder in folders for part in ("--config-dir", str(folder))]
    return [*flags, *(o for o in [*result.overrides.task, *result.overrides.hydra] if not o.startswith(_OF_THE_RUN))]


def _last_words(output: Path) -> str:
    lines = output.read_text(encoding="utf-8", errors="replace").strip().splitlines() if output.exists() else []
    return f" ({lines[-1].strip()[:300]})" if lines else ""


def leave_at_once() -> None:
    """Leave at the interpreter's end without the clean-up of other libraries, which takes seconds without the rank.

    `hexlit.commands.in_process` undoes it: a program that called the run has an end of its own.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(2)


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind((Ranks.address, 0))
        port: int = listening.getsockname()[1]
        return port


def refuse_in_a_sweep(devices: int | None, environment: Mapping[str, str] | None = None) -> None:
    """Refuse several devices for one trial: the slots of a sweep give it one."""
    if (devices or 1) > 1 or ranks(environment).several:
        raise UsageError(f"accelerator.devices={devices}: a trial of a sweep trains on one device; leave it out")
