"""The kernels that most tests need, compiled once and side by side before the first test where the cache has none.

Workers that begin with an empty cache would each compile the same ones, and wait for nothing but their own.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_SELF_PLAY = """
import sys
import numba
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import UniformEvaluator
from hexlit.selfplay.actor import SelfPlay
from hexlit.selfplay.config import SelfPlayConfig

numba.set_num_threads(min(int(sys.argv[1]), numba.config.NUMBA_NUM_THREADS))
SelfPlay(SelfPlayConfig(), SearchConfig(simulations=4), size=3, games=1, seed=0).play(UniformEvaluator(), positions=1)
"""

_SOLVER = """
import numpy as np
from hexlit.hex.solver import Solver

Solver(3).solve(np.zeros(9, np.int8), 1)
"""

_BASELINES = """
import numpy as np
from hexlit.arena.baselines.alpha_beta import ResistancePlayer, TwoDistancePlayer

for player in (TwoDistancePlayer(depth=1, seed=0), ResistancePlayer(depth=1, seed=0)):
    player.choose(np.zeros((1, 9), np.int8), np.ones(1, np.int8))
"""

PROGRAMS = (("self-play", _SELF_PLAY, "2"), ("solver", _SOLVER), ("baselines", _BASELINES), ("alone", _SELF_PLAY, "1"))
"""Name, text and arguments of each program; those that take longest come first."""


def missing(folder: Path) -> bool:
    """Whether there is no compiled kernel in `folder`."""
    return next(folder.rglob("*.nbi"), None) is None


def compile_kernels(processes: int) -> None:
    """Compile, in as many processes at a time. What fails here is for the tests to tell."""

    def run(program: tuple[str, ...]) -> None:
        _, text, *arguments = program
        subprocess.run([sys.executable, "-c", text, *arguments], check=False, capture_output=True)

    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(run, PROGRAMS))
