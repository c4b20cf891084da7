"""The compiled game and the compiled search, without a network."""

from typing import Any

import numba
import numpy as np

from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.measure import Effort, Measurement, Setting, measure_rate
from hexlit.hex.engine import empty_stones
from hexlit.hex.geometry import geometry
from hexlit.hex.playout import playouts, random_games
from hexlit.search.config import ALGORITHMS, SearchConfig
from hexlit.search.search import Search

SEARCHED_GAMES = 256


def measure_games(size: int, effort: Effort, profile: DeviceProfile) -> list[Measurement]:
    """Random games on one core: move by move to the end, and random fillings with only the winner computed."""
    table = geometry(size)
    moves, lengths = np.zeros((64, size * size), np.int16), np.zeros(64, np.int16)
    stones, room, cells = empty_stones(1, size), np.zeros(size * size, np.int16), np.zeros(size * size, np.int8)

    def complete_games(rounds: int) -> float:
        random_games(1000 * rounds, 1, table, moves, stones, lengths)
        return 1000.0 * rounds

    def fillings(rounds: int) -> float:
        playouts(cells, 1, 1000 * rounds, np.uint64(1), size, room)
        return 1000.0 * rounds

    shared: dict[str, Any] = {"unit": "games/s", "on": Setting("cpu", 1, "–"), "profile": profile}
    return [
        measure_rate(effort, complete_games, what="complete random games", **shared),
        measure_rate(effort, fillings, what="random playouts, winner only", **shared),
    ]


class FreeEvaluator:
    """Keeps the answers that were written once."""

    def evaluate(self, planes: Any, policy: Any, value: Any) -> None:
        """Do nothing."""


def measure_search(size: int, effort: Effort, profile: DeviceProfile) -> list[Measurement]:
    """Simulations per second of many games with a free evaluator, on one thread and on all."""
    random = np.random.default_rng(0)
    policy = random.dirichlet(np.full(size * size, 0.3), SEARCHED_GAMES).astype(np.float32)
    value = random.uniform(-1, 1, SEARCHED_GAMES).astype(np.float32)
    cells, to_move = np.zeros((SEARCHED_GAMES, size * size), np.int8), np.ones(SEARCHED_GAMES, np.int8)
    result = []
    before = numba.get_num_threads()
    for threads in sorted({1, before}):
        numba.set_num_threads(threads)
        for algorithm in ALGORITHMS:
            for simulations in (32, 200):
                settings = SearchConfig(algorithm=algorithm, simulations=simulations)
                search = Search(settings, size=size, games=SEARCHED_GAMES)
                search.batch.policy[:], search.batch.value[:] = policy, value

                def searches(rounds: int, search: Search = search, simulations: int = simulations) -> float:
                    for _ in range(rounds):
                        search.run(cells, to_move, FreeEvaluator())
                    return float(SEARCHED_GAMES * simulations * rounds)

                what = f"search {algorithm}, {simulations} simulations"
                on = Setting("cpu", threads, "–")
                result.append(measure_rate(effort, searches, what=what, unit="simulations/s", on=on, profile=profile))
    numba.set_num_threads(before)
    return result
