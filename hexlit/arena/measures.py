"""Documents of `hexlit strength`: a network against the exact truth, and the worth and speed of
each search.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from statistics import median
from typing import Any

import numpy as np

from hexlit.arena.matches import play_match
from hexlit.arena.players import Judgement, Judging, JudgingPlayer, Network
from hexlit.arena.ratings import PERFECT, Rating, rate_against_perfect
from hexlit.arena.strength import keeps_the_win, opening_values
from hexlit.hex.arrays import BoolArray, Int8Array, Int16Array
from hexlit.hex.judging import openings_right
from hexlit.hex.openings import solved_openings
from hexlit.hex.truth import STAGES, SolvedPositions
from hexlit.nets.calibration import calibrate
from hexlit.search.config import ALGORITHMS, SearchConfig
from hexlit.search.search import TreeSearch

Document = dict[str, Any]

Part = Callable[[str, Callable[[], Any]], Any]
"""Gives the result of a named part in plain values: of the function that measures it, or kept from
an earlier call.
"""

OPENING_PLIES = 2
_FEWEST_RUNS = 3  # timed searches of a speed, after one that does not count


def measured_now(name: str, measure: Callable[[], Any]) -> Any:
    """A `Part` that keeps nothing."""
    return measure()


def share_of(hits: int, count: int) -> dict[str, float | int | None]:
    """`share` of `hits` in `count`, and the ends `low` and `high` of the interval that holds the
    true share with a confidence of 95% (Wilson 1927); None, 0 and 1 if nothing was counted. `hits`
    and `count` are there, too.
    """
    if count == 0:
        return {"share": None, "low": 0.0, "high": 1.0, "hits": hits, "count": count}
    from scipy.stats import binomtest  # half a second, only for a measurement

    ends = binomtest(hits, count).proportion_ci(method="wilson")
    return {
        "share": hits / count,
        "low": float(ends.low),
        "high": float(ends.high),
        "hits": hits,
        "count": count,
    }


def _share(hits: BoolArray) -> dict[str, float | int | None]:
    """The share of true `hits`."""
    return share_of(int(hits.sum()), len(hits))


def measure_truth(
    judges: Mapping[int, JudgingPlayer],
    positions: Mapping[str, SolvedPositions],
    *,
    size: int,
    batch: int,
    advance: Callable[[float], None] = lambda share: None,
    part: Part = measured_now,
) -> Document:
    """Judge the openings and all `positions` (by the name of their kind) at every level.

    `judges` are the levels by their simulations of a move; 0 is the network alone: its likeliest
    move, its value. `advance` gets the share that is judged, batch by batch; what was kept from
    before does not count. Each kind of positions at each level is a `part`, and the openings are
    one.

    Returns:
        `openings`: `truth` and per level `simulations`, `map` (value for Black) and `right`.
        `positions`, `optimality`: see `describe_positions` and `optimality`, by kind.
        `calibration`: per level, for kinds with lost positions too, see `Calibration`.
    """
    truth = solved_openings(size)
    document: Document = {
        "openings": {"truth": truth.tolist(), "levels": []},
        "positions": {kind: describe_positions(of_kind) for kind, of_kind in positions.items()},
        "optimality": {kind: [] for kind in positions},
        "calibration": {kind: [] for kind, of_kind in positions.items() if not of_kind.won.all()},
    }
    searches = sum(max(1, number) for number in judges)
    count = size**2 + sum(len(of_kind) for of_kind in positions.values())
    whole = searches * count
    done = 0

    def judged(number: int, cells: Int8Array, to_move: Int8Array) -> Judgement:
        nonlocal done
        parts = []
        for start in range(0, len(cells), batch):
            rows = slice(start, start + batch)
            parts.append(judges[number].judge(cells[rows], to_move[rows]))
            done += max(1, number) * len(cells[rows])
            advance(done / whole)
        actions = np.concatenate([part.action for part in parts])
        values = np.concatenate([part.value for part in parts])
        return Judgement(actions, values)

    for number in judges:
        name = f"{number} simulations"
        named = {"simulations": number}
        judge = partial(judged, number)
        result = part(f"{name}, openings", partial(_openings, judge, size, truth))
        document["openings"]["levels"].append(named | result)
        for kind, of_kind in positions.items():
            result = part(f"{name}, {kind}", partial(_positions, judge, of_kind))
            document["optimality"][kind].append(named | result["optimality"])
            if kind in document["calibration"]:
                document["calibration"][kind].append(named | result["calibration"])
    return document


def measure_perfect(
    judges: Mapping[int, JudgingPlayer],
    *,
    size: int,
    pairs: int,
    seed: int,
    advance: Callable[[float], None] = lambda share: None,
    part: Part = measured_now,
) -> Document:
    """Let every level play `pairs` openings with both colours against perfect play, on a board of 3
    to 7 rows.

    `judges`, `advance` and `part` are as for `measure_truth`; the games of a level are a part.

    Returns:
        `players` and `anchor` as in the standings of a match (see `tournament.standings`), perfect
        play first.
    """
    from hexlit.arena.baselines import SolverPlayer  # other measurements do without its kernels

    perfect = SolverPlayer(size, seed=seed)
    rows = list[Document]()

    def measure(name: str, judge: JudgingPlayer) -> Document:
        return asdict(rate_against_perfect({name: judge}, perfect, size, pairs, seed)[1])

    for number, judge in judges.items():
        advance(len(rows) / len(judges))
        name = f"{number} simulations" if number else "the policy alone"
        rows.append(part(f"{name}, perfect play", partial(measure, name, judge)))
    games = sum(row["games"] for row in rows)
    lost = sum(row["wins"] for row in rows)
    perfect_rating = Rating(
        name=PERFECT, elo=0.0, low=0.0, high=0.0, games=games, wins=games - lost, bound=""
    )
    players = []
    for row in (asdict(perfect_rating), *rows):
        players.append({**row, "score": row["wins"] / row["games"]})
    return {"anchor": PERFECT, "players": players, "forfeits": []}


def _openings(judge: Judging, size: int, truth: BoolArray) -> Document:
    values = opening_values(judge, size)
    return {"map": values.tolist(), "right": openings_right(values.tolist(), truth)}


def _positions(judge: Judging, positions: SolvedPositions) -> Document:
    result = judge(positions.cells, positions.to_move)
    calibration = None
    if not positions.won.all():
        calibration = asdict(calibrate(result.value, positions.won))
    return {"optimality": optimality(positions, result.action), "calibration": calibration}


def optimality(positions: SolvedPositions, moves: Int16Array) -> Document:
    """Share of the won positions that the move keeps won: of `all`, by `stages` and by
    `sources`.
    """
    won = positions.won
    wins = keeps_the_win(positions, moves)
    return {
        "all": _share(wins[won]),
        "stages": {
            name: _share(wins[won & (positions.stage == i)]) for i, name in enumerate(STAGES)
        },
        "sources": {
            name: _share(wins[won & (positions.source == i)])
            for i, name in enumerate(positions.sources)
        },
    }


def describe_positions(positions: SolvedPositions) -> Document:
    """Their number, sources, share of wins, and how often a random move keeps a win
    (`random_move`).
    """
    won = positions.won
    good = positions.winning_moves[won].sum(1) / np.count_nonzero(positions.cells[won] == 0, axis=1)

    def share(source: int, stage: int) -> Document:
        inside = (positions.source == source) & (positions.stage == stage)
        count = int(inside.sum())
        return {
            "source": positions.sources[source],
            "stage": STAGES[stage],
            "count": count,
            "share": count / len(positions),
            "won": int((inside & won).sum()),
            "mean_stones": float(positions.stones[inside].mean()) if count else None,
        }

    return {
        "count": len(positions),
        "won": int(won.sum()),
        "unsolved": positions.unsolved,
        "random_move": float(good.mean()) if len(good) else None,
        "shares": [
            share(*kind) for kind in product(range(len(positions.sources)), range(len(STAGES)))
        ],
    }


@dataclass(frozen=True)
class Variant:
    """One search variant, and its opponent."""

    config: SearchConfig
    opponent: SearchConfig | None
    """The search of its opponent; None is the network's policy without any search."""

    @property
    def name(self) -> str:
        """Its settings in words: the algorithm, the simulations, and the leaves that are evaluated
        together.
        """
        config = self.config
        where = " under different root moves" if config.root_batch else ""
        return (
            f"{config.algorithm}, {config.simulations} simulations, {config.leaves} leaves{where}"
        )


