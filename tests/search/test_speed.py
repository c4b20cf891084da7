"""How much faster the compiled search is than the plain Python one: measured, and printed with `-s`."""

import time

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from hexlit.search.config import ALGORITHMS, SearchConfig
from hexlit.search.search import TreeSearch
from tests.hex.reference import Game
from tests.search import reference

SIZE = 11
SIMULATIONS = 32
GAMES = 256
ROUNDS = 5


class SameAnswer:
    """Says the same of every position, so that nearly all the time is the search's own."""

    def __init__(self) -> None:
        self.prior = np.random.default_rng(0).dirichlet(np.full(SIZE * SIZE, 0.3)).astype(np.float32)

    def evaluate(self, planes: NDArray[np.int8], policy: NDArray[np.float32], value: NDArray[np.float32]) -> None:
        policy[:], value[:] = self.prior, 0.25


@pytest.mark.slow
@pytest.mark.row("E11")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_compiled_search_and_plain_python_come_to_the_same_visits(algorithm: str) -> None:
    """In turn, on one thread, as the processor's clock may change; in processor time."""
    config, evaluator = SearchConfig(algorithm, simulations=SIMULATIONS), SameAnswer()
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        search = TreeSearch(config, size=SIZE, games=GAMES)
        compiled, plain = [], []
        for plies in range(-1, ROUNDS):
            game = Game(SIZE, moves=[(SIZE + 1) * ply for ply in range(max(0, plies))])
            cells = np.array([game.cells] * GAMES, np.int8)
            to_move = np.full(GAMES, game.to_move, np.int8)
            began = time.process_time()
            found = search.run(cells, to_move, evaluator)
            between = time.process_time()
            expected = reference.search(game, config, evaluator)
            ended = time.process_time()
            assert found.visits[0].tolist() == expected.visits
            if plies < 0:
                continue  # compiles
            compiled.append(GAMES * SIMULATIONS / (between - began))
            plain.append(SIMULATIONS / (ended - between))
    finally:
        numba.set_num_threads(threads)
    ratio = np.median([one / other for one, other in zip(compiled, plain, strict=True)])
    rates = f"compiled {np.median(compiled):,.0f} simulations/s, plain Python {np.median(plain):,.0f}"
    print(f"{algorithm}: {rates}: {ratio:.0f} times")
