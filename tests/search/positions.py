"""Positions to search, and evaluators whose answers depend on the position alone."""

import hashlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.encoding import MAY_SWAP, OPPONENT, OWN
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator
from hexlit.search.search import Search, SearchResult
from tests.hex.reference import Game


@dataclass
class KeyedEvaluator:
    """Stands in for a network: continuous policies and values made from a digest of each position.

    They come from SHAKE-256 and elementary arithmetic, so no version of NumPy changes them.
    """

    salt: bytes = b""
    swap_weight: float = 1.0
    """Factor on the weight of the swap action."""
    seen: set[tuple[int, bool]] = field(default_factory=set)
    """(stones, whether the mover may swap) of everything that was asked for."""

    def evaluate(self, planes: NDArray[np.int8], policy: NDArray[np.float32], value: NDArray[np.float32]) -> None:
        for row, position in enumerate(planes):
            actions = policy.shape[1]
            bits = hashlib.shake_256(self.salt + position.tobytes()).digest(4 * (actions + 1))
            numbers = np.frombuffer(bits, "<u4").astype(np.float64) / 2**32
            weights = np.exp2(4 * numbers[1:])
            if actions > position[OWN].size:
                weights[-1] *= self.swap_weight
            policy[row] = weights / weights.sum()
            value[row] = 1.8 * numbers[0] - 0.9
            self.seen.add((int(position[[OWN, OPPONENT]].sum()), bool(position[MAY_SWAP].any())))


def random_game(random: np.random.Generator, size: int, plies: int, *, swap: bool = False) -> Game:
    """An undecided game after at most `plies` random moves."""
    while True:
        game = Game(size, swap=swap)
        for _ in range(plies):
            game.play(int(random.choice(game.legal_moves())))
            if game.winner:
                break
        else:
            return game


def random_games(seed: int, count: int, sizes: tuple[int, ...] = (3, 4, 5), *, swap: bool = False) -> list[Game]:
    """Undecided games of mixed sizes and lengths."""
    random = np.random.default_rng(seed)
    games = []
    for _ in range(count):
        size = int(random.choice(sizes))
        games.append(random_game(random, size, int(random.integers(0, size * size // 2 + 1)), swap=swap))
    return games


def search_games(
    games: list[Game],
    config: SearchConfig,
    evaluator: Evaluator,
    *,
    room: int = 0,
    noise: float = 0.0,
    seed: int = 0,
) -> SearchResult:
    """Search games of one size and one swap rule side by side, in a search with `room` for at least that many."""
    first = games[0]
    search = Search(config, size=first.size, games=max(room, len(games)), swap=first.swap)
    return search.run(
        np.array([game.cells for game in games], np.int8),
        np.array([game.to_move for game in games], np.int8),
        evaluator,
        ply=np.array([len(game.moves) for game in games], np.int16),
        noise=noise,
        seed=seed,
    )
