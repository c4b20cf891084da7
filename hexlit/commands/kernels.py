"""The kernels of a command by purpose, compiled by another process while this one does other
things.

Numba compiles one function at a time in a process. Another process, `python -m
hexlit.commands.kernels SET ...`, writes its machine code to the folder on disk; this process, and
those that it starts, load it from there. It imports no torch, so it starts at once. Two processes
may compile the same function at once: every file there is written whole. A killed or failed process
does no harm either: the process that needs its missing kernels compiles them.
"""

import contextlib
import logging
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hexlit.cluster.lifeline import Child, end_with_parent
from hexlit.files import cache_folder
from hexlit.hex.jit import is_compiled, mark_compiled
from hexlit.reporting.quantities import format_duration

if TYPE_CHECKING:
    from hexlit.accelerate.profile import DeviceProfile
    from hexlit.arena.player_spec import PlayerSpec
    from hexlit.selfplay.placement import Players
    from hexlit.tasks.hex.config import HexTrainConfig

log = logging.getLogger(__name__)

BESIDE = 19
"""Niceness of a process that compiles during self-play."""


class Compiling:
    """Compiles sets of kernels that are not on disk yet, in a process of its own.

    Attributes:
        names: the missing sets.
        what: their purposes, for people.
    """

    def __init__(self, names: Iterable[str], *, niceness: int = 0) -> None:
        """Start to compile the sets `names` of `SETS`,
        one after the other; numbers for one may follow its name.
        """
        self.names = [name for name in names if not is_compiled(name)]
        self.what = " and ".join(SETS[name.split()[0]][0] for name in self.names)
        self._started = time.monotonic()
        self._ended = math.inf if self.names else self._started
        if self.names:
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
        """A line such as `compiling self-play, once on this machine: 12 s`;
        empty once all is done.
        """
        return (
            f"compiling {self.what}, once on this machine: {format_duration(self.seconds)}"
            if self.running
            else ""
        )

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
                    "compiling in a process of its own failed (exit code %d): it is done where needed",
                    code,
                )


class Beginning(Compiling):
    """What a run begins before slow imports: the kernels it needs first, and then its players.

    Attributes:
        players: of self-play, once they have started.
    """

    def __init__(self, settings: "HexTrainConfig") -> None:
        """Start to compile, before the import of torch."""
        self._settings = settings
        self.players: Players | None = None
        super().__init__(["selfplay"] if settings.data.source == "selfplay" else [])

    def start(self, profile: "DeviceProfile") -> None:
        """Start the players, before the import of Lightning."""
        if self._settings.data.source == "selfplay":
            self.players = self._settings.make_players(profile)

    def close(self) -> None:
        super().close()
        if self.players is not None:
            self.players.player.close()


def of_players(specs: "Iterable[PlayerSpec]") -> list[str]:
    """The sets of kernels that players call."""
    return sorted({name for spec in specs for name in SETS_OF.get(spec.kind, ())})


def compile_selfplay() -> None:
    """Kernels of self-play, and of rebuilding its positions for training; the same on any board."""
    from hexlit.hex.record import GameRecord
    from hexlit.search.config import SearchConfig
    from hexlit.search.evaluator import UniformEvaluator
    from hexlit.selfplay.actor import GamesSettings, SelfPlay
    from hexlit.selfplay.config import SelfPlayConfig
    from hexlit.selfplay.window import ReplayWindow

    games: list[GameRecord] = []
    settings = GamesSettings(
        SelfPlayConfig(full_share=1.0), SearchConfig(simulations=2), size=3, games=1, seed=0
    )
    SelfPlay(settings).play(
        UniformEvaluator(), positions=1, on_games=lambda ended, _: games.extend(ended)
    )
    window = ReplayWindow(3, False, 1)
    window.extend(games)
    window.epoch(batch=1, steps=1, seed=0, epoch=0)[0]


def compile_search() -> None:
    """Kernels of searching positions, and of reading the results."""
    from hexlit.search.config import SearchConfig
    from hexlit.search.evaluator import UniformEvaluator
    from hexlit.search.search import TreeSearch

    search = TreeSearch(SearchConfig(simulations=2), size=3, games=1)
    search.run(np.zeros((1, 9), np.int8), np.ones(1, np.int8), UniformEvaluator())


def compile_solver() -> None:
    """The exact solver."""
    from hexlit.hex.solver import ExactSolver
    from hexlit.hex.solver.table import copy, new_table

    ExactSolver(2).wins(np.zeros(4, np.int8), 1)
    copy(new_table(16), new_table(32))  # for longer searches


def compile_positions(
    size: int = 3, positions: int = 1, quick: int = 1, games: int = 12, seed: int = 0
) -> None:
    """Solve the positions of `EvaluationConfig`, which need kernels of their own, and keep them."""
    from hexlit.arena.positions import game_positions, random_positions

    cache = cache_folder() / "truth"
    random_positions(size, quick, seed + 1, cache)
    game_positions(size, games, seed, cache)
    random_positions(size, positions, seed, cache)


def compile_two_distance() -> None:
    """The search of the player `two_distance`."""
    from hexlit.arena.baselines import TwoDistancePlayer

    TwoDistancePlayer(depth=2).choose(np.zeros((1, 9), np.int8), np.ones(1, np.int8))


def compile_rollouts() -> None:
    """The random playouts at the leaves of the player `rollouts`."""
    from hexlit.hex.encoding import blank_planes
    from hexlit.search.evaluator import RolloutEvaluator

    policy, value = np.zeros((1, 9), np.float32), np.zeros(1, np.float32)
    RolloutEvaluator(1).evaluate(blank_planes(1, 3), policy, value)


SETS: dict[str, tuple[str, Callable[..., None]]] = {
    "selfplay": ("self-play", compile_selfplay),
    "search": ("search", compile_search),
    "solver": ("the exact solver", compile_solver),
    "positions": ("positions to measure on", compile_positions),
    "two_distance": ("two-distance", compile_two_distance),
    "rollouts": ("rollouts", compile_rollouts),
}
"""Name of a set of kernels -> its purpose, for people, and what compiles it."""

SETS_OF = {
    "checkpoint": ("search",),
    "rollouts": ("search", "rollouts"),
    "two_distance": ("two_distance",),
    "solver": ("solver", "two_distance"),  # its player falls back on two-distance
}
"""Kind of a player -> its sets of kernels; others call none."""


def main(names: Sequence[str]) -> None:
    """Compile the sets `names`, one after the other."""
    end_with_parent()
    for name in names:
        own, *numbers = name.split()
        SETS[own][1](*map(int, numbers))
        mark_compiled(name)


if __name__ == "__main__":
    main(sys.argv[1:])
