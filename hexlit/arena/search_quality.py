"""Strength and speed of each search variant: one document for JSON and tables."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from hexlit.arena.match import Player, play_match
from hexlit.arena.parts import Part, measured_now
from hexlit.arena.players import PolicyPlayer, SearchPlayer
from hexlit.arena.shares import Share
from hexlit.arena.strength import keeps_the_win
from hexlit.hex.truth import SolvedPositions
from hexlit.search.config import ALGORITHMS, SearchConfig
from hexlit.search.evaluator import Evaluator
from hexlit.search.search import Search

Document = dict[str, Any]

OPENING_PLIES = 2
_FEWEST_RUNS = 3  # timed searches of a speed, after one that does not count


@dataclass(frozen=True)
class Variant:
    """One search variant, and its opponent."""

    config: SearchConfig
    opponent: SearchConfig | None
    """The search of its opponent; None is the network's policy without any search."""

    @property
    def name(self) -> str:
        """Its settings in words: the algorithm, the simulations, and the leaves that are evaluated together."""
        config = self.config
        where = " under different root moves" if config.root_batch else ""
        return f"{config.algorithm}, {config.simulations} simulations, {config.leaves} leaves{where}"


def variants(base: SearchConfig, simulations: Sequence[int], leaves: Sequence[int]) -> Iterator[Variant]:
    """Every algorithm with each number of simulations against the raw policy, then variants with batched leaves.

    These evaluate `leaves` together, under any or under different root moves, and meet the same search without batches.
    """
    for algorithm in ALGORITHMS:
        for number in simulations:
            plain = replace(base, algorithm=algorithm, simulations=number, leaves=1, root_batch=False)
            yield Variant(plain, None)
            for together in leaves:
                if 1 < together <= number:
                    for root_batch in (False, True):
                        yield Variant(replace(plain, leaves=together, root_batch=root_batch), plain)


@dataclass(frozen=True)
class Network:
    """A network for these searches."""

    evaluator: Callable[[int], Evaluator]
    """Makes, or finds, the evaluator for a number of positions per call."""
    size: int
    swap: bool
    """Whether its policies have a swap action."""

    def player(self, config: SearchConfig | None, batch: int) -> Player:
        """A player that searches by `config`, or plays by the policy alone, up to `batch` games at once."""
        if config is None:
            return PolicyPlayer(self.evaluator(batch), size=self.size, batch=batch, swap=self.swap)
        rows = max(batch, config.leaves)
        return SearchPlayer(config, self.evaluator(rows), size=self.size, batch=rows, swap=self.swap)


def measure_variant(
    variant: Variant,
    network: Network,
    positions: SolvedPositions | None,
    *,
    pairs: int,
    seed: int,
    games: int,
    seconds: float,
    part: Part = measured_now,
) -> Document:
    """One row of the table. Its match, its optimality and each of its speeds is a part.

    Args:
        variant: the search to measure.
        network: its network.
        positions: solved ones for the optimality, which is None if none of them is won.
        pairs: distinct openings, each played twice, against the variant's opponent.
        seed: seed of the openings.
        games: parallel games in the match and for the second speed.
        seconds: approximate length of one measurement of speed.
        part: gives the results of the parts.

    Returns:
        `algorithm`, `simulations`, `leaves`, `root_batch`, `opponent` (`policy` or `unbatched`), `match` and
        `optimality` (see `Share`), and `one_game` and `many_games` (see `measure_speed`).
    """
    config = variant.config

    def match() -> Document:
        players = network.player(config, games), network.player(variant.opponent, games)
        result = play_match(*players, size=network.size, pairs=pairs, seed=seed, opening_plies=OPENING_PLIES)
        return Share(result.wins, result.games).as_dict()

    def optimality() -> Document | None:
        if positions is None or not positions.won.any():
            return None
        won = positions.won
        moves = network.player(config, games).choose(positions.cells[won], positions.to_move[won])
        return Share.of(keeps_the_win(positions, moves, won)).as_dict()

    return {
        "algorithm": config.algorithm,
        "simulations": config.simulations,
        "leaves": config.leaves,
        "root_batch": config.root_batch,
        "opponent": "policy" if variant.opponent is None else "unbatched",
        "match": part(f"{variant.name}, match", match),
        "optimality": part(f"{variant.name}, optimality", optimality),
        "one_game": part(f"{variant.name}, one game", lambda: measure_speed(config, network, 1, seconds)),
        "many_games": part(f"{variant.name}, many games", lambda: measure_speed(config, network, games, seconds)),
    }


def measure_speed(config: SearchConfig, network: Network, games: int, seconds: float) -> Document:
    """Speed of the parallel search of `games` positions.

    It is the median over searches of positions with a quarter of the cells taken, after one that does not count.

    Returns:
        `games`, `milliseconds` of a move, `simulations_per_second`, and `leaves_a_call`: the mean number of leaves of
        a game that the evaluator judges together.
    """
    cells = quarter_full(network.size, games)
    to_move = np.full(games, 1 if np.count_nonzero(cells[0]) % 2 == 0 else -1, np.int8)
    search = Search(config, size=network.size, games=games, swap=network.swap)
    evaluator = network.evaluator(games * config.leaves)
    ply = np.full(games, network.size**2, np.int16)  # too late for a swap
    taken: list[float] = []
    search.run(cells, to_move, evaluator, ply=ply)
    end = time.perf_counter() + seconds
    while len(taken) < _FEWEST_RUNS or time.perf_counter() < end:
        start = time.perf_counter()
        search.run(cells, to_move, evaluator, ply=ply)
        taken.append(time.perf_counter() - start)
    whole = median(taken)
    return {
        "games": games,
        "milliseconds": 1000 * whole / games,
        "simulations_per_second": games * config.simulations / whole,
        "leaves_a_call": search.rows_used / search.evaluator_calls / games,
    }


def quarter_full(size: int, games: int) -> np.ndarray[Any, np.dtype[np.int8]]:
    """Undecided positions int8 `[games, size*size]` with stones on a random quarter of the inner cells."""
    random = np.random.default_rng(0)
    inner = np.arange(size * size).reshape(size, size)[1:-1, 1:-1].ravel()
    stones = min(size**2 // 4, len(inner))
    cells = np.zeros((games, size * size), np.int8)
    for row in cells:
        row[random.permutation(inner)[:stones]] = [1 if stone % 2 == 0 else -1 for stone in range(stones)]
    return cells
