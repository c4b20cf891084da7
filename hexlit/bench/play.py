"""Games without a network, searches, and self-play: in this process, in processes of its own, and on a Ray cluster."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain
from statistics import fmean, median, pstdev
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray

from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.loader import measure_window
from hexlit.bench.measure import Measurement, Outcome, Subject, beside, measure_rate, name_of, short
from hexlit.hex.engine import empty_stones
from hexlit.hex.geometry import geometry
from hexlit.hex.playout import playouts, random_games
from hexlit.hex.record import GameRecord
from hexlit.search.config import ALGORITHMS, SearchConfig
from hexlit.search.search import TreeSearch
from hexlit.selfplay.actor import GamesSettings, SelfPlay, SelfPlayCounts
from hexlit.selfplay.cluster import RayPlayers
from hexlit.selfplay.hosts import HostMaker, elsewhere_from, weights_of
from hexlit.selfplay.placement import placement_of
from hexlit.selfplay.players import NetworkHost, PlayerSettings, RoundRequest, SelfPlayer, make_player

SEARCHED_GAMES = 256
LEAVES = (1, 4, 8, 16)
COUNTS = (1, 2, 4)
"""Numbers of processes at a time, one line each."""
SIDE_BY_SIDE, SAMPLE = 16, 64
"""Games played to measure their length: number at a time, and least number in all."""
NO_END = 10**9
WARM_UP = 40
"""Longest wait, in lengths of a measurement, until games are at different stages; large boards need longer."""


def measure_games(subject: Subject) -> Outcome:
    """Random games on one core: move by move to the end, and random fillings with only the winner computed."""
    size = subject.config.board
    table = geometry(size)
    moves, lengths = np.zeros((64, size * size), np.int16), np.zeros(64, np.int16)
    stones, room, cells = empty_stones(1, size), np.zeros(size * size, np.int16), np.zeros(size * size, np.int8)

    def complete_games(rounds: int) -> float:
        random_games(1000 * rounds, 1, table, moves, stones, lengths)
        return 1000.0 * rounds

    def fillings(rounds: int) -> float:
        playouts(cells, 1, 1000 * rounds, np.uint64(1), size, room)
        return 1000.0 * rounds

    works = {"complete random games": complete_games, "random playouts, winner only": fillings}
    on: dict[str, Any] = {"device": "cpu", "threads": 1}
    lines = [measure_rate(subject.config, work, what, "games/s", subject.profile, **on) for what, work in works.items()]
    return Outcome(lines)


class FreeEvaluator:
    """Keeps the answers that were written once."""

    def evaluate(self, planes: Any, policy: Any, value: Any) -> None:
        """Do nothing."""


def measure_search(subject: Subject) -> Outcome:
    """Simulations per second of many games with a free evaluator, on one thread and on all."""
    size, random = subject.config.board, np.random.default_rng(0)
    policy = random.dirichlet(np.full(size * size, 0.3), SEARCHED_GAMES).astype(np.float32)
    value = random.uniform(-1, 1, SEARCHED_GAMES).astype(np.float32)
    cells, to_move = np.zeros((SEARCHED_GAMES, size * size), np.int8), np.ones(SEARCHED_GAMES, np.int8)

    def measure(algorithm: str, simulations: int, threads: int) -> Measurement:
        search = TreeSearch(SearchConfig(algorithm=algorithm, simulations=simulations), size=size, games=SEARCHED_GAMES)
        search.batch.policy[:], search.batch.value[:] = policy, value

        def searches(rounds: int) -> float:
            for _ in range(rounds):
                search.run(cells, to_move, FreeEvaluator())
            return float(SEARCHED_GAMES * simulations * rounds)

        what, on = f"search {algorithm}, {simulations} simulations", dict[str, Any](device="cpu", threads=threads)
        return measure_rate(subject.config, searches, what, "simulations/s", subject.profile, **on)

    before, lines = numba.get_num_threads(), []
    for threads in sorted({1, before}):
        numba.set_num_threads(threads)
        lines += [measure(algorithm, count, threads) for algorithm in ALGORITHMS for count in (32, 200)]
    numba.set_num_threads(before)
    return Outcome(lines)


def measure_leaves(subject: Subject) -> Outcome:
    """Simulations per second of one game after another, by leaves per call.

    Twice: with virtual loss alone, and with root batching. Each line has its ratio to the first, which has one leaf.
    """
    ways = [(leaves, root_batch) for root_batch in (False, True) for leaves in LEAVES if leaves > 1 or not root_batch]
    first, *lines = (
        _measure_leaves(subject, replace(subject.config.search, leaves=leaves, root_batch=root_batch))
        for leaves, root_batch in ways
    )
    return Outcome([first, *(beside(line, first.median, "{ratio:.2f} times the rate of 1 leaf") for line in lines)])


def _measure_leaves(subject: Subject, config: SearchConfig) -> Measurement:
    size, profile, evaluator = subject.config.board, subject.profile, subject.evaluator(config.leaves)
    search = TreeSearch(config, size=size, games=1)
    cells, colours = _openings(size)
    turn = 0

    def searches(rounds: int) -> float:
        nonlocal turn
        for _ in range(rounds):
            row = turn % len(cells)
            search.run(cells[row, None], colours[row, None], evaluator)
            turn += 1
        return float(config.simulations * rounds)

    leaves = f"{config.leaves} {'root moves' if config.root_batch else 'leaves'}" if config.leaves > 1 else "1 leaf"
    what = f"{config.algorithm}, {config.simulations} simulations, one game, {subject.net_name}: {leaves} a call"
    line = measure_rate(subject.config, searches, what, "simulations/s", profile, name_of(evaluator))
    calls, used = search.evaluator_calls / turn, search.rows_used / (search.evaluator_calls * search.rows)
    return replace(
        line,
        milliseconds=1000 * config.simulations / line.median if line.median else None,
        detail=f"{calls:.1f} calls a move, {used:.0%} of their rows used",
    )


def _openings(size: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Positions after 0 to 3 stones, and the colours to move: cells int8 `[4, size*size]`, int8 `[4]`."""
    colours = np.array([1, -1, 1, -1], np.int8)
    cells = np.zeros((4, size * size), np.int8)
    for stones, cell in enumerate(np.random.default_rng(0).permutation(size * size)[:3], start=1):
        cells[stones:, cell] = colours[stones - 1]
    return cells, colours


