"""Self-play: in this process, and in processes of its own."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from statistics import median

import torch

from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.evaluation import Way, net_name, own_way, short
from hexlit.bench.measure import Effort, Measurement, Setting, measure_rate
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.tower import HexNet
from hexlit.search.config import SearchConfig
from hexlit.selfplay.actor import GamesSettings, SelfPlay
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.placement import placement_of
from hexlit.selfplay.players import NetworkHost, PlayerSettings, RoundRequest, SelfPlayer, make_player
from hexlit.tasks.hex.players import HostMaker, Weights, weights_of

COUNTS = (1, 2, 4)
"""Numbers of processes at a time, one line each."""


@dataclass(frozen=True)
class Game:
    """Rules, self-play and search of the games."""

    size: int
    search: SearchConfig
    selfplay: SelfPlayConfig


def measure_selfplay(net: HexNet, game: Game, effort: Effort, profile: DeviceProfile) -> list[Measurement]:
    """Evaluations per second in self-play, and the share of time outside the network call: plain float32 first."""
    ways = dict.fromkeys([Way("eager", torch.float32), own_way(profile)])
    return [_measure_way(way, net, game, effort, profile) for way in ways]


def _measure_way(way: Way, net: HexNet, game: Game, effort: Effort, profile: DeviceProfile) -> Measurement:
    where = placement_of(game.selfplay, profile.device.type, profile.threads)
    batch = where.batch  # of each group
    asked = replace(profile, inference=way.backend, inference_dtype=way.dtype)
    evaluator = NetworkEvaluator(net.eval(), size=game.size, swap=False, batch=batch, profile=asked)
    # In ongoing self-play the games are at different stages, so the first ones end soon too.
    selfplay = replace(game.selfplay, opening_share=1.0, opening_plies=game.size**2 * 2 // 3)
    games_at_once = batch * where.groups
    actor = SelfPlay(GamesSettings(selfplay, game.search, game.size, games_at_once, seed=0, groups=where.groups))
    shares, games = [], []

    def play(rounds: int) -> float:
        counts = actor.play(evaluator, positions=10**9, deadline=time.monotonic() + effort.seconds * rounds)
        shares.append(1 - counts.network_seconds / counts.seconds)
        games.append(counts.games / counts.seconds)
        return float(counts.evaluations)

    on = Setting.of(profile, f"{evaluator.backend} {short(evaluator.dtype)}")
    what = f"self-play {net_name(net)}, {game.search.algorithm} {game.search.simulations}"
    line = measure_rate(effort, play, what=what, unit="evaluations/s", on=on, profile=profile)
    share, rate = median(shares[-effort.repeats :]), median(games[-effort.repeats :])
    return replace(line, detail=f"{share:.1%} of the time outside the network, {rate:.1f} games/s")


def measure_workers(net: HexNet, game: Game, effort: Effort, profile: DeviceProfile) -> list[Measurement]:
    """Evaluations per second of self-play in 1, 2 and 4 worker processes, which share the threads."""
    result = []
    for workers in COUNTS:
        share = profile.share(workers)
        place = workplace(net, game, profile, workers, partial(HostMaker, hardware=share))
        player = make_player(place, workers)
        on = Setting(str(profile.device), share.threads * workers, short(profile.inference_dtype))
        what = f"self-play in {workers} worker{'s' if workers > 1 else ''}, {net_name(net)}"
        result.append(measure_player(player, weights_of(net), effort, what, on, profile))
        player.close()
    return result


def workplace(
    net: HexNet, game: Game, profile: DeviceProfile, workers: int, maker: Callable[..., Callable[[], NetworkHost]]
) -> PlayerSettings:
    """The work of `workers` processes: as many games as fill a call of this device; `maker` gets the evaluator."""
    where = placement_of(game.selfplay, profile.device.type, profile.threads)
    groups, rows = replace(where, workers=workers).cut(where.batch)
    settings = GamesSettings(game.selfplay, game.search, game.size, where.batch, seed=0, groups=groups)
    return PlayerSettings(settings, maker(net=net.config, size=game.size, swap=False, batch=rows))


def measure_player(
    player: SelfPlayer, weights: Weights, effort: Effort, what: str, on: Setting, profile: DeviceProfile
) -> Measurement:
    """Evaluations and games per second of `player`."""
    ended: list[tuple[int, float]] = []

    def play(rounds: int) -> float:
        deadline = time.monotonic() + effort.seconds * rounds
        counts = player.play(RoundRequest(weights, 10**9, 0, on_games=lambda records, counts: None, deadline=deadline))
        ended.append((counts.games, counts.seconds))
        return float(counts.evaluations)

    line = measure_rate(effort, play, what=what, unit="evaluations/s", on=on, profile=profile)
    finished, seconds = (sum(column) for column in zip(*ended[-effort.repeats :], strict=True))
    return replace(line, detail=f"{finished / seconds:.1f} games/s")
