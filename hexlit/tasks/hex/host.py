"""The evaluator of self-play, in this process or in one of its own.

It is a module of its own, so that a playing process imports no Lightning: that import takes longer than all else
before its first game.
"""

import platform
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import torch

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.outside_blocks import BlockError
from hexlit.nets.tower import build_net, playing_state

Weights = dict[str, np.ndarray[Any, Any]]


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
        return (
            ""
            if self._evaluator is None
            else f"{self._evaluator.backend} {self._evaluator.dtype}".replace("torch.", "")
        )


@dataclass(frozen=True)
class HostMaker:
    """Makes an `EvaluatorHost` in the playing process, with that process's share of the threads."""

    net: NetConfig
    size: int
    swap: bool
    batch: int
    profile: DeviceProfile

    def __call__(self) -> EvaluatorHost:
        """Set the threads of this process, and make the host."""
        # Numba first: when it starts its threads, it gives OpenMP, which torch shares, all cores again.
        numba.set_num_threads(min(self.profile.threads, numba.config.NUMBA_NUM_THREADS))
        self.profile.apply()
        return EvaluatorHost(self.net, size=self.size, swap=self.swap, batch=self.batch, profile=self.profile)


@dataclass(frozen=True)
class RemoteHostMaker:
    """As `HostMaker`, on a machine with unknown hardware: it finds its own profile."""

    net: NetConfig
    size: int
    swap: bool
    batch: int
    accelerator: AcceleratorConfig

    def __call__(self) -> EvaluatorHost:
        """Inspect the hardware, and make the host.

        Raises:
            UsageError: the machine lacks the requested hardware, or the package of the network's block; the message
                names the machine.
        """
        maker = HostMaker(self.net, self.size, self.swap, self.batch, profile_there(self.accelerator))
        try:
            return maker()
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
    return AcceleratorConfig(
        device=device,
        threads=threads,
        inference=accelerator.inference,
        inference_precision=accelerator.inference_precision,
        matmul_precision=accelerator.matmul_precision,
        deterministic=accelerator.deterministic,
        channels_last=accelerator.channels_last,
        cudnn_benchmark=accelerator.cudnn_benchmark,
        memory_cap=None if device == "cpu" else accelerator.memory_cap,
    )


def weights_of(net: torch.nn.Module) -> Weights:
    """A copy of the state that play with `net` needs, as arrays for other processes."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in playing_state(net.state_dict()).items()}
