"""Where the games of a run are played: their distribution over processes and network calls, the
evaluators in these processes, and their start.

It imports no Lightning, nor does a playing process: that import takes longer than all else before
its first game.
"""

import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.accelerate.ranks import ranks
from hexlit.cluster.config import RayConfig
from hexlit.errors import UsageError
from hexlit.hex.jit import use_threads
from hexlit.nets.config import NetConfig
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.outside_blocks import BlockError
from hexlit.nets.tower import build_net, state_for_play
from hexlit.selfplay.actor import CACHED_ANSWERS, GamesSettings, rows_of
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.workers import PlayerSettings, SelfPlayer, make_player

BATCHES = {"cpu": 256, "cuda": 1024, "mps": 512}
"""Most positions in a network call by device, in all processes together; more games are cut into
groups. Those of the cpu are measured; the others keep the device busy with small networks, and take
no more than a few hundred MiB.
"""

GROUPS = {"cpu": 1, "cuda": 2, "mps": 1}
"""Groups of games: on cuda the trees of one grow while the network works for the other."""

ANSWERS = {"cpu": CACHED_ANSWERS, "cuda": 0, "mps": CACHED_ANSWERS}
"""Answers of the network that are kept: on cuda it is faster than the search for one."""

MOST_WORKERS = 8
"""A process of one thread evaluates more positions than its share of a call over all threads. But
each holds half a gigabyte, and a small share of the games.
"""

LEARNERS_SHARE = 0.5
"""Share of a device's memory cap, if processes play on it, too. Training holds activations, play
does not; but play has another network, a batch and a CUDA graph.
"""

EVALUATION_SETTINGS = (
    "inference",
    "inference_precision",
    "matmul_precision",
    "deterministic",
    "channels_last",
)
"""Settings of the accelerator that apply to evaluating on every machine."""

