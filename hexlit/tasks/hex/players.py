"""The players of a run's games: processes of this machine on their devices, or the actors of a cluster."""

from dataclasses import dataclass
from typing import Any

import torch

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.ranks import Ranks
from hexlit.cluster.config import RayConfig
from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.search.config import SearchConfig
from hexlit.selfplay.cluster.players import RayPlayers
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.placement import Placement, placement_of
from hexlit.selfplay.player import SelfPlayer, Workplace
from hexlit.selfplay.workers import make_player
from hexlit.tasks.hex.host import HostMaker, RemoteHostMaker, elsewhere_from


@dataclass(frozen=True)
class Players:
    """The player of this process, and where it plays."""

    player: SelfPlayer
    placement: Placement
    devices: tuple[str, ...]
    """Devices of the playing processes, in turn; types of devices on a cluster."""
    memory_share: float
    """The learner's share of its device's memory cap; the players there have the rest."""

    def summary(self) -> dict[str, Any]:
        """Entries for `summary.json`."""
        return {
            "processes": self.placement.workers,
            "devices": list(self.devices),
            "versions_behind": self.placement.ahead,
        }


def make_players(
    selfplay: SelfPlayConfig,
    search: SearchConfig,
    net: NetConfig,
    *,
    size: int,
    swap: bool,
    seed: int,
    profile: DeviceProfile,
    place: Ranks,
    cluster: RayConfig | None = None,
    accelerator: AcceleratorConfig | None = None,
) -> Players:
    """Start the players on boards of `size`, for the rank at `place`.

    Games are played on `cluster`, if it is given; each of its hosts follows `accelerator` as far as it can. None: games
    are played here.
    """
    device = profile.device.type if cluster is None else cluster.device
    where = placement_of(selfplay, device, profile.threads, place.size, [str(other) for other in profile.others])
    groups, rows = where.cut(selfplay.games, place.size)
    settings = {
        "config": selfplay,
        "search": search,
        "size": size,
        "swap": swap,
        "seed": seed,
        "games": selfplay.games,
        "groups": groups,
        "part": place.rank,
        "parts": place.size,
    }
    if cluster is None:
        devices = where.devices or (str(profile.device),)
        share, (learners, each) = profile.share(where.workers), where.memory_shares
        makers = [HostMaker(net, size, swap, rows, share.on(torch.device(name), each)) for name in devices]
        player = make_player(Workplace(settings, makers[0], tuple(makers)), where.workers)
        return Players(player, where, devices, learners)
    if place.several:
        raise UsageError(
            "selfplay.where=ray: training on several devices plays on its own machine; choose selfplay.where=here "
            "or accelerator.devices=1"
        )
    elsewhere = elsewhere_from(accelerator or AcceleratorConfig(), cluster.device, cluster.threads)
    there = RemoteHostMaker(net, size, swap, rows, elsewhere)
    return Players(RayPlayers(Workplace(settings, there), where.workers, cluster), where, (device,), 1.0)
