"""Games to search, in plain Python, and the comparison of results."""

from dataclasses import fields
from typing import Any

import numpy as np

from hexlit.search.config import GumbelConfig, PuctConfig, SearchConfig
from hexlit.search.evaluator import Evaluator
from hexlit.search.search import SearchResult, TreeSearch
from tests.hex.reference import Game

VARIANTS = {
    "gumbel": [
        SearchConfig("gumbel"),
        SearchConfig("gumbel", gumbel=GumbelConfig(considered=1)),
        SearchConfig("gumbel", gumbel=GumbelConfig(considered=4, value_scale=1.0, rescale=True)),
        SearchConfig(
            "gumbel", gumbel=GumbelConfig(considered=7, visit_offset=0.0, value_scale=0.5)
        ),
        SearchConfig("gumbel", gumbel=GumbelConfig(considered=25, rescale=True)),
    ],
    "puct": [
        SearchConfig("puct"),
        SearchConfig("puct", puct=PuctConfig(c_init=0.3, fpu_reduction=0.0)),
        SearchConfig("puct", puct=PuctConfig(c_init=4.0, c_base=10.0, fpu_reduction=0.7)),
    ],
}
"""Settings of each algorithm that searches have to agree with."""


def rows_of(result: SearchResult, rows: Any) -> SearchResult:
    """The results of the positions `rows` alone."""
    return SearchResult(*(getattr(result, field.name)[rows] for field in fields(SearchResult)))


def assert_identical(one: SearchResult, other: SearchResult) -> None:
    for name in (field.name for field in fields(SearchResult)):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


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


def random_games(
    seed: int, count: int, sizes: tuple[int, ...] = (3, 4, 5), *, swap: bool = False
) -> list[Game]:
    """Undecided games of mixed sizes and lengths."""
    random = np.random.default_rng(seed)
    games = []
    for _ in range(count):
        size = int(random.choice(sizes))
        games.append(
            random_game(random, size, int(random.integers(0, size * size // 2 + 1)), swap=swap)
        )
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
    """Search games of one size and one swap rule side by side,
    in a search with `room` for at least that many.
    """
    first = games[0]
    search = TreeSearch(config, size=first.size, games=max(room, len(games)), swap=first.swap)
    return search.run(
        np.array([game.cells for game in games], np.int8),
        np.array([game.to_move for game in games], np.int8),
        evaluator,
        ply=np.array([len(game.moves) for game in games], np.int16),
        noise=noise,
        seed=seed,
    )
