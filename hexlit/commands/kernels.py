"""The program that compiles sets of kernels: `python -m hexlit.commands.kernels SET ...`.

`hexlit.tasks.hex.warmup.Compiling` starts it. It imports no torch, so it starts at once.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hexlit.cluster.lifeline import end_with_parent
from hexlit.errors import UsageError
from hexlit.files import cache_folder
from hexlit.hex.jit import mark_compiled

if TYPE_CHECKING:
    from hexlit.arena.player_spec import PlayerSpec


def player_kernels(specs: "Iterable[PlayerSpec]") -> list[str]:
    """The sets of kernels that players call."""
    names: set[str] = set()
    for spec in specs:
        names.update(PLAYER_SETS.get(spec.kind, ()))
    return sorted(names)


def compile_selfplay(rule: str = "gumbel") -> None:
    """Kernels of self-play with a search rule, and of rebuilding its positions for training; the
    same on any board.
    """
    from hexlit.hex.record import GameRecord
    from hexlit.search.config import SearchConfig
    from hexlit.search.evaluator import UniformEvaluator
    from hexlit.selfplay.actor import GamesSettings, SelfPlay
    from hexlit.selfplay.config import SelfPlayConfig
    from hexlit.selfplay.window import ReplayWindow

    games: list[GameRecord] = []
    settings = GamesSettings(
        SelfPlayConfig(full_share=1.0), SearchConfig(rule, simulations=2), size=3, games=1, seed=0
    )
    SelfPlay(settings).play(
        UniformEvaluator(), positions=1, on_games=lambda ended, _: games.extend(ended)
    )
    window = ReplayWindow(3, False, 1)
    window.extend(games)
    window.epoch(batch=1, steps=1, seed=0, epoch=0)[0]


def compile_search(rule: str = "gumbel") -> None:
    """Kernels of searching positions with a rule, and of reading the results."""
    from hexlit.search.config import SearchConfig
    from hexlit.search.evaluator import UniformEvaluator
    from hexlit.search.search import TreeSearch

    search = TreeSearch(SearchConfig(rule, simulations=2), size=3, games=1)
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
    """Solve the positions of `EvaluationConfig`, which need further kernels, and keep them."""
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


SETS: dict[str, Callable[..., None]] = {
    "selfplay": compile_selfplay,
    "search": compile_search,
    "solver": compile_solver,
    "positions": compile_positions,
    "two_distance": compile_two_distance,
    "rollouts": compile_rollouts,
}
"""Name of a set of kernels (see `hexlit.tasks.hex.warmup.PURPOSES`) -> what compiles it."""

PLAYER_SETS = {
    "checkpoint": ("search",),
    "rollouts": ("search", "rollouts"),
    "two_distance": ("two_distance",),
    "solver": ("solver", "two_distance"),  # its player falls back on two-distance
}
"""Kind of a player -> its sets of kernels; others call none."""


def main(names: Sequence[str]) -> None:
    """Compile the sets `names`, one after the other."""
    end_with_parent()
    for text in names:
        name, *words = text.split()
        SETS[name](*(int(word) if word.isdecimal() else word for word in words))
        mark_compiled(text)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UsageError:  # whoever needs the kernels meets it, and prints it
        sys.exit(2)
