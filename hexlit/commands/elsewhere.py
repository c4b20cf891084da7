"""Matches on a Ray cluster: the players of its actors, and preparing a host for play or for judging."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numba

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile
from hexlit.arena.matches import Block, MatchWorker, Pair
from hexlit.arena.player_spec import PlayerSpec
from hexlit.commands.kernels import Compiling, of_players
from hexlit.commands.match_networks import Networks
from hexlit.commands.match_players import PlayerFactory
from hexlit.files import cache_folder
from hexlit.locks import alone
from hexlit.search.config import SearchConfig
from hexlit.tasks.hex.checkpoint import LoadedNetwork
from hexlit.tasks.hex.players import profile_there


def made_ready(accelerator: AcceleratorConfig, kernels: Sequence[str]) -> DeviceProfile:
    """The profile of the machine that runs this, once it has all sets of `kernels`.

    Raises:
        UsageError: the machine lacks the requested hardware; the message names it.
    """
    profile = profile_there(accelerator)
    numba.set_num_threads(min(profile.threads, numba.config.NUMBA_NUM_THREADS))
    profile.apply()
    # One actor of a host compiles; the others wait and load.
    with alone(cache_folder() / "actors.lock"), closing(Compiling(kernels)) as compiling:
        compiling.wait()
    return profile


@dataclass(frozen=True)
class MatchWorkerMaker:
    """Prepares the players of a match in another process, which needs none of their files."""

    specs: Sequence[PlayerSpec]
    networks: Mapping[str, LoadedNetwork]
    search: SearchConfig
    accelerator: AcceleratorConfig
    size: int
    seed: int
    at_once: int
    swap: bool

    def __call__(self) -> Callable[[Block], list[Pair]]:
        """The function that plays a block."""
        profile = made_ready(self.accelerator, of_players(self.specs))
        networks = Networks(self.networks, self.search, profile, board=self.size) if self.networks else None
        factory = PlayerFactory(
            self.specs, self.search, self.accelerator, board=self.size, seed=self.seed, networks=networks
        )
        contestants = [factory.contestant(spec) for spec in self.specs]
        worker = MatchWorker(contestants, self.size, at_once=self.at_once, swap=self.swap)
        return lambda block: list(worker.play(block))
