"""The solved positions that strength is measured on: the same for every network.

There are two kinds. `random_positions` have stones on random cells and are all won for the side to
move. `game_positions` come from games of players without a network, from random ones to a search
with many playouts, and are won or lost.
"""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from hexlit.arena.players import Judging
from hexlit.errors import UsageError
from hexlit.hex.arrays import BoolArray, Int8Array, Int16Array
from hexlit.hex.engine import empty_stones, place_all
from hexlit.hex.geometry import geometry
from hexlit.hex.solver import ExactSolver, UnsolvedError
from hexlit.hex.symmetry import exchange_colours
from hexlit.hex.truth import STAGES, SolvedPositions, cached, won_positions
from hexlit.search.config import GumbelConfig, SearchConfig
from hexlit.search.evaluator import RolloutEvaluator
from hexlit.search.search import TreeSearch
from hexlit.settings import check_numbers

_FORMAT = 3  # part of the cache's file names; raise it when the same arguments give other positions


@dataclass(frozen=True)
class SolvingLimits:
    """Limits that keep the solving of a board's positions fast."""

    fewest_stones: int
    nodes: int | None
    """Most nodes of the solver for a draw; a harder one is skipped."""


LIMITS = dict.fromkeys((3, 4, 5, 6), SolvingLimits(0, None))
LIMITS |= {7: SolvingLimits(8, 50_000), 8: SolvingLimits(12, 50_000)}


@dataclass(frozen=True)
class GameSource:
    """A player of the games behind positions: sequential halving over random playouts, with
    deliberate errors.
    """

    name: str
    simulations: int
    """Simulations of a move, times the cells of the board; 0 plays at random, or by `judge`."""
    playouts: int
    """Random playouts per simulation."""
    error: float
    """Share of moves that are random instead."""
    judge: Judging | None = None

    def search(self, size: int, games: int) -> TreeSearch | None:
        """Its search of `games` positions in parallel, which tries every legal move."""
        if self.simulations == 0:
            return None
        cells = size * size
        config = SearchConfig(
            simulations=self.simulations * cells,
            gumbel=GumbelConfig(considered=cells, value_scale=0.1),  # the positions never change
        )
        return TreeSearch(config, size=size, games=games)


SOURCES = (
    GameSource("random", simulations=0, playouts=0, error=1.0),
    GameSource("weak", simulations=1, playouts=2, error=0.3),
    GameSource("medium", simulations=3, playouts=4, error=0.15),
    GameSource("strong", simulations=8, playouts=16, error=0.05),
)
"""Weakest first."""

RANDOM_PLIES = 2
"""Random moves at the start of every game, so that games differ."""

# of games, each with one game per missing position; small boards run out of distinct positions
_ROUNDS = 8
_FEWEST_GAMES = 12  # in a round
_BLOCK = 256  # most parallel games: their search trees take memory


def random_positions(
    size: int, count: int, seed: int, cache: Path | None = None
) -> SolvedPositions:
    """Won positions with stones on random cells, on boards of 3 to 8; see `won_positions`."""
    limits = limits_of(size)
    return won_positions(
        size, count, seed, min_stones=limits.fewest_stones, node_limit=limits.nodes, cache=cache
    )


def game_positions(size: int, count: int, seed: int, cache: Path | None = None) -> SolvedPositions:
    """Distinct undecided positions from games of SOURCES, won or lost for the side to move, in
    random order.

    Every source and every third of its games gives the same number of positions, each from its own
    game. The thirds run from the fewest stones that can be solved to the last move. Positions that
    differ by a symmetry of the game count as one: boards of 3 and 4 may have fewer than `count`,
    less evenly shared.

    Args:
        size: 3 to 8.
        count: positions wanted.
        seed: at least 0; it decides everything, with any number of threads.
        cache: folder where the result is kept for the next call with the same arguments.

    Raises:
        UsageError: an argument is out of range.
    """
    limits = limits_of(size)
    check_numbers("[1, inf)", count=count)
    check_numbers("[0, inf)", seed=seed)
    path = None
    if cache is not None:
        key = f"size{size}-count{count}-seed{seed}-min{limits.fewest_stones}-limit{limits.nodes}"
        path = cache / f"games-v{_FORMAT}-{key}.npz"
    return cached(path, lambda: _Collection(size, limits).fill(count, seed))


def limits_of(size: int) -> SolvingLimits:
    """Limits of solving on a board; raises `UsageError` if it has no solved positions."""
    if size not in LIMITS:
        raise UsageError(
            f"board={size}: positions are solved on boards of {min(LIMITS)} to {max(LIMITS)}"
        )
    return LIMITS[size]


