"""The kernels of a run by purpose, and compiling each set: `python -m hexlit.commands.kernels SET ...`.

This program runs in the processes that compile for others (see `hexlit.commands.compiling`). It imports no torch, so
it starts at once. For every compiled function it writes a line with the name of its set.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Kernels:
    """A set of kernels."""

    what: str
    """Their purpose, for people."""
    functions: int
    """Approximate number of functions compiled for it, for the estimate of the time left."""
    seconds: float
    """Approximate processor time, to distribute sets over processes: only ratios matter."""
    compile: Callable[[], None]
    """Compiles them, or loads compiled code."""
    shared: Mapping[str, int] = field(default_factory=dict)
    """Other sets, and how many of its functions each of them compiles too, so that none is compiled twice."""


def compile_selfplay() -> None:
    """Kernels of self-play, and of rebuilding its positions for training; the same on any board."""
    from hexlit.hex.record import GameRecord
    from hexlit.search.config import SearchConfig
    from hexlit.search.evaluator import UniformEvaluator
    from hexlit.selfplay.actor import GamesSettings, SelfPlay
    from hexlit.selfplay.config import SelfPlayConfig
    from hexlit.selfplay.window import ReplayWindow, WindowSettings

    games: list[GameRecord] = []
    settings = GamesSettings(SelfPlayConfig(full_share=1.0), SearchConfig(simulations=2), size=3, games=1, seed=0)
    SelfPlay(settings).play(UniformEvaluator(), positions=1, on_games=lambda ended, _: games.extend(ended))
    window = ReplayWindow(3, False, WindowSettings(1))
    window.extend(games)
    window.epoch(batch=1, steps=1, seed=0, epoch=0)[0]


def compile_search() -> None:
    """Kernels of searching positions to measure strength."""
    from hexlit.search.config import SearchConfig
    from hexlit.search.search import Search

    search = Search(SearchConfig(simulations=2), size=3, games=1)
    search.begin(np.ones(1, np.int8), np.zeros(1, np.int16), 0.0, np.zeros(1, np.uint64))
    search.advance()


def compile_roots() -> None:
    """Kernels of starting a search, and of reading its results."""
    from hexlit.hex.encoding import encode
    from hexlit.search.config import SearchConfig
    from hexlit.search.search import Search, noise_keys

    encode(np.zeros((1, 9), np.int8), np.ones(1, np.int8))
    search = Search(SearchConfig(simulations=2), size=3, games=1)
    search.place(np.zeros((1, 9), np.int8), np.ones(1, np.int8))
    noise_keys(0, np.zeros(1, np.int16))
    search.read(0)


def compile_solver() -> None:
    """The exact solver: virtual connections first; another process may compile `compile_solver_parts` meanwhile."""
    from hexlit.hex.solver import Solver
    from hexlit.hex.solver.bitboard import ZERO, full_board
    from hexlit.hex.solver.connection import connect, new_connections
    from hexlit.hex.solver.moves import edges

    board = edges(2)
    connect(ZERO, full_board(2), board.top, board.bottom, True, new_connections(2))
    Solver(2).wins(np.zeros(4, np.int8), 1)


def compile_solver_parts() -> None:
    """Other kernels of the exact solver."""
    from hexlit.hex.solver.bitboard import ZERO, full_board
    from hexlit.hex.solver.moves import edges, fill_in, inferior_moves, order
    from hexlit.hex.solver.proof import EVERYTHING, WON, Knowledge, copy, find, new_table, new_work, store

    work, board = new_work(2, 4, EVERYTHING), full_board(2)
    fill_in(ZERO, ZERO, edges(2))
    find(work.table, ZERO, ZERO, work.spare)
    store(work.table, ZERO, ZERO, work.spare, Knowledge(WON, 0, 0, ZERO, ZERO), 1)
    inferior_moves(ZERO, ZERO, board, work.edges)
    order(ZERO, ZERO, board, board, 2, work.order, work.layers, work.scores)
    copy(new_table(16), new_table(32))  # for longer searches


def compile_positions() -> None:
    """Kernels of the games that solved positions come from."""
    from hexlit.arena.positions import game_positions

    game_positions(3, 12, 0)


def compile_two_distance() -> None:
    """Alpha-beta over two-distance; the solver's player falls back on it."""
    from hexlit.arena.baselines import TwoDistancePlayer

    TwoDistancePlayer(depth=2).choose(np.zeros((1, 9), np.int8), np.ones(1, np.int8))


def compile_rollouts() -> None:
    """The player that searches by random games."""
    from hexlit.arena.baselines import RolloutPlayer

    RolloutPlayer(simulations=2).choose(np.zeros((1, 9), np.int8), np.ones(1, np.int8))


SETS = {
    "selfplay": Kernels("self-play", 52, 15.0, compile_selfplay),
    "search": Kernels("search", 29, 8.7, compile_search, shared={"selfplay": 27}),
    "roots": Kernels("the results of searches", 20, 3.0, compile_roots, shared={"selfplay": 9}),
    "solver": Kernels("the exact solver", 27, 9.1, compile_solver, shared={"solver_parts": 17}),
    "solver_parts": Kernels("the exact solver", 18, 2.3, compile_solver_parts),
    "positions": Kernels("games to measure on", 5, 1.3, compile_positions),
    "two_distance": Kernels("two-distance", 15, 5.0, compile_two_distance, shared={"selfplay": 2}),
    "rollouts": Kernels("rollouts", 8, 3.2, compile_rollouts, shared={"selfplay": 2}),
}


def main(names: list[str]) -> None:
    """Compile the sets `names`, one after the other; ends at once when standard input does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, which closes standard input
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from numba.core import event

    from hexlit.hex.jit import mark_compiled

    class Report(event.Listener):  # type: ignore[misc]  # Numba has no types
        """Writes the name of the set that is compiled."""

        name = ""

        def on_start(self, event: Any) -> None:
            """Ignored."""

        def on_end(self, event: Any) -> None:
            """A function is compiled."""
            print(self.name, flush=True)

    report = Report()
    event.register("numba:compile", report)
    for name in names:
        report.name = name
        SETS[name].compile()
        mark_compiled(name)


def _end_with_parent() -> None:
    while os.read(0, 1024):  # not sys.stdin, whose lock would be held when this process ends
        pass
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
