"""The other ranks of a run on this machine, if neither torchrun nor srun has started them.

Each runs the same command in a separate folder, `ranks/N` of the run's folder. It has its own
log, output and tables of phases and steps. A rank that dies ends this process, and all ranks end
with this process, whatever ends it.
"""

import atexit
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from subprocess import DEVNULL, STDOUT
from unittest.mock import patch

from omegaconf import DictConfig

from hexlit.accelerate.ranks import Ranks, ranks
from hexlit.cluster.lifeline import Child, last_line
from hexlit.commands.composing import Composed
from hexlit.errors import UsageError
from hexlit.tuning.space import quoted

STARTED = "HEXLIT_RANK"
"""Variable that marks a rank as started by hexlit, with complete arguments."""

RANKS, OUTPUT = "ranks", "output.log"
"""Folder of the ranks within that of the run, and the file of a rank's output."""

GRACE = 5.0
"""Seconds for this process to end in good order after a rank has died; its waits for that rank may
never end.
"""

_RUN_SETTINGS = (
    "hydra.mode=",
    "hydra.run.dir=",
    "hydra.sweep.",
    "hydra/sweeper",
    "hydra.sweeper.",
    "hydra/launcher",
)


def folder_arguments() -> list[str]:
    """An argument with a temporary folder, for a rank of torchrun or srun other than the first."""
    if ranks().writes:
        return []
    folder = tempfile.mkdtemp(prefix="hexlit-rank-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return [f"hydra.run.dir={quoted(folder)}"]


Others = list[tuple[Child, Path]]
"""The processes of the ranks 1 and up, each with the file of its output."""


@contextmanager
def other_ranks(devices: int | None, composed: Composed) -> Iterator[None]:
    """Within the block this process is the first of `devices` ranks of a command, unless it is one
    of several already.

    Raises:
        UsageError: a rank died; the line names it and the file of its output.
    """
    if ranks().several or (devices or 1) == 1:
        yield
        return
    over = threading.Event()
    with ExitStack() as group:
        first = Ranks(
            size=devices or 1, local_size=devices or 1, port=group.enter_context(reserved_port())
        )
        places = [replace(first, rank=rank, local_rank=rank) for rank in range(1, first.size)]
        others = [group.enter_context(_started(one, composed)) for one in places]
        group.callback(over.set)
        threading.Thread(target=_watch, args=(others, over), daemon=True).start()
        try:
            with patch.dict(os.environ, first.environment()):
                yield
            for process, _ in others:  # they have no work left
                process.ended_within(GRACE)
        except Exception as error:  # perhaps a broken connection to a rank that dies
            time.sleep(1.0)
            how = _lost(others)
            if how and not isinstance(error, UsageError):
                raise UsageError(how) from error
            raise


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port of this machine that no other program gets within the block.

    A socket that is bound and does not listen keeps it. torch can listen there, for it asks for
    SO_REUSEADDR too.
    """
    with socket.socket() as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((Ranks.address, 0))
        yield bound.getsockname()[1]


@contextmanager
def _started(place: Ranks, composed: Composed) -> Iterator[tuple[Child, Path]]:
    """The rank at `place` of a command, with the file of its output; it ends with all that it has
    started.
    """
    folder = composed.folder / RANKS / str(place.rank)
    folder.mkdir(parents=True, exist_ok=True)
    output = folder / OUTPUT
    place_argument = f"hydra.run.dir={quoted(str(folder))}"
    command = [sys.executable, "-m", "hexlit", "train", *_overrides(composed.hydra), place_argument]
    environment = os.environ | place.environment() | {STARTED: ""}
    with output.open("wb") as file:
        process = Child(command, env=environment, stdin=DEVNULL, stdout=file, stderr=STDOUT)
    try:
        yield process, output
    finally:
        process.end()


def _lost(others: Others) -> str:
    """The first rank that died, how, and the file of its output; empty if none did."""
    for rank, (process, output) in enumerate(others, start=1):
        how = process.how
        if how:
            message = f" ({last_line(output)})" if process.returncode > 0 else ""
            return f"rank {rank}: {how}{message}; its output is in {os.path.relpath(output)}"
    return ""


def _watch(others: Others, over: threading.Event) -> None:
    while not over.wait(0.2):
        how = _lost(others)
        # The main thread waits for it, inside a library.
        if how and not over.wait(GRACE):
            print(f"hexlit train: {how}", file=sys.stderr, flush=True)
            os._exit(2)


def _overrides(hydra: DictConfig) -> list[str]:
    """The overrides of a command, without those of its folder and its sweep."""
    folders = [
        source.path for source in hydra.runtime.config_sources if source.provider == "command-line"
    ]
    arguments = []
    for folder in folders:
        arguments += ["--config-dir", str(folder)]
    for override in [*hydra.overrides.task, *hydra.overrides.hydra]:
        if not override.startswith(_RUN_SETTINGS):
            arguments.append(override)
    return arguments
