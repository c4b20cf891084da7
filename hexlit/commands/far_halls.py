"""A match whose games the actors of a Ray cluster play."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numba

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.arena.blocks import Block, Hall
from hexlit.arena.pairing import Pair
from hexlit.arena.player_spec import PlayerSpec
from hexlit.cluster.config import RayConfig
from hexlit.cluster.jobs import RayJobs
from hexlit.commands.compiling import Compiling
from hexlit.commands.match_kernels import sets_of
from hexlit.commands.match_players import Table
from hexlit.files import alone, cache_folder
from hexlit.search.config import SearchConfig
from hexlit.tasks.hex.checkpoint import LoadedNetwork
from hexlit.tasks.hex.host import elsewhere_from, profile_there

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HallMaker:
    """Seats the players of a match in another process, which needs none of their files."""

    specs: Sequence[PlayerSpec]
    networks: Mapping[str, LoadedNetwork]
    search: SearchConfig
    accelerator: AcceleratorConfig
    size: int
    seed: int
    at_once: int
    swap: bool

    def __call__(self) -> Callable[[Block], list[Pair]]:
        """Compile what this host has not compiled yet, and give what plays a block.

        Raises:
            UsageError: the host has not the hardware that is asked for; the message names it.
        """
        profile = profile_there(self.accelerator)
        numba.set_num_threads(min(profile.threads, numba.config.NUMBA_NUM_THREADS))
        profile.apply()
        with alone(cache_folder() / "actors.lock"), closing(Compiling(sets_of(self.specs))) as kernels:
            kernels.wait()
        table = Table(self.specs, self.search, profile, board=self.size, seed=self.seed, networks=self.networks)
        contestants = [table.contestant(spec) for spec in self.specs]
        hall = Hall(contestants, self.size, at_once=self.at_once, swap=self.swap)
        return lambda block: list(hall.play(block))


def far_halls(
    cluster: RayConfig,
    workers: int,
    table: Table,
    specs: Sequence[PlayerSpec],
    search: SearchConfig,
    accelerator: AcceleratorConfig,
    *,
    seed: int,
    at_once: int,
    swap: bool,
) -> RayJobs[Block, list[Pair]]:
    """Actors that play blocks between the players of `table`, each with the hardware that `cluster` gives an actor."""
    there = elsewhere_from(accelerator, cluster.device, cluster.threads)
    maker = HallMaker(specs, table.networks, search, there, table.size, seed, at_once, swap)
    return RayJobs(cluster, workers, maker, name="match")
