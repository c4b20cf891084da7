"""Players of a match and judges of positions, in this process and in tasks of a Ray cluster."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numba
import numpy as np
from numpy.typing import NDArray

from hexlit.accelerate.profile import DeviceProfile
from hexlit.arena.matches import Block, MatchWorker, Pair
from hexlit.arena.player_spec import PlayerSpec
from hexlit.arena.players import Judgement, JudgingPlayer, PolicyPlayer, SearchPlayer
from hexlit.cluster.tasks import RayTasks
from hexlit.commands.kernels import Compiling, of_players
from hexlit.commands.players import Evaluators, PlayerFactory
from hexlit.files import cache_folder
from hexlit.locks import alone
from hexlit.search.config import SearchConfig
from hexlit.selfplay.hosts import elsewhere_from, profile_there
from hexlit.tasks.hex.checkpoint import LoadedNetwork

if TYPE_CHECKING:
    from hexlit.commands.match import MatchConfig
    from hexlit.commands.strength import StrengthConfig


def made_ready(config: "MatchConfig | StrengthConfig", kernels: Sequence[str]) -> DeviceProfile:
    """The profile of the machine that runs this, a task of the cluster, once it has all sets of `kernels`.

    Raises:
        UsageError: the machine lacks the requested hardware; the message names it.
    """
    profile = profile_there(elsewhere_from(config.accelerator, config.ray.device, config.ray.threads))
    numba.set_num_threads(min(profile.threads, numba.config.NUMBA_NUM_THREADS))
    profile.apply()
    # One process of a host compiles; the others wait and load.
    with alone(cache_folder() / "actors.lock"), closing(Compiling(kernels)) as compiling:
        compiling.wait()
    return profile


@dataclass(frozen=True)
class MatchWorkerMaker:
    """Prepares the players of a match in another process, which needs none of their files."""

    config: "MatchConfig"
    specs: Sequence[PlayerSpec]
    networks: Mapping[str, LoadedNetwork]
    size: int
    at_once: int

    def __call__(self) -> Callable[[Block], list[Pair]]:
        """The function that plays a block."""
        config = self.config
        profile = made_ready(config, of_players(self.specs))
        networks = {source: Evaluators(network, self.size, profile) for source, network in self.networks.items()}
        factory = PlayerFactory(self.specs, config, self.size, networks)
        contestants = [factory.contestant(spec) for spec in self.specs]
        worker = MatchWorker(contestants, self.size, at_once=self.at_once, swap=config.swap)
        return lambda block: list(worker.play(block))


JudgeWith = Callable[[int], JudgingPlayer]
"""Gives the judge with a number of simulations per move; 0 is the network alone."""

Batch = tuple[int, NDArray[np.int8], NDArray[np.int8]]
"""Simulations per move, and positions as for `JudgingPlayer.judge`."""


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


@dataclass(frozen=True)
class JudgeMaker:
    """Makes a judge of `games` positions at a time in another process."""

    network: LoadedNetwork
    config: "StrengthConfig"
    size: int
    games: int

    def __call__(self) -> Callable[[Batch], Judgement]:
        """The function that judges a batch."""
        profile = made_ready(self.config, ["search"])
        judge = judges_here(Evaluators(self.network, self.size, profile), self.config.search, self.games)
        return lambda batch: judge(batch[0]).judge(*batch[1:])


class FarJudge(JudgingPlayer):
    """A judge that spreads its positions over a cluster, `games` of them at a time."""

    def __init__(self, jobs: RayTasks, simulations: int, games: int) -> None:
        """`jobs` come from a `JudgeMaker`."""
        self._jobs, self._simulations, self._games = jobs, simulations, games

    def judge(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> Judgement:
        """See `JudgingPlayer`."""
        parts = [slice(start, start + self._games) for start in range(0, len(cells), self._games)]
        result = list(self._jobs((self._simulations, cells[rows], to_move[rows]) for rows in parts))
        actions, values = ([getattr(part, name) for part in result] for name in ("action", "value"))
        return Judgement(np.concatenate(actions), np.concatenate(values))


@contextmanager
def judges(config: "StrengthConfig", evaluators: Evaluators, games: int) -> Iterator[JudgeWith]:
    """The judges of a strength run: `judges_here`, or as many tasks of a cluster at a time as it says."""
    if config.where == "here":
        yield judges_here(evaluators, config.search, games)
        return
    maker = JudgeMaker(evaluators.loaded, config, evaluators.size, games)
    with closing(RayTasks(config.ray, config.workers, maker, name="strength")) as jobs:
        jobs.wait()
        yield lambda simulations: FarJudge(jobs, simulations, games)