Weights = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Placement:
    """Distribution of the games over processes and network calls."""

    batch: int
    """Most positions in one network call, in all processes together."""
    groups: int
    """Least number of groups of games that alternate."""
    workers: int
    """Processes that play in each rank; 0 is the rank itself."""
    cached_answers: int = CACHED_ANSWERS
    """Answers of the network that each process keeps."""
    ahead: bool = False
    """Whether they are an epoch ahead of the training; otherwise play and training take turns."""

    @property
    def parts(self) -> int:
        """Parts of the games in each rank, at least one."""
        return max(1, self.workers)

    @property
    def memory_shares(self) -> tuple[float, float]:
        """Shares of a device's memory cap: of the learner, and of each process that plays."""
        if self.workers == 0:
            return 1.0, 1.0
        return LEARNERS_SHARE, (1 - LEARNERS_SHARE) / self.workers

    def cut(self, games: int, ranks: int = 1) -> tuple[int, int]:
        """Groups and rows of a call in each process, for `games` parallel games in all of them
        together.

        The number of groups keeps a call within `batch`.
        """
        parts = ranks * self.parts
        most_rows = max(1, self.batch // parts)
        groups = max(self.groups, math.ceil(games / (parts * most_rows)))
        groups = min(groups, max(1, games // parts))
        return groups, rows_of(games, parts, groups)


def placement_of(config: SelfPlayConfig, device: str, threads: int, ranks: int = 1) -> Placement:
    """The best placement for the type of the `device` and its processor `threads`, per rank, with
    the configured number of workers.

    Ranks on the cpu share it, so that their calls together are no larger than those of one.

    A cpu has one process per thread, less one if training goes on meanwhile: with one more, each
    step took a quarter longer on two cores. The time of its calls is proportional to their rows, so
    small ones lose nothing.

    cuda and mps have one process: `games` belongs to the recipe, and more processes would only cut
    the calls into smaller ones, each hardly faster. One process is enough to grow the trees and
    continue the games while the learner trains; the system shares the device between the two.
    """
    on_cpu = device == "cpu"
    workers = config.workers
    if workers is None and on_cpu:
        threads_that_play = threads - 1 if config.ahead is not False else threads
        workers = min(max(1, threads_that_play), MOST_WORKERS)
    elif workers is None:
        workers = 1
    workers = min(workers, max(1, config.games // ranks))
    return Placement(
        batch=BATCHES[device] if on_cpu else BATCHES[device] * ranks,
        groups=GROUPS[device],
        workers=workers,
        cached_answers=ANSWERS[device],
        ahead=workers > 0 if config.ahead is None else config.ahead,
    )


class EvaluatorHost:
    """A network, and the evaluator that reads it; new weights need no compiling."""

    def __init__(
        self, net: NetConfig, *, size: int, swap: bool, batch: int, profile: DeviceProfile
    ) -> None:
        """The evaluator, for `batch` positions a call, is made when the first weights come."""
        self.net = build_net(net).eval()
        self.size = size
        self.swap = swap
        self.batch = batch
        self.profile = profile
        self._evaluator: NetworkEvaluator | None = None

    def refreshed(self, weights: Weights) -> NetworkEvaluator:
        """The evaluator with the network's state `weights`."""
        # Copied: arrays from another process may be read-only memory.
        self.net.load_state_dict(as_tensors(weights))
        if self._evaluator is None:
            self._evaluator = NetworkEvaluator(
                self.net, size=self.size, swap=self.swap, batch=self.batch, profile=self.profile
            )
        else:
            self._evaluator.refresh(self.net)
        return self._evaluator

    @property
    def description(self) -> str:
        """Backend and number format in use, such as `fused bfloat16`."""
        if self._evaluator is None:
            return ""
        return f"{self._evaluator.backend} {self._evaluator.dtype}".replace("torch.", "")


@dataclass(frozen=True)
class HostMaker:
    """Makes an `EvaluatorHost` in the playing process, with that process's share of the threads."""

    net: NetConfig
    size: int
    swap: bool
    batch: int
    hardware: DeviceProfile | AcceleratorConfig
    """The profile of this machine; or the settings for one whose hardware is unknown, which finds
    its profile.
    """

    def __call__(self) -> EvaluatorHost:
        """Set the threads of this process, make the host, and compile or load its evaluator's
        kernels.

        Raises:
            UsageError: another machine lacks the requested hardware, or the package of the
                network's block; the message names the machine.
        """
        if isinstance(self.hardware, DeviceProfile):
            profile = self.hardware
        else:
            profile = remote_profile(self.hardware)
        use_threads(profile.threads)
        profile.apply()
        try:
            host = EvaluatorHost(
                self.net, size=self.size, swap=self.swap, batch=self.batch, profile=profile
            )
            host.refreshed(weights_of(host.net))
            return host
        except BlockError as error:
            raise UsageError(f"on {platform.node()}: {error}") from None


def remote_profile(accelerator: AcceleratorConfig) -> DeviceProfile:
    """The profile of this machine, which is not the one with the settings `accelerator`.

    Raises:
        UsageError: this machine lacks the requested hardware; the message names it.
    """
    try:
        return build_profile(accelerator)
    except UsageError as error:
        raise UsageError(f"on {platform.node()}: {error}") from None


def remote_settings(accelerator: AcceleratorConfig, device: str, threads: int) -> AcceleratorConfig:
    """The settings of `accelerator` that apply to evaluating on another machine's `device` with
    `threads` threads.

    The memory cap applies to each process there whose device has its memory.
    """
    same = {name: getattr(accelerator, name) for name in EVALUATION_SETTINGS}
    cap = None if device == "cpu" else accelerator.memory_cap
    return AcceleratorConfig(device=device, threads=threads, memory_cap=cap, **same)


def weights_of(net: torch.nn.Module) -> Weights:
    """A copy of the state that play with `net` needs, as arrays for other processes."""
    state = state_for_play(net.state_dict())
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in state.items()}


def as_tensors(arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, torch.Tensor]:
    """Copies as tensors, for a checkpoint: empty arrays from Ray begin where others do, which
    `torch.save` refuses.
    """
    return {name: torch.tensor(array) for name, array in arrays.items()}


def as_arrays(tensors: Mapping[str, torch.Tensor]) -> Weights:
    """The same memory as arrays."""
    return {name: tensor.numpy() for name, tensor in tensors.items()}


@dataclass(frozen=True)
class Players:
    """The player of this process, and where it plays."""

    player: SelfPlayer
    placement: Placement
    device: str
    """Device of the playing processes; the type of the device on a cluster."""
    memory_share: float
    """The learner's share of its device's memory cap; the players there have the rest."""


def make_players(
    games: GamesSettings,
    net: NetConfig,
    profile: DeviceProfile,
    hardware: AcceleratorConfig,
    ray: RayConfig,
) -> Players:
    """Start the player of this rank, for its part of `games`: on this machine, or on the cluster
    `ray`.

    Each host of a cluster follows the settings `hardware` where it can.
    """
    config = games.config
    rank = ranks()
    on_cluster = config.where == "ray"
    if on_cluster and rank.several:
        raise UsageError(
            "selfplay.where=ray: training on several devices plays on the training machine, where=here"
        )
    device_type = ray.device if on_cluster else profile.device.type
    placement = placement_of(config, device_type, profile.threads, rank.size)
    groups, rows = placement.cut(config.games, rank.size)
    games = replace(
        games,
        groups=groups,
        part=rank.rank,
        parts=rank.size,
        cached_answers=placement.cached_answers,
    )
    if on_cluster:
        from hexlit.selfplay.cluster import RayPool

        remote = remote_settings(hardware, ray.device, ray.threads)
        maker = HostMaker(net, games.size, games.swap, rows, remote)
        pool = RayPool(PlayerSettings(games, maker), placement.workers, ray)
        return Players(pool, placement, ray.device, 1.0)
    learners_share, each_share = placement.memory_shares
    trains_meanwhile = device_type == "cpu" and placement.ahead
    share = profile.share(placement.workers, next_to_training=trains_meanwhile)
    share = share.with_memory_share(each_share)
    maker = HostMaker(net, games.size, games.swap, rows, share)
    player = make_player(PlayerSettings(games, maker), placement.workers)
    return Players(player, placement, str(profile.device), learners_share)
