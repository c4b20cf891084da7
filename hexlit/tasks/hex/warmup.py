"""Work that a run of Hex starts before it imports torch and Lightning.

Kernels are compiled by a child process, and the processes of self-play start.
"""

import contextlib
import logging
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from hexlit.cluster.lifeline import Child
from hexlit.hex.jit import is_compiled
from hexlit.reporting.quantities import format_duration
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.warmup import Warmup

if TYPE_CHECKING:
    from hexlit.accelerate.profile import DeviceProfile
    from hexlit.selfplay.placement import Players

log = logging.getLogger(__name__)

PURPOSES = {
    "selfplay": "self-play",
    "search": "search",
    "solver": "the exact solver",
    "positions": "positions to measure on",
    "two_distance": "two-distance",
    "rollouts": "rollouts",
}
"""Name of a set of kernels -> its purpose, for people; `hexlit.commands.kernels` compiles them."""

BACKGROUND_NICENESS = 19
"""Niceness of a process that compiles during self-play."""


class Compiling:
    """Compiles sets of kernels that are not on disk yet, in a child process.

    Numba compiles one function at a time in a process. The child, `python -m
    hexlit.commands.kernels SET ...`, writes machine code to the folder on disk; this process, and
    those that it starts, load it from there. Two processes may compile the same function at once:
    every file there is written whole. After a killed or failed child, the process that needs the
    missing kernels compiles them.

    Attributes:
        names: the missing sets.
        what: their purposes, for people.
    """

    def __init__(self, names: Iterable[str], *, niceness: int = 0) -> None:
        """Start to compile the sets `names` of `PURPOSES`, one after the other.

        Numbers for a set, or the search rule that it is for, may follow its name.
        """
        self.names = [name for name in names if not is_compiled(name)]
        self.what = " and ".join(PURPOSES[name.split()[0]] for name in self.names)
        self._started = time.monotonic()
        self._ended = self._started
        if not self.names:
            return
        self._ended = math.inf
        command = [sys.executable, "-m", "hexlit.commands.kernels", *self.names]
        self._process = Child(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        with contextlib.suppress(OSError):  # it has ended already
            os.setpriority(os.PRIO_PROCESS, self._process.pid, niceness)
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    @property
    def running(self) -> bool:
        """Whether it still compiles."""
        return self._ended == math.inf

    @property
    def seconds(self) -> float:
        """Wall time so far, or until its end; 0 if nothing had to be compiled."""
        return min(self._ended, time.monotonic()) - self._started

    def status(self) -> str:
        """A line such as `compiling self-play, once on this machine: 12 s`; empty at the end."""
        if not self.running:
            return ""
        return f"compiling {self.what}, once on this machine: {format_duration(self.seconds)}"

    def wait(self, advance: Callable[[str], None] = lambda what: None) -> None:
        """Wait for the end; `advance` gets the purpose of the kernels four times a second."""
        while self.running:
            advance(self.what)
            self._watcher.join(0.25)

    def close(self) -> None:
        """End it at any stage."""
        if self.running:
            self._ended = time.monotonic()
            self._process.end()

    def _watch(self) -> None:
        code = self._process.wait()
        if self.running:
            self._ended = time.monotonic()
            if code:
                log.warning(
                    "compiling in a child process failed (exit code %d): it is done where needed",
                    code,
                )


class HexWarmup(Warmup):
    """The kernels of a run, and the players of self-play.

    Attributes:
        first: compiles the kernels of self-play, which the run needs first.
        later: compiles those of evaluation, next to the first epoch.
        players: of self-play, once they have started.
    """

    def __init__(self, config: HexTrainConfig) -> None:
        """Start to compile the kernels of self-play."""
        self._config = config
        self._plays = config.data.source == "selfplay"
        self.first = Compiling([f"selfplay {config.search.algorithm}"] if self._plays else [])
        self.later = Compiling([])
        self.players: Players | None = None

    def faster_profile(self, profile: "DeviceProfile") -> tuple["DeviceProfile", str]:
        """That of the faster device for a small network."""
        from hexlit.tasks.hex.device_choice import faster_profile

        return faster_profile(self._config, profile)

    def start(self, profile: "DeviceProfile") -> None:
        """Start the players."""
        if self._plays:
            self.players = start_players(self._config, profile)

    def compile_later(self, names: Iterable[str]) -> None:
        """Start to compile the sets `names` at a low priority."""
        self.later = Compiling(names, niceness=BACKGROUND_NICENESS)

    def status(self) -> str:
        return self.first.status()

    def close(self) -> None:
        """End what still compiles, and the players."""
        self.first.close()
        self.later.close()
        if self.players is not None:
            self.players.player.close()


def start_players(config: HexTrainConfig, profile: "DeviceProfile") -> "Players":
    """Start the players of this rank; imports what they need."""
    from hexlit.selfplay.actor import GamesSettings
    from hexlit.selfplay.placement import make_players

    games = GamesSettings(
        config.selfplay,
        config.search,
        config.board,
        config.selfplay.games,
        config.seed,
        config.swap,
    )
    return make_players(games, config.net, profile, config.hardware, config.ray)
