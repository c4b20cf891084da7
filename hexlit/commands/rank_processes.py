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
from collections.abc import Iterator
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
    from unittest.mock import patch

    with socket.socket() as listening:
        listening.bind((Ranks.address, 0))
        first = Ranks(size=devices or 1, local_size=devices or 1, port=listening.getsockname()[1])
    group = _Group()
    try:
        for rank in range(1, first.size):
            group.start(replace(first, rank=rank, local_rank=rank), folder / RANKS / str(rank))
        with patch.dict(os.environ, first.environment()):
            yield
        for thread in group.threads:  # they have no work left
            thread.join(GRACE)
    except Exception as error:  # a broken connection to a rank that died
        if not isinstance(error, UsageError) and group.lost.wait(GRACE / 2):
            raise UsageError(group.how) from error
        raise
    finally:
        group.end()


class _Group:
    """Processes of the ranks 1 and up. A thread waits for the end of each.

    Attributes:
        threads: these.
        lost: set once a rank has died.
        how: the first rank that died, how, and the file of its output.
    """

    def __init__(self) -> None:
        self.lost, self._over, self.how = threading.Event(), threading.Event(), ""
        self.threads: list[threading.Thread] = []
        self._processes: list[tuple[subprocess.Popen[bytes], Lifeline]] = []

    def start(self, place: Ranks, folder: Path) -> None:
        """Start the rank at `place`, which works in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        lifeline, output = Lifeline(), folder / OUTPUT
        with output.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "hexlit", "train", *_overrides(), f"hydra.run.dir={quoted(str(folder))}"],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=os.environ | place.environment() | {LIFELINE: str(lifeline.fileno())},
                start_new_session=True,
                pass_fds=[lifeline.fileno()],
            )
        lifeline.started()
        self._processes.append((process, lifeline))
        self.threads.append(threading.Thread(target=self._watch, args=(place.rank, process, output), daemon=True))
        self.threads[-1].start()

    def end(self) -> None:
        """End all ranks, with all that they have started."""
        self._over.set()
        for process, lifeline in self._processes:
            lifeline.close()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _watch(self, rank: int, process: "subprocess.Popen[bytes]", output: Path) -> None:
        code = process.wait()
        if code == 0 or self._over.is_set() or self.lost.is_set():
            return
        lines = output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        how = f"by signal {-code}" if code < 0 else f"with exit code {code} ({''.join(lines[-1:]).strip()[:300]})"
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
