"""The other ranks of a run on this machine, if neither torchrun nor srun has started them.

Each runs the same command in a folder of its own, `ranks/N` of the run's folder. It has its own log, output and
tables of phases and steps. A rank that dies ends this process, and all ranks end with this process, whatever ends it.
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
from dataclasses import replace
from pathlib import Path

from hexlit.accelerate.ranks import Ranks, ranks
from hexlit.errors import UsageError
from hexlit.lifeline import Lifeline, die_with_parent
from hexlit.tuning.space import quoted

LIFELINE = "HEXLIT_RANK_LIFELINE"
"""Variable with the number of a pipe; its end tells a rank that the first one has ended."""

RANKS, OUTPUT = "ranks", "output.log"
"""Folder of the ranks within that of the run, and the file of a rank's output."""

GRACE = 5.0
"""Seconds for this process to end in good order after a rank has died; its waits for that rank may never end."""

_OF_THE_RUN = ("hydra.mode=", "hydra.run.dir=", "hydra.sweep.", "hydra/sweeper", "hydra.sweeper.", "hydra/launcher")


def rank_arguments(argv: list[str]) -> list[str] | None:
    """The complete arguments of a rank that hexlit has started; None for every other process.

    From now on the rank ends with the first one.
    """
    number = os.environ.pop(LIFELINE, None)
    if number is None:
        return None
    if not number.isdecimal():
        raise UsageError(f"{LIFELINE}={number}: hexlit sets it for processes that it starts")
    die_with_parent(int(number))
    return argv


def folder_arguments() -> list[str]:
    """An argument with a temporary folder, for a rank of torchrun or srun other than the first."""
    if ranks().writes:
        return []
    folder = tempfile.mkdtemp(prefix="hexlit-rank-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return [f"hydra.run.dir={quoted(folder)}"]


@contextmanager
def other_ranks(devices: int | None, folder: Path) -> Iterator[None]:
    """Within the block this process is the first of `devices` ranks, unless it is one of several already.

    Raises:
        UsageError: a rank died; the line names it and the file of its output.
    """
    if ranks().several or (devices or 1) == 1:
        yield
        return
    first = Ranks(size=devices or 1, local_size=devices or 1, port=_free_port())
    before = {name: os.environ.get(name) for name in first.environment()}
    group = _Group()
    try:
        for rank in range(1, first.size):
            group.start(replace(first, rank=rank, local_rank=rank), folder / RANKS / str(rank))
        os.environ.update(first.environment())
        yield
        group.wait()
    except UsageError:
        raise
    except Exception as error:  # a broken connection to a rank that died
        if group.lost.wait(GRACE / 2):
            raise UsageError(group.how) from error
        raise
    finally:
        group.end()
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


class _Group:
    """Processes of the ranks 1 and up. A thread waits for the end of each.

    Attributes:
        lost: set once a rank has died.
        how: the first rank that died, how, and the file of its output.
    """

    def __init__(self) -> None:
        self.lost, self._over = threading.Event(), threading.Event()
        self.how = ""
        self._lifelines: list[Lifeline] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads: list[threading.Thread] = []

    def start(self, place: Ranks, folder: Path) -> None:
        """Start the rank at `place`, which works in `folder`."""
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
        for thread in self._threads:
            thread.join(GRACE)

    def end(self) -> None:
        """End all ranks, with all that they have started."""
        self._over.set()
        for lifeline, process in zip(self._lifelines, self._processes, strict=False):
            lifeline.close()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _watch(self, rank: int, process: "subprocess.Popen[bytes]", output: Path) -> None:
        code = process.wait()
        if code == 0 or self._over.is_set() or self.lost.is_set():
            return
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}{_last_words(output)}"
        self.how = f"rank {rank} ended {how}; its output is in {os.path.relpath(output)}"
        self.lost.set()
        if not self._over.wait(GRACE):  # the main thread waits for the lost rank, inside a library
            print(f"hexlit train: {self.how}", file=sys.stderr, flush=True)
            os._exit(2)


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


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind((Ranks.address, 0))
        port: int = listening.getsockname()[1]
        return port


def refuse_in_a_sweep(devices: int | None, environment: Mapping[str, str] | None = None) -> None:
    """Refuse several devices for one trial: the slots of a sweep give it one."""
    if (devices or 1) > 1 or ranks(environment).several:
        raise UsageError(f"accelerator.devices={devices}: a trial of a sweep trains on one device; leave it out")