def measure_selfplay(subject: Subject) -> Outcome:
    """Evaluations per second in self-play, and the share of time outside the network call: plain float32 first."""
    profile = subject.profile
    own = replace(profile, inference="eager", inference_dtype=torch.float32), profile
    return Outcome([_measure_way(subject, one) for one in dict.fromkeys(own)])


def _measure_way(subject: Subject, profile: DeviceProfile) -> Measurement:
    config, size = subject.config, subject.config.board
    where = placement_of(config.selfplay, profile.device.type, profile.threads)
    evaluator = subject.evaluator(where.batch, profile)  # the batch of each group
    # In ongoing self-play the games are at different stages, so the first ones end soon too.
    selfplay = replace(config.selfplay, opening_share=1.0, opening_plies=size**2 * 2 // 3)
    games = where.batch * where.groups
    actor = SelfPlay(GamesSettings(selfplay, config.search, size, games, seed=0, groups=where.groups))
    done: list[SelfPlayCounts] = []

    def play(rounds: int) -> float:
        done.append(actor.play(evaluator, positions=NO_END, deadline=time.monotonic() + config.seconds * rounds))
        return float(done[-1].evaluations)

    what = f"self-play {subject.net_name}, {config.search.algorithm} {config.search.simulations}"
    line = measure_rate(config, play, what, "evaluations/s", profile, name_of(evaluator))
    share = median(1 - counts.network_seconds / counts.seconds for counts in done[-config.repeats :])
    rate = median(counts.games / counts.seconds for counts in done[-config.repeats :])
    return replace(line, detail=f"{share:.1%} of the time outside the network, {rate:.1f} games/s")


def measure_workers(subject: Subject) -> Outcome:
    """Evaluations per second of self-play in 1, 2 and 4 worker processes, which share the threads."""
    return Outcome([_measure_workers(subject, count, subject.profile.share(count)) for count in COUNTS])


def _measure_workers(subject: Subject, count: int, hardware: DeviceProfile) -> Measurement:
    place = _workplace(subject, count, partial(HostMaker, hardware=hardware))
    with closing(make_player(place, count)) as player:
        return _measure_player(subject, player, count, "worker", hardware.threads)


def measure_actors(subject: Subject) -> Outcome:
    """Evaluations per second of self-play in 1, 2 and 4 workers, and in as many actors of the cluster `ray`.

    All have the threads of an actor. A round before the measurement sets them up.

    Raises:
        UsageError: there is no such cluster.
    """
    cluster, actors = subject.config.ray, []
    here = replace(subject.profile, threads=cluster.threads)
    there = elsewhere_from(subject.config.accelerator, cluster.device, cluster.threads)
    workers = [_measure_workers(subject, count, here) for count in COUNTS]
    for count in COUNTS:  # after all workers: no process starts in one that was in a cluster
        place = _workplace(subject, count, partial(HostMaker, hardware=there))
        with closing(RayPlayers(place, count, cluster)) as players:
            players.prepare()
            line = _measure_player(subject, players, count, "actor", cluster.threads)
            actors.append(replace(line, device=cluster.device))
    return Outcome(list(chain.from_iterable(zip(workers, actors, strict=True))))


def _workplace(
    subject: Subject, workers: int, maker: Callable[..., Callable[[], NetworkHost]], games: int | None = None
) -> PlayerSettings:
    """The work of `workers` processes: `games`, or as many as fill a call; `maker` gets the evaluator."""
    config, profile = subject.config, subject.profile
    where = placement_of(config.selfplay, profile.device.type, profile.threads)
    groups, rows = replace(where, workers=workers).cut(games or where.batch)
    settings = GamesSettings(config.selfplay, config.search, config.board, games or where.batch, seed=0, groups=groups)
    return PlayerSettings(settings, maker(net=subject.net.config, size=config.board, swap=False, batch=rows))


def _play(subject: Subject, player: SelfPlayer, seconds: float, positions: int = NO_END) -> SelfPlayCounts:
    weights = weights_of(subject.net)
    return player.play(RoundRequest(weights, positions, 0, no_games, deadline=time.monotonic() + seconds))


def _measure_player(subject: Subject, player: SelfPlayer, count: int, kind: str, threads: int) -> Measurement:
    """Evaluations and games per second of `player`, which is `count` processes of a `kind`."""
    config, done = subject.config, list[SelfPlayCounts]()

    def play(rounds: int) -> float:
        done.append(_play(subject, player, config.seconds * rounds))
        return float(done[-1].evaluations)

    what = f"self-play in {count} {kind}{'s' if count > 1 else ''}, {subject.net_name}"
    precision = short(subject.profile.inference_dtype)
    line = measure_rate(config, play, what, "evaluations/s", subject.profile, precision, threads=threads * count)
    games, seconds = (sum(getattr(one, name) for one in done[-config.repeats :]) for name in ("games", "seconds"))
    return replace(line, detail=f"{games / seconds:.1f} games/s")


def no_games(records: list[GameRecord], counts: object) -> None:
    """Drop the games that are measured."""


def measure_pace(subject: Subject) -> Outcome:
    """The section `pace` of `bench.json` (`hexlit.planning.plan.Pace` reads it).

    Self-play is measured in one process, with all, some and few of the games, and in a process on each core. Training
    is measured on batches of games, loaded as in a run.
    """
    profile, games, cores = subject.profile, subject.config.selfplay.games, subject.profile.threads
    leaves, content = sample_games(subject)
    lines, actors = [], []
    layouts = [(1, max(1, games // parts)) for parts in (1, 4, 16, 64)] + [(cores, max(1, games // cores))]
    for processes, each in dict.fromkeys(layouts):
        line = _measure_processes(subject, leaves, processes, each)
        lines.append(line)
        actors.append({"processes": processes, "games": each, "positions_per_second": line.median})
    fed = measure_window(subject)[-1]
    pace: dict[str, Any] = {"cores": cores, "actors": actors, "training_positions_per_second": fed.median, **content}
    pace["training_threads"] = cores if profile.device.type == "cpu" else 0
    pace["weights_bytes"] = sum(array.nbytes for array in weights_of(subject.net).values())
    return Outcome([*lines, fed], pace=pace)


def sample_games(subject: Subject) -> tuple[float, dict[str, float]]:
    """Leaves per position searched in full, evaluated or recalled, and the content of the recipe's first games."""
    config, alone = subject.config, replace(subject.profile, threads=1)
    actor = SelfPlay(GamesSettings(config.selfplay, config.search, config.board, SIDE_BY_SIDE, seed=0))
    evaluator = subject.evaluator(SIDE_BY_SIDE, alone)
    ended: list[GameRecord] = []
    leaves = 0
    while len(ended) < SAMPLE:
        counts = actor.play(evaluator, positions=SAMPLE, on_games=lambda records, counts: ended.extend(records))
        leaves += counts.evaluations + counts.recalled
    # A simulation that ends the game needs no network, so leaves are fewer than simulations.
    simulations = sum(int(record.simulations.sum()) for record in ended)
    leaves_of_each = leaves / (simulations + int(actor.snapshot()["simulations"].sum()))
    positions = [len(record.policy_plies) for record in ended]
    arrays = [part for record in ended for part in vars(record).values() if isinstance(part, np.ndarray)]
    content = {
        "positions_per_game": fmean(positions),
        "positions_per_game_deviation": pstdev(positions),
        "bytes_per_game": sum(part.nbytes for part in arrays) / len(ended),
    }
    return leaves_of_each * simulations / max(1, sum(positions)), content


def _measure_processes(subject: Subject, leaves: float, processes: int, each: int) -> Measurement:
    """Positions of `leaves` each per second, of `processes` with one thread and `each` games."""
    maker = partial(HostMaker, hardware=replace(subject.profile, threads=1))
    place, seconds = _workplace(subject, processes, maker, each * processes), subject.config.seconds
    with closing(make_player(place, processes)) as player:

        def play(rounds: int) -> float:
            counts = _play(subject, player, seconds * rounds)
            return float(counts.evaluations + counts.recalled) / leaves

        # In ongoing self-play the games are at different stages, and late positions are faster to search.
        _play(subject, player, WARM_UP * seconds, 2 * each * processes)
        what = f"self-play {subject.net_name}, {processes} process{'es' if processes > 1 else ''} of {each} games"
        precision = short(subject.profile.inference_dtype)
        return measure_rate(subject.config, play, what, "positions/s", subject.profile, precision, threads=processes)
