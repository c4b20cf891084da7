"""Players of a match and judges of positions, in this process and in tasks of a Ray cluster."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hexlit.accelerate.profile import DeviceProfile
from hexlit.arena.matches import Block, MatchWorker, Pair
from hexlit.arena.player_spec import PlayerSpec
from hexlit.arena.players import Judgement, JudgingPlayer
from hexlit.cluster.tasks import RayTasks
from hexlit.commands.kernels import Compiling, of_players
from hexlit.commands.players import Evaluators, PlayerFactory, applied
from hexlit.files import cache_folder
from hexlit.locks import alone
from hexlit.search.config import SearchConfig
from hexlit.selfplay.placement import remote_profile, remote_settings
from hexlit.tasks.hex.checkpoint import LoadedNetwork

if TYPE_CHECKING:
    from hexlit.commands.match import MatchConfig
    from hexlit.commands.strength import StrengthConfig


def made_ready(config: "MatchConfig | StrengthConfig", kernels: Sequence[str]) -> DeviceProfile:
    """The profile of the machine that runs this, a task of the cluster, once it has all sets of
    `kernels`.

    Raises:
        UsageError: the machine lacks the requested hardware; the message names it.
    """
    profile = applied(
        remote_profile(remote_settings(config.accelerator, config.ray.device, config.ray.threads))
    )
    # One process of a host compiles; the others wait and load.
    with alone(cache_folder() / "actors.lock"), closing(Compiling(kernels)) as compiling:
        compiling.wait()
    return profile


def match_worker(
    config: "MatchConfig",
    specs: Sequence[PlayerSpec],
    networks: Mapping[str, LoadedNetwork],
    size: int,
    at_once: int,
) -> Callable[[Block], list[Pair]]:
    """What plays a block of a match in another process,
    which needs none of the files of its players.
    """
    profile = made_ready(config, of_players(specs))
    evaluators = {
        source: Evaluators(network, size, profile) for source, network in networks.items()
    }
    factory = PlayerFactory(specs, config, size, evaluators)
    worker = MatchWorker([*map(factory.contestant, specs)], size, at_once=at_once, swap=config.swap)
    return lambda block: list(worker.play(block))


JudgeWith = Callable[[int], JudgingPlayer]
"""Gives the judge with a number of simulations per move; 0 is the network alone."""

Batch = tuple[int, NDArray[np.int8], NDArray[np.int8]]
"""Simulations per move, and positions as for `JudgingPlayer.judge`."""


def judges_here(evaluators: Evaluators, search: SearchConfig, games: int) -> JudgeWith:
    """Judges of `games` positions at a time in this process."""
    player = evaluators.network.player
    return cache(
        lambda number: player(replace(search, simulations=number) if number else None, games)
    )


def judge_there(
    loaded: LoadedNetwork, config: "StrengthConfig", size: int, games: int
) -> Callable[[Batch], Judgement]:
    """What judges a batch in another process, `games` positions at a time."""
    judge = judges_here(
        Evaluators(loaded, size, made_ready(config, ["search"])), config.search, games
    )
    return lambda batch: judge(batch[0]).judge(*batch[1:])


class FarJudge(JudgingPlayer):
    """A judge that spreads its positions over a cluster, `games` of them at a time."""

    def __init__(self, jobs: RayTasks, simulations: int, games: int) -> None:
        """`jobs` come from `judge_there`."""
        self._jobs, self._simulations, self._games = jobs, simulations, games

    def judge(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> Judgement:
        """See `JudgingPlayer`."""
        parts = [slice(start, start + self._games) for start in range(0, len(cells), self._games)]
        result = self._jobs((self._simulations, cells[rows], to_move[rows]) for rows in parts)
        return Judgement(*map(np.concatenate, zip(*result, strict=True)))


@contextmanager
def judges(config: "StrengthConfig", evaluators: Evaluators, games: int) -> Iterator[JudgeWith]:
    """The judges of a strength run: `judges_here`,
    or as many tasks of a cluster at a time as it says.
    """
    if config.where == "here":
        yield judges_here(evaluators, config.search, games)
        return
    maker = partial(judge_there, evaluators.loaded, config, evaluators.size, games)
    with closing(RayTasks(config.ray, config.workers, maker, name="strength")) as jobs:
        jobs.wait()
        yield lambda simulations: FarJudge(jobs, simulations, games)