def symmetric_key(cells: Int8Array, to_move: int) -> bytes:
    """The same for all positions int8 `[size*size]` that the symmetries of the game turn into one
    another.
    """
    seen = cells if to_move == 1 else exchange_colours(cells)
    return min(seen.tobytes(), seen[::-1].tobytes())


def play_games(
    source: GameSource, size: int, games: int, random: np.random.Generator
) -> list[Int16Array]:
    """The moves of `games` games that `source` plays against itself, in parallel, each to its
    end.
    """
    cells = np.zeros((games, size * size), np.int8)
    moves: list[list[int]] = [[] for _ in range(games)]
    open_games = np.arange(games)
    stones = empty_stones(1, size)
    table = geometry(size)
    evaluator = RolloutEvaluator(source.playouts, int(random.integers(2**31)))
    search = source.search(size, games)
    think = source.judge if search is None else partial(search.run, evaluator=evaluator)
    ply = 0
    while len(open_games):
        colour = np.int8(1 if ply % 2 == 0 else -1)
        chosen = np.where(cells == 0, random.random(cells.shape), -1.0).argmax(1).astype(np.int16)
        thinks = open_games[random.random(games)[open_games] >= source.error]
        if think is not None and ply >= RANDOM_PLIES and len(thinks):
            chosen[thinks] = think(cells[thinks], np.full(len(thinks), colour, np.int8)).action
        cells[open_games, chosen[open_games]] = colour
        for game in open_games:
            moves[game].append(int(chosen[game]))
        goes_on = [place_all(stones, 0, cells[game], table) == 0 for game in open_games]
        open_games = open_games[goes_on]
        ply += 1
    return [np.array(game, np.int16) for game in moves]


class _Collection:
    """Positions of one board size, growing until every source and stage has its share."""

    def __init__(self, size: int, limits: SolvingLimits) -> None:
        self._size = size
        self._limits = limits
        self._solver = ExactSolver(size)
        self._seen: set[bytes] = set()
        self._rows: list[tuple[Int8Array, int, int, BoolArray, int, int]] = []
        self._unsolved = 0

    def fill(self, count: int, seed: int) -> SolvedPositions:
        """Up to `count` positions."""
        kinds = list(product(range(len(SOURCES)), range(len(STAGES))))
        wanted = Counter(kinds[i % len(kinds)] for i in range(count))
        for number in range(_ROUNDS):
            for index, source in enumerate(SOURCES):
                missing: list[int] = []
                for stage in range(len(STAGES)):
                    missing += [stage] * wanted[index, stage]
                if not missing:
                    continue
                random = np.random.default_rng([seed, self._size, index, number])
                games = max(_FEWEST_GAMES, len(missing))
                for start in range(0, games, _BLOCK):
                    played = play_games(source, self._size, min(_BLOCK, games - start), random)
                    for game, moves in enumerate(played, start):
                        stage = missing[game % len(missing)]
                        if wanted[index, stage] and self._take(moves, stage, index, random):
                            wanted[index, stage] -= 1
        if not self._rows:
            raise UsageError(
                f"board={self._size}: none of the draws was solved; ask for more than {count} positions"
            )
        random = np.random.default_rng([seed, self._size])
        rows = [self._rows[i] for i in random.permutation(len(self._rows))]
        cells, to_move, winner, wins, source_of, stages = (
            np.array(column) for column in zip(*rows, strict=True)
        )
        stones = np.count_nonzero(cells, axis=1).astype(np.int16)
        kinds_of = (
            source_of.astype(np.int8),
            stages.astype(np.int8),
            tuple(source.name for source in SOURCES),
        )
        truth = to_move.astype(np.int8), stones, winner.astype(np.int8), wins
        return SolvedPositions(cells, *truth, *kinds_of, unsolved=self._unsolved)

    def _take(
        self, moves: Int16Array, stage: int, source: int, random: np.random.Generator
    ) -> bool:
        """Solve a position of the game's third `stage`; False if it is known already or too
        hard.
        """
        span = len(moves) - self._limits.fewest_stones
        if span < len(STAGES):
            return False
        played = self._limits.fewest_stones + int(span * (stage + random.random()) / len(STAGES))
        cells = np.zeros(self._size**2, np.int8)
        cells[moves[:played:2]] = 1
        cells[moves[1:played:2]] = -1
        to_move = 1 if played % 2 == 0 else -1
        key = symmetric_key(cells, to_move)
        if key in self._seen:
            return False
        try:
            solution = self._solver.solve(cells, to_move, self._limits.nodes)
        except UnsolvedError:
            self._unsolved += 1
            return False
        self._seen.add(key)
        wins = np.isin(np.arange(self._size**2), solution.winning_moves)
        self._rows.append((cells, to_move, solution.winner, wins, source, stage))
        return True
