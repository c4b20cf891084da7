"""The pace of a recipe on this machine: the basis of `hexlit plan` for larger machines."""

import time
from contextlib import closing
from dataclasses import dataclass, replace
from statistics import fmean, pstdev
from typing import Any

import numpy as np

from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.evaluation import net_name, short
from hexlit.bench.loader import measure_loader
from hexlit.bench.measure import Effort, Measurement, Setting, measure_rate
from hexlit.bench.play import Game
from hexlit.bench.positions import Recipe
from hexlit.hex.record import GameRecord
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.tower import HexNet
from hexlit.selfplay.actor import GamesSettings, SelfPlay, SelfPlayCounts
from hexlit.selfplay.placement import placement_of
from hexlit.selfplay.players import PlayerSettings, RoundRequest, make_player
from hexlit.tasks.hex.players import HostMaker, weights_of

SIDE_BY_SIDE, SAMPLE = 16, 64
"""Games played to measure their length: number at a time, and least number in all."""

NO_END = 10**9
WARM_UP = 40
"""Longest wait, in lengths of a measurement, until games are at different stages; large boards need longer."""


@dataclass(frozen=True)
class Sample:
    """The content of the recipe's games."""

    positions: list[int]
    """Positions searched in full, by game."""
    leaves_per_position: float
    """Leaves per such position that were evaluated or recalled."""
    bytes_per_game: float


def measure_pace(
    net: HexNet, game: Game, recipe: Recipe, effort: Effort, profile: DeviceProfile
) -> tuple[list[Measurement], dict[str, Any]]:
    """Lines of a table, and the section `pace` of `bench.json` (`hexlit.planning.plan.Pace` reads it).

    Self-play is measured in one process, with all, some and few of the games, and in a process on each core. Training
    is measured on batches of games, loaded as in a run.
    """
    cores = profile.threads
    sample = sample_games(net, game, profile)
    lines, actors = [], []
    games = game.selfplay.games
    layouts = [(1, max(1, games // parts)) for parts in (1, 4, 16, 64)] + [(cores, max(1, games // cores))]
    for processes, each in dict.fromkeys(layouts):
        line = measure_processes(net, game, sample, (processes, each), effort, profile)
        lines.append(line)
        actors.append({"processes": processes, "games": each, "positions_per_second": line.median})
    fed = measure_loader(net, game, recipe, effort, profile)[-1]
    weights = weights_of(net)
    pace = {
        "cores": cores,
        "actors": actors,
        "training_positions_per_second": fed.median,
        "training_threads": cores if profile.device.type == "cpu" else 0,
        "positions_per_game": fmean(sample.positions),
        "positions_per_game_deviation": pstdev(sample.positions),
        "bytes_per_game": sample.bytes_per_game,
        "weights_bytes": sum(array.nbytes for array in weights.values()),
    }
    return [*lines, fed], pace


def no_games(records: list[GameRecord], counts: SelfPlayCounts) -> None:
    """Drop the games that are measured."""


def sample_games(net: HexNet, game: Game, profile: DeviceProfile) -> Sample:
    """The first finished games of the recipe, and the amount of their searches."""
    actor = SelfPlay(GamesSettings(game.selfplay, game.search, game.size, SIDE_BY_SIDE, seed=0))
    alone = replace(profile, threads=1)
    evaluator = NetworkEvaluator(net.eval(), size=game.size, swap=False, batch=SIDE_BY_SIDE, profile=alone)
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
    return Sample(
        positions=positions,
        leaves_per_position=leaves_of_each * simulations / max(1, sum(positions)),
        bytes_per_game=sum(part.nbytes for part in arrays) / len(ended),
    )


def measure_processes(
    net: HexNet, game: Game, sample: Sample, layout: tuple[int, int], effort: Effort, profile: DeviceProfile
) -> Measurement:
    """Positions per second of a `layout`: a number of processes with one thread each, and their number of games."""
    processes, each = layout
    where = replace(placement_of(game.selfplay, profile.device.type, profile.threads), workers=processes)
    groups, rows = where.cut(each * processes)
    alone = replace(profile, threads=1)
    settings = GamesSettings(game.selfplay, game.search, game.size, each * processes, seed=0, groups=groups)
    maker = HostMaker(net.config, game.size, False, rows, alone)
    player = make_player(PlayerSettings(settings, maker), processes)
    weights = weights_of(net)

    def play(rounds: int) -> float:
        deadline = time.monotonic() + effort.seconds * rounds
        counts = player.play(RoundRequest(weights, NO_END, 0, no_games, deadline))
        return (counts.evaluations + counts.recalled) / sample.leaves_per_position

    with closing(player):
        # In ongoing self-play the games are at different stages, and late positions are faster to search.
        deadline = time.monotonic() + WARM_UP * effort.seconds
        player.play(RoundRequest(weights, 2 * each * processes, 0, no_games, deadline))
        what = f"self-play {net_name(net)}, {processes} process{'es' if processes > 1 else ''} of {each} games"
        on = Setting(str(profile.device), processes, short(profile.inference_dtype))
        return measure_rate(effort, play, what=what, unit="positions/s", on=on, profile=profile)
