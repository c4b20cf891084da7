"""Self-play: in this process, and in processes of its own."""

import time
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import torch

from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.evaluation import Way, net_name, own_way, short
from hexlit.bench.measure import Effort, Measurement, Setting, measure_rate
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.tower import HexNet
from hexlit.search.config import SearchConfig
from hexlit.selfplay.actor import SelfPlay
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.placement import placement_of
from hexlit.selfplay.player import Workplace
from hexlit.selfplay.workers import make_player
from hexlit.tasks.hex.host import HostMaker, weights_of


@dataclass(frozen=True)
class Game:
    """What is played, and how it is searched."""

    size: int
    search: SearchConfig
    selfplay: SelfPlayConfig


def measure_selfplay(net: HexNet, game: Game, effort: Effort, profile: DeviceProfile) -> list[Measurement]:
    """Evaluations a second in self-play, and the share of its time outside the network call: plain float32 first."""
    ways = dict.fromkeys([Way("eager", torch.float32), own_way(profile)])
    return [_measure_way(way, net, game, effort, profile) for way in ways]


def _measure_way(way: Way, net: HexNet, game: Game, effort: Effort, profile: DeviceProfile) -> Measurement:
    where = placement_of(game.selfplay, profile.device.type, profile.threads)
    batch = where.batch  # of each group
    asked = replace(profile, inference=way.path, inference_dtype=way.dtype)
    evaluator = NetworkEvaluator(net.eval(), size=game.size, swap=False, batch=batch, profile=asked)
    # As in the midst of self-play, every game is somewhere else; so the first ones end soon, too.
    selfplay = replace(game.selfplay, opening_share=1.0, opening_plies=game.size**2 * 2 // 3)
    actor = SelfPlay(selfplay, game.search, size=game.size, games=batch * where.groups, groups=where.groups, seed=0)
    shares, games = [], []

    def play(rounds: int) -> float:
        counts = actor.play(evaluator, positions=10**9, deadline=time.monotonic() + effort.seconds * rounds)
        shares.append(1 - counts.network_seconds / counts.seconds)
        games.append(counts.games / counts.seconds)
        return float(counts.evaluations)

    on = Setting.of(profile, f"{evaluator.path} {short(evaluator.dtype)}")
    what = f"self-play {net_name(net)}, {game.search.algorithm} {game.search.simulations}"
    line = measure_rate(effort, play, what=what, unit="evaluations/s", on=on, profile=profile)
    share, rate = median(shares[-effort.repeats :]), median(games[-effort.repeats :])
    return replace(line, detail=f"{share:.1%} of the time outside the network, {rate:.1f} games/s")


def measure_workers(net: HexNet, game: Game, effort: Effort, profile: DeviceProfile) -> list[Measurement]:
    """Evaluations a second of self-play in 1, 2 and 4 worker processes, which share the threads."""
    weights = weights_of(net)
    settings = {"config": game.selfplay, "search": game.search, "size": game.size, "seed": 0}
    where = placement_of(game.selfplay, profile.device.type, profile.threads)
    games = where.batch
    found = []
    for workers in (1, 2, 4):
        groups, rows = replace(where, workers=workers).cut(games)
        share = profile.share(workers)
        maker = HostMaker(net.config, game.size, False, rows, share)
        sizes = {"games": games, "groups": groups}
        player = make_player(Workplace(settings | sizes, maker), workers)
        ended: list[tuple[int, float]] = []

        def play(rounds: int, player: Any = player, ended: list[tuple[int, float]] = ended) -> float:
            counts = player.play(
                weights,
                positions=10**9,
                network_version=0,
                on_games=lambda records, counts: None,
                deadline=time.monotonic() + effort.seconds * rounds,
            )
            ended.append((counts.games, counts.seconds))
            return float(counts.evaluations)

        what = f"self-play in {workers} worker{'s' if workers > 1 else ''}, {net_name(net)}"
        on = Setting(str(profile.device), share.threads * workers, short(profile.inference_dtype))
        line = measure_rate(effort, play, what=what, unit="evaluations/s", on=on, profile=profile)
        finished, seconds = (sum(column) for column in zip(*ended[-effort.repeats :], strict=True))
        found.append(replace(line, detail=f"{finished / seconds:.1f} games/s"))
        player.close()
    return found
