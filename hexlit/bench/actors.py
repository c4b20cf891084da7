"""Self-play by the actors of a Ray cluster, beside as many worker processes of this machine."""

import time
from dataclasses import replace
from functools import partial

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.evaluation import net_name, short
from hexlit.bench.measure import Effort, Measurement, Setting
from hexlit.bench.play import COUNTS, Game, measure_player, workplace
from hexlit.cluster.config import RayConfig
from hexlit.errors import UsageError
from hexlit.nets.tower import HexNet
from hexlit.selfplay.cluster import RayPlayers
from hexlit.selfplay.players import SelfPlayer, make_player
from hexlit.tasks.hex.players import HostMaker, elsewhere_from, weights_of


def measure_actors(
    net: HexNet,
    game: Game,
    effort: Effort,
    profile: DeviceProfile,
    cluster: RayConfig,
    accelerator: AcceleratorConfig,
) -> list[Measurement]:
    """Evaluations per second of self-play in 1, 2 and 4 workers, and in as many actors of `cluster`.

    All have the threads of an actor. The measurement begins when all of them are ready.

    Raises:
        UsageError: there is no such cluster, or it has no room for all.
    """
    one = replace(profile, threads=cluster.threads)
    there = elsewhere_from(accelerator, cluster.device, cluster.threads)
    result = []
    for count in COUNTS:
        for kind in ("worker", "actor"):
            player: SelfPlayer
            if kind == "worker":
                player = make_player(workplace(net, game, profile, count, partial(HostMaker, hardware=one)), count)
                device = str(profile.device)
            else:
                place = workplace(net, game, profile, count, partial(HostMaker, hardware=there))
                player = RayPlayers(place, count, cluster)
                device = cluster.device
            try:
                player.prepare()
                if isinstance(player, RayPlayers):
                    wait_for_all(player, count, cluster)
                on = Setting(device, cluster.threads * count, short(profile.inference_dtype))
                what = f"self-play in {count} {kind}{'s' if count > 1 else ''}, {net_name(net)}"
                result.append(measure_player(player, weights_of(net), effort, what, on, profile))
            finally:
                player.close()
    return result


def wait_for_all(player: RayPlayers, count: int, cluster: RayConfig) -> None:
    """Wait until `count` actors can play; raise `UsageError` if they have no room within `cluster.wait` seconds."""
    end = None if cluster.wait is None else time.monotonic() + cluster.wait
    while player.ready < count:
        if end is not None and time.monotonic() > end:
            raise UsageError(
                f"what=actors: {player.ready} of {count} actors have started; add nodes, or ask for less (ray.cpus)"
            )
        time.sleep(0.1)
