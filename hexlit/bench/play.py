"""The exact solver, searches, and self-play, in this process and in others."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain, product
from statistics import fmean, median, pstdev
from typing import Any

import numpy as np
import torch

from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.forward import name_of
from hexlit.bench.measure import Measurement, Outcome, Subject, line_of, measure_rate, short
from hexlit.bench.training import measure_window, window_batches
from hexlit.hex.jit import kernel_threads, restored_threads, use_threads
from hexlit.hex.record import GameRecord
from hexlit.hex.solver import ExactSolver
from hexlit.search.config import ALGORITHMS, SearchConfig
from hexlit.search.search import TreeSearch
from hexlit.selfplay.actor import GamesSettings, SelfPlay, SelfPlayCounts
from hexlit.selfplay.placement import HostMaker, placement_of, weights_of
from hexlit.selfplay.workers import PlayerSettings, RoundRequest, SelfPlayer, make_player

PLIES = {2: 1, 3: 2, 4: 4, 5: 4, 6: 6, 7: 8, 8: 16}
"""Random stones on the solved positions, by size of the board."""
POSITIONS = 50
OPENINGS_UP_TO, REPEATED_UP_TO = 7, 6
"""Largest boards for the openings, and for repeating them."""
SEARCHED_GAMES = 256
SIDE_BY_SIDE, SAMPLE = 16, 64
"""Games played to measure their length: number at a time, and least number in all."""
NO_END = 10**9
WARM_UP = 40
"""Longest wait, in lengths of a measurement, until games are at different stages; large boards need
longer.
"""


def measure_solver(subject: Subject) -> Outcome:
    """One thread of the processor: lines in nodes per second.

    `milliseconds` of a line is the time for all openings, or for one position; a solver begins with
    an empty table. Raises `UsageError` for a board that the solver does not support.
    """
    config = subject.config
    size = subject.config.board
    ExactSolver(size)
    _, first = _solved(ExactSolver(3), ExactSolver.solve, [np.zeros(9, np.int8)], 1)
    lines: list[Measurement] = []

    def add(what: str, figures: Sequence[tuple[int, float]], detail: str, **more: float) -> None:
        rates = [nodes / taken for nodes, taken in figures]
        seconds = median(taken for _, taken in figures)
        fields: dict[str, Any] = {
            "device": "cpu",
            "threads": 1,
            "milliseconds": 1000 * seconds,
            "detail": detail,
        }
        lines.append(line_of(what, "nodes/s", subject.profile, rates=rates, **fields | more))

    random = np.random.default_rng(size)
    plies = PLIES[size]
    stones = np.resize(np.array([1, -1], np.int8), plies)
    positions = np.zeros((POSITIONS, size * size), np.int8)
    for cells in positions:
        cells[random.permutation(size * size)[:plies]] = stones
    for what, ask in {"winner": ExactSolver.wins, "winning moves": ExactSolver.solve}.items():
        figures = [
            _solved(ExactSolver(size), ask, [cells], 1 - 2 * (plies % 2)) for cells in positions
        ]
        longest = max(seconds for _, seconds in figures)
        detail = f"one of {POSITIONS}; {longest:.2f} s at most"
        add(f"{what} after {plies} random plies", figures, detail, first_call_seconds=first)
    if size <= OPENINGS_UP_TO:
        openings = np.eye(size * size, dtype=np.int8)
        repeats = config.repeats if size <= REPEATED_UP_TO else 1
        figures = [
            _solved(ExactSolver(size), ExactSolver.wins, openings, -1) for _ in range(repeats)
        ]
        add(f"all openings of {size}x{size}", figures, f"{figures[0][0]:,} nodes")
    return Outcome(lines)


def _solved(
    solver: ExactSolver, ask: Callable[..., Any], positions: Iterable[Any], to_move: int
) -> tuple[int, float]:
    """Nodes and seconds for all `positions`."""
    nodes = 0
    start = time.perf_counter()
    for cells in positions:
        ask(solver, cells, to_move)
        nodes += solver.nodes
    return nodes, time.perf_counter() - start


class FreeEvaluator:
    """Keeps the answers that were written once."""

    def evaluate(self, planes: Any, policy: Any, value: Any) -> None:
        """Do nothing."""


def measure_search(subject: Subject) -> Outcome:
    """Simulations per second of many games with a free evaluator, on one thread and on all."""
    size = subject.config.board
    random = np.random.default_rng(0)
    policy = random.dirichlet(np.full(size * size, 0.3), SEARCHED_GAMES).astype(np.float32)
    value = random.uniform(-1, 1, SEARCHED_GAMES).astype(np.float32)
    cells = np.zeros((SEARCHED_GAMES, size * size), np.int8)
    to_move = np.ones(SEARCHED_GAMES, np.int8)

    def measure(algorithm: str, simulations: int, threads: int) -> Measurement:
        search = TreeSearch(
            SearchConfig(algorithm=algorithm, simulations=simulations),
            size=size,
            games=SEARCHED_GAMES,
        )
        search.batch.policy[:] = policy
        search.batch.value[:] = value

        def searches() -> float:
            search.run(cells, to_move, FreeEvaluator())
            return SEARCHED_GAMES * simulations

        what = f"search {algorithm}, {simulations} simulations"
        on = dict[str, Any](device="cpu", threads=threads)
        return measure_rate(subject.config, searches, what, "simulations/s", subject.profile, **on)

    lines = []
    with restored_threads():
        for threads in sorted({1, kernel_threads()}):
            use_threads(threads)
            for algorithm, count in product(ALGORITHMS, (32, 200)):
                lines.append(measure(algorithm, count, threads))
    return Outcome(lines)


def measure_selfplay(subject: Subject) -> Outcome:
    """Evaluations per second in self-play: plain float32 first, then the profile as it is."""
    profile = subject.profile
    own = replace(profile, inference="eager", inference_dtype=torch.float32), profile
    return Outcome([_measure_way(subject, one) for one in dict.fromkeys(own)])


def _measure_way(subject: Subject, profile: DeviceProfile) -> Measurement:
    config = subject.config
    size = subject.config.board
    where = placement_of(config.selfplay, profile.device.type, profile.threads)
    evaluator = subject.evaluator(where.batch, profile)  # the batch of each group
    # In ongoing self-play the games are at different stages, so the first ones end soon too.
    selfplay = replace(config.selfplay, opening_share=1.0, opening_plies=size**2 * 2 // 3)
    games = where.batch * where.groups
    settings = GamesSettings(selfplay, config.search, size, games, seed=0, groups=where.groups)
    actor = SelfPlay(replace(settings, cached_answers=where.cached_answers))

    def play(seconds: float) -> SelfPlayCounts:
        return actor.play(evaluator, positions=NO_END, deadline=time.monotonic() + seconds)

    what = f"self-play {subject.net_name}, {config.search.algorithm} {config.search.simulations}"
    return _measure_play(subject, play, what, name_of(evaluator))


def _measure_play(
    subject: Subject,
    play: Callable[[float], SelfPlayCounts],
    what: str,
    precision: str,
    leaves: float = 0,
    **on: Any,
) -> Measurement:
    """Evaluations per second of `play`, which plays for some seconds; its time outside the network,
    and its games.

    With `leaves` of each, positions per second. `on` are further fields of the line.
    """
    config = subject.config
    done = list[SelfPlayCounts]()

    def units() -> float:
        done.append(play(config.seconds))
        return (
            (done[-1].evaluations + done[-1].recalled) / leaves if leaves else done[-1].evaluations
        )

    unit = "positions/s" if leaves else "evaluations/s"
    line = measure_rate(config, units, what, unit, subject.profile, precision, **on)
    counts = [[one.games, one.network_seconds, one.seconds] for one in done[-config.repeats :]]
    games, network, seconds = map(sum, zip(*counts, strict=True))
    detail = f"{1 - network / seconds:.1%} of the time outside the network, {games / seconds:.1f} games/s"
    return replace(line, detail=detail)


def _workplace(
    subject: Subject,
    workers: int,
    profile: DeviceProfile,
    games: int,
) -> PlayerSettings:
    """The work of `workers` processes with the `profile` of each, on `games` games in all."""
    config = subject.config
    where = placement_of(config.selfplay, profile.device.type, subject.profile.threads)
    groups, rows = replace(where, workers=workers).cut(games)
    settings = GamesSettings(
        config.selfplay, config.search, config.board, games, seed=0, groups=groups
    )
    settings = replace(settings, cached_answers=where.cached_answers)
    make_host = HostMaker(subject.net.config, config.board, False, rows, profile)
    return PlayerSettings(settings, make_host)


def _play(
    subject: Subject, player: SelfPlayer, seconds: float, positions: int = NO_END
) -> SelfPlayCounts:
    weights = weights_of(subject.net)
    return player.play(RoundRequest(weights, positions, 0, deadline=time.monotonic() + seconds))


def _format(subject: Subject) -> str:
    """The number format that a process with one thread evaluates in."""
    return short(subject.evaluator(SIDE_BY_SIDE, replace(subject.profile, threads=1)).dtype)


def measure_pace(subject: Subject) -> Outcome:
    """The section `pace` of `bench.json` (`hexlit.planning.plan.Pace` reads it).

    Self-play is measured in one process, with all, some and few of the games, and in a process on
    each core. Training is measured on batches of games, loaded as in a run.
    """
    profile = subject.profile
    games = subject.config.selfplay.games
    cores = subject.profile.threads
    leaves, content = sample_games(subject)
    lines = []
    actors = []
    layouts = [(1, max(1, games // parts)) for parts in (1, 4, 16, 64)] + [
        (cores, max(1, games // cores))
    ]
    for processes, each in dict.fromkeys(layouts):
        line = _measure_processes(subject, leaves, processes, each)
        lines.append(line)
        actors.append({"processes": processes, "games": each, "positions_per_second": line.median})
    fed = measure_window(subject, window_batches(subject))
    pace: dict[str, Any] = {
        "cores": cores,
        "actors": actors,
        "training_positions_per_second": fed.median,
        **content,
    }
    pace["training_threads"] = cores if profile.device.type == "cpu" else 0
    pace["weights_bytes"] = sum(array.nbytes for array in weights_of(subject.net).values())
    return Outcome([*lines, fed], pace=pace)


def sample_games(subject: Subject) -> tuple[float, dict[str, float]]:
    """Leaves per position searched in full, evaluated or recalled, and the content of the recipe's
    first games.
    """
    config = subject.config
    alone = replace(subject.profile, threads=1)
    actor = SelfPlay(
        GamesSettings(config.selfplay, config.search, config.board, SIDE_BY_SIDE, seed=0)
    )
    evaluator = subject.evaluator(SIDE_BY_SIDE, alone)
    ended: list[GameRecord] = []
    leaves = 0
    while len(ended) < SAMPLE:
        counts = actor.play(
            evaluator, positions=SAMPLE, on_games=lambda records, counts: ended.extend(records)
        )
        leaves += counts.evaluations + counts.recalled
    # A simulation that ends the game needs no network, so leaves are fewer than simulations.
    simulations = sum(int(record.simulations.sum()) for record in ended)
    leaves_of_each = leaves / (simulations + int(actor.snapshot()["simulations"].sum()))
    positions = [len(record.policy_plies) for record in ended]
    parts = chain.from_iterable(vars(record).values() for record in ended)
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    content = {
        "positions_per_game": fmean(positions),
        "positions_per_game_deviation": pstdev(positions),
        "bytes_per_game": sum(part.nbytes for part in arrays) / len(ended),
    }
    return leaves_of_each * simulations / max(1, sum(positions)), content


def _measure_processes(subject: Subject, leaves: float, processes: int, each: int) -> Measurement:
    """Positions of `leaves` each per second, of `processes` with one thread and `each` games."""
    place = _workplace(subject, processes, replace(subject.profile, threads=1), each * processes)
    with closing(make_player(place, processes)) as player:
        # In ongoing self-play the games are at different stages, and late positions are faster to
        # search.
        _play(subject, player, WARM_UP * subject.config.seconds, 2 * each * processes)
        what = f"self-play {subject.net_name}, {processes} process{'es' if processes > 1 else ''} of {each} games"
        play = partial(_play, subject, player)
        return _measure_play(subject, play, what, _format(subject), leaves, threads=processes)