def variants(
    base: SearchConfig, simulations: Sequence[int], leaves: Sequence[int]
) -> Iterator[Variant]:
    """Every algorithm with each number of simulations against the raw policy, then variants with
    batched leaves.

    These evaluate `leaves` together, under any or under different root moves, and meet the same
    search without batches.
    """
    for algorithm, number in product(ALGORITHMS, simulations):
        plain = replace(base, algorithm=algorithm, simulations=number, leaves=1, root_batch=False)
        yield Variant(plain, None)
        for together, root_batch in product(leaves, (False, True)):
            if 1 < together <= number:
                yield Variant(replace(plain, leaves=together, root_batch=root_batch), plain)


@dataclass(frozen=True)
class Thoroughness:
    """How thoroughly a search is measured."""

    pairs: int
    """Distinct openings, each played twice, against its opponent."""
    seed: int
    """Of the openings."""
    games: int
    """Parallel games in the match and for the second speed."""
    seconds: float
    """Approximate length of one measurement of speed."""


def measure_variant(
    variant: Variant,
    network: Network,
    positions: SolvedPositions | None,
    how: Thoroughness,
    part: Part = measured_now,
) -> Document:
    """One row of the table: the match of `variant`, its optimality and each of its speeds is a
    `part`.

    The optimality is that in the solved `positions`, None if none of them is won.

    Returns:
        `algorithm`, `simulations`, `leaves`, `root_batch`, `opponent` (`policy` or `unbatched`),
        `match` and `optimality` (see `share_of`), and `one_game` and `many_games` (see
        `measure_speed`).
    """
    config = variant.config
    games = how.games

    def match() -> Document:
        players = network.player(config, games), network.player(variant.opponent, games)
        result = play_match(
            *players, size=network.size, pairs=how.pairs, seed=how.seed, opening_plies=OPENING_PLIES
        )
        return share_of(result.wins, result.games)

    def optimality() -> Document | None:
        if positions is None or not positions.won.any():
            return None
        won = positions.won
        moves = network.player(config, games).choose(positions.cells[won], positions.to_move[won])
        return _share(keeps_the_win(positions, moves, won))

    return {
        **{
            name: getattr(config, name)
            for name in ("algorithm", "simulations", "leaves", "root_batch")
        },
        "opponent": "policy" if variant.opponent is None else "unbatched",
        "match": part(f"{variant.name}, match", match),
        "optimality": part(f"{variant.name}, optimality", optimality),
        "one_game": part(
            f"{variant.name}, one game", lambda: measure_speed(config, network, 1, how.seconds)
        ),
        "many_games": part(
            f"{variant.name}, many games",
            lambda: measure_speed(config, network, games, how.seconds),
        ),
    }


