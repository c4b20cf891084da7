"""Where the games of a run are played: the placement of its players, and their start.

It imports no Lightning: players start, and compile what they need, while the learner's process
imports it.
"""

from dataclasses import dataclass, replace
from functools import partial

import torch

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.ranks import ranks
from hexlit.cluster.config import RayConfig
from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.selfplay.actor import GamesSettings
from hexlit.selfplay.hosts import HostMaker, elsewhere_from
from hexlit.selfplay.placement import Placement, placement_of
from hexlit.selfplay.players import PlayerSettings, SelfPlayer, make_player


@dataclass(frozen=True)
class Players:
    """The player of this process, and where it plays."""

    player: SelfPlayer
    placement: Placement
    devices: tuple[str, ...]
    """Devices of the playing processes, in turn; types of devices on a cluster."""
    memory_share: float
    """The learner's share of its device's memory cap; the players there have the rest."""


def make_players(
    games: GamesSettings,
    net: NetConfig,
    profile: DeviceProfile,
    hardware: AcceleratorConfig,
    ray: RayConfig,
) -> Players:
    """Start the players of this rank, for its part of `games`: on this machine, or on the cluster
    `ray`.

    Each host of a cluster follows the settings `hardware` as far as it can.
    """
    selfplay, own = games.config, ranks()
    on_cluster = selfplay.where == "ray"
    device = ray.device if on_cluster else profile.device.type
    placement = placement_of(
        selfplay, device, profile.threads, own.size, [str(other) for other in profile.others]
    )
    groups, rows = placement.cut(selfplay.games, own.size)
    games = replace(games, groups=groups, part=own.rank, parts=own.size)
    host = partial(HostMaker, net, games.size, games.swap, rows)
    if on_cluster:
        if own.several:
            raise UsageError(
                "selfplay.where=ray: training on several devices plays on its own machine, where=here"
            )
        from hexlit.selfplay.cluster import RayPlayers

        place = PlayerSettings(games, host(elsewhere_from(hardware, ray.device, ray.threads)))
        return Players(RayPlayers(place, placement.workers, ray), placement, (device,), 1.0)
    devices = placement.devices or (str(profile.device),)
    share = profile.share(placement.workers, beside=device == "cpu" and placement.ahead > 0)
    learners, each = placement.memory_shares
    makers = tuple(host(share.on(torch.device(name), each)) for name in devices)
    player = make_player(PlayerSettings(games, makers[0], makers), placement.workers)
    return Players(player, placement, devices, learners)
