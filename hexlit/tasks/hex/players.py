"""Who plays the games of a run: evaluators of its network in playing processes, here or on a cluster.

It imports no Lightning, nor does a playing process: that import takes longer than all else before its first game.
Whatever else only the learner needs is imported late.
"""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
import torch

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.accelerate.ranks import Ranks
from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.outside_blocks import BlockError
from hexlit.nets.tower import build_net, playing_state
from hexlit.selfplay.actor import GamesSettings
from hexlit.selfplay.placement import Placement, placement_of
from hexlit.selfplay.players import PlayerSettings, SelfPlayer, make_player

if TYPE_CHECKING:
    from hexlit.tasks.hex.config import HexTrainConfig

Weights = dict[str, np.ndarray[Any, Any]]

OF_EVALUATION = (
    "inference",
    "inference_precision",
    "matmul_precision",
    "deterministic",
    "channels_last",
    "cudnn_benchmark",
)
"""Settings of the hardware that apply to evaluating on every machine."""


class EvaluatorHost:
    """A network, and the evaluator that reads it; new weights need no compiling."""

    def __init__(self, net: NetConfig, *, size: int, swap: bool, batch: int, profile: DeviceProfile) -> None:
        """The evaluator, for `batch` positions a call, is made when the first weights come."""
        self._net = build_net(net).eval()
        self._settings: dict[str, Any] = {"size": size, "swap": swap, "batch": batch, "profile": profile}
        self._evaluator: NetworkEvaluator | None = None

    def refreshed(self, weights: Weights) -> NetworkEvaluator:
        """The evaluator with the network's state `weights`."""
        # Copied: arrays from another process may be read-only memory.
        self._net.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})
        if self._evaluator is None:
            self._evaluator = NetworkEvaluator(self._net, **self._settings)
        else:
            self._evaluator.refresh(self._net)
        return self._evaluator

    @property
    def description(self) -> str:
        """Backend and number format in use, such as `fused bfloat16`."""
        own = self._evaluator
        return "" if own is None else f"{own.backend} {own.dtype}".replace("torch.", "")


@dataclass(frozen=True)
class HostMaker:
    """Makes an `EvaluatorHost` in the playing process, with that process's share of the threads."""

    net: NetConfig
    size: int
    swap: bool
    batch: int
    hardware: DeviceProfile | AcceleratorConfig
    """The profile of this machine; or the settings for one whose hardware is unknown, which finds its own profile."""

    def __call__(self) -> EvaluatorHost:
        """Set the threads of this process, and make the host.

        Raises:
            UsageError: another machine lacks the requested hardware, or the package of the network's block; the message
                names the machine.
        """
        profile = self.hardware if isinstance(self.hardware, DeviceProfile) else profile_there(self.hardware)
        # Numba first: when it starts its threads, it gives OpenMP, which torch shares, all cores again.
        numba.set_num_threads(min(profile.threads, numba.config.NUMBA_NUM_THREADS))
        profile.apply()
        try:
            return EvaluatorHost(self.net, size=self.size, swap=self.swap, batch=self.batch, profile=profile)
        except BlockError as error:
            raise UsageError(f"on {platform.node()}: {error}") from None


def profile_there(accelerator: AcceleratorConfig) -> DeviceProfile:
    """The profile of this machine, which is not the one with the settings `accelerator`.

    Raises:
        UsageError: this machine lacks the requested hardware; the message names it.
    """
    try:
        return build_profile(accelerator)
    except UsageError as error:
        raise UsageError(f"on {platform.node()}: {error}") from None


def elsewhere_from(accelerator: AcceleratorConfig, device: str, threads: int) -> AcceleratorConfig:
    """The settings of `accelerator` that apply to evaluating on another machine's `device` with `threads` threads.

    The memory cap applies to each process there whose device has a memory of its own.
    """
    same = {name: getattr(accelerator, name) for name in OF_EVALUATION}
    cap = None if device == "cpu" else accelerator.memory_cap
    return AcceleratorConfig(device=device, threads=threads, memory_cap=cap, **same)


def weights_of(net: torch.nn.Module) -> Weights:
    """A copy of the state that play with `net` needs, as arrays for other processes."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in playing_state(net.state_dict()).items()}


def as_tensors(arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, torch.Tensor]:
    """The same memory as tensors, for a checkpoint."""
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def as_arrays(tensors: Mapping[str, torch.Tensor]) -> Weights:
    """The same memory as arrays."""
    return {name: tensor.numpy() for name, tensor in tensors.items()}


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
        where = self.placement
        return {"processes": where.workers, "devices": list(self.devices), "versions_behind": where.ahead}


def make_players(config: "HexTrainConfig", profile: DeviceProfile, own: Ranks) -> Players:
    """Start the players of the rank `own`: on this machine, or on the cluster of `selfplay.where=ray`.

    Each host of a cluster follows the run's settings for the hardware as far as it can.
    """
    selfplay, ray = config.selfplay, config.ray
    on_cluster = selfplay.where == "ray"
    device = ray.device if on_cluster else profile.device.type
    placement = placement_of(selfplay, device, profile.threads, own.size, [str(other) for other in profile.others])
    groups, rows = placement.cut(selfplay.games, own.size)
    part = {"groups": groups, "part": own.rank, "parts": own.size}
    settings = GamesSettings(selfplay, config.search, config.board, selfplay.games, config.seed, config.swap, **part)
    if on_cluster:
        if own.several:
            raise UsageError("selfplay.where=ray: training on several devices plays on its own machine, where=here")
        from hexlit.selfplay.cluster import RayPlayers

        elsewhere = elsewhere_from(config.hardware, ray.device, ray.threads)
        there = HostMaker(config.net, config.board, config.swap, rows, elsewhere)
        return Players(RayPlayers(PlayerSettings(settings, there), placement.workers, ray), placement, (device,), 1.0)
    devices = placement.devices or (str(profile.device),)
    share, (learners, each) = profile.share(placement.workers), placement.memory_shares
    makers = tuple(
        HostMaker(config.net, config.board, config.swap, rows, share.on(torch.device(name), each)) for name in devices
    )
    return Players(
        make_player(PlayerSettings(settings, makers[0], makers), placement.workers), placement, devices, learners
    )