def measure_speed(config: SearchConfig, network: Network, games: int, seconds: float) -> Document:
    """Speed of the parallel search of `games` positions.

    It is the median over searches of positions with a quarter of the cells taken, after one that
    does not count.

    Returns:
        `games`, `milliseconds` of a move, `simulations_per_second`, and `leaves_a_call`: the mean
        number of leaves of a game that the evaluator judges together.
    """
    cells = quarter_full(network.size, games)
    to_move = np.full(games, 1 if np.count_nonzero(cells[0]) % 2 == 0 else -1, np.int8)
    search = TreeSearch(config, size=network.size, games=games, swap=network.swap)
    evaluator = network.evaluator(games * config.leaves)
    ply = np.full(games, network.size**2, np.int16)  # too late for a swap
    times: list[float] = []
    search.run(cells, to_move, evaluator, ply=ply)
    end = time.perf_counter() + seconds
    while len(times) < _FEWEST_RUNS or time.perf_counter() < end:
        start = time.perf_counter()
        search.run(cells, to_move, evaluator, ply=ply)
        times.append(time.perf_counter() - start)
    whole = median(times)
    return {
        "games": games,
        "milliseconds": 1000 * whole / games,
        "simulations_per_second": games * config.simulations / whole,
        "leaves_a_call": search.rows_used / search.evaluator_calls / games,
    }


def quarter_full(size: int, games: int) -> np.ndarray[Any, np.dtype[np.int8]]:
    """Undecided positions int8 `[games, size*size]` with stones on a random quarter of the inner
    cells.
    """
    random = np.random.default_rng(0)
    inner = np.arange(size * size).reshape(size, size)[1:-1, 1:-1].ravel()
    stones = min(size**2 // 4, len(inner))
    cells = np.zeros((games, size * size), np.int8)
    for row in cells:
        row[random.permutation(inner)[:stones]] = [
            1 if stone % 2 == 0 else -1 for stone in range(stones)
        ]
    return cells
