"""Judges of positions, to measure a network's strength, in this process or on a Ray cluster."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile
from hexlit.arena.players import Judgement, JudgingPlayer, PolicyPlayer, SearchPlayer
from hexlit.cluster.config import RayConfig
from hexlit.cluster.jobs import RayJobs
from hexlit.commands.elsewhere import made_ready
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.search.config import SearchConfig
from hexlit.tasks.hex.checkpoint import LoadedNetwork
from hexlit.tasks.hex.players import elsewhere_from

JudgeWith = Callable[[int], JudgingPlayer]
"""Gives the judge with a number of simulations per move; 0 is the network alone."""


class Evaluators:
    """The network's evaluators by number of positions per call; each is built once."""

    def __init__(self, loaded: LoadedNetwork, size: int, profile: DeviceProfile) -> None:
        self.loaded = loaded
        self.size = size
        self.profile = profile
        self._built: dict[int, NetworkEvaluator] = {}

    def __call__(self, batch: int) -> NetworkEvaluator:
        """The evaluator of `batch` positions per call."""
        if batch not in self._built:
            self._built[batch] = NetworkEvaluator(
                self.loaded.net, size=self.size, swap=self.loaded.swap, batch=batch, profile=self.profile
            )
        return self._built[batch]


def judges_here(evaluators: Evaluators, search: SearchConfig, games: int) -> JudgeWith:
    """Judges of `games` positions at a time in this process."""
    size, swap = evaluators.size, evaluators.loaded.swap
    evaluator = evaluators(games)

    @cache
    def judge(simulations: int) -> JudgingPlayer:
        if not simulations:
            return PolicyPlayer(evaluator, size=size, batch=games, swap=swap)
        return SearchPlayer(replace(search, simulations=simulations), evaluator, size=size, batch=games, swap=swap)

    return judge


Batch = tuple[int, NDArray[np.int8], NDArray[np.int8]]
"""Simulations per move, and positions as for `JudgingPlayer.judge`."""


@dataclass(frozen=True)
class JudgeMaker:
    """Makes a judge of `games` positions at a time in another process."""

    network: LoadedNetwork
    search: SearchConfig
    accelerator: AcceleratorConfig
    size: int
    games: int

    def __call__(self) -> Callable[[Batch], Judgement]:
        """The function that judges a batch."""
        profile = made_ready(self.accelerator, ("search",))
        judge = judges_here(Evaluators(self.network, self.size, profile), self.search, self.games)
        return lambda batch: judge(batch[0]).judge(*batch[1:])


class FarJudge(JudgingPlayer):
    """A judge that spreads its positions over the actors of a cluster, `games` of them at a time."""

    def __init__(self, jobs: RayJobs[Batch, Judgement], simulations: int, games: int) -> None:
        """`jobs` come from a `JudgeMaker`."""
        self._jobs = jobs
        self._simulations = simulations
        self._games = games

    def judge(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> Judgement:
        """See `JudgingPlayer`."""
        parts = [slice(start, start + self._games) for start in range(0, len(cells), self._games)]
        result = list(self._jobs((self._simulations, cells[rows], to_move[rows]) for rows in parts))
        return Judgement(
            np.concatenate([part.action for part in result]), np.concatenate([part.value for part in result])
        )


@contextmanager
def judges_there(
    cluster: RayConfig,
    workers: int,
    accelerator: AcceleratorConfig,
    network: LoadedNetwork,
    search: SearchConfig,
    *,
    size: int,
    games: int,
) -> Iterator[JudgeWith]:
    """As `judges_here`, by `workers` actors of `cluster`, which follow the portable settings of `accelerator`."""
    there = elsewhere_from(accelerator, cluster.device, cluster.threads)
    maker = JudgeMaker(network, search, there, size, games)
    with closing(RayJobs(cluster, workers, maker, name="strength")) as jobs:
        yield lambda simulations: FarJudge(jobs, simulations, games)
