"""What self-play evaluates with, in this process or in one of its own.

A module of its own, so that a process that plays imports no Lightning: that takes longer than anything else it does
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
from hexlit.nets.tower import build_net, playing_state

Weights = dict[str, np.ndarray[Any, Any]]


class EvaluatorHost:
    """A network of its own, and the evaluator that reads it; new weights need no compiling."""

    def __init__(self, net: NetConfig, *, size: int, swap: bool, batch: int, profile: DeviceProfile) -> None:
        """The evaluator, of `batch` positions a call, is made when the first weights come."""
        self._net = build_net(net).eval()
        self._settings: dict[str, Any] = {"size": size, "swap": swap, "batch": batch, "profile": profile}
        self._evaluator: NetworkEvaluator | None = None

    def refreshed(self, weights: Weights) -> NetworkEvaluator:
        """The evaluator with the network's state `weights`."""
        # Copied: what came from another process may be memory that nobody may write to.
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
    """Makes an `EvaluatorHost` in the process that plays, with that process's share of the threads."""

    net: NetConfig
    size: int
    swap: bool
    batch: int
    profile: DeviceProfile

    def __call__(self) -> EvaluatorHost:
        """Set the threads of this process, and make the host."""
        # Numba first: where it starts its threads, it gives OpenMP, which torch shares, all cores again.
        numba.set_num_threads(min(self.profile.threads, numba.config.NUMBA_NUM_THREADS))
        self.profile.apply()
        return EvaluatorHost(self.net, size=self.size, swap=self.swap, batch=self.batch, profile=self.profile)


@dataclass(frozen=True)
class RemoteHostMaker:
    """As `HostMaker`, on a machine whose hardware is not known here: it finds its own profile."""

    net: NetConfig
    size: int
    swap: bool
    batch: int
    accelerator: AcceleratorConfig

    def __call__(self) -> EvaluatorHost:
        """Look at the hardware, and make the host.

        Raises:
            UsageError: it does not have what is asked for; the message names the machine.
        """
        return HostMaker(self.net, self.size, self.swap, self.batch, profile_there(self.accelerator))()


def profile_there(accelerator: AcceleratorConfig) -> DeviceProfile:
    """The profile of this machine, which is not that of who asked for `accelerator`.

    Raises:
        UsageError: it does not have what is asked for; the message names the machine.
    """
    try:
        return build_profile(accelerator)
    except UsageError as error:
        raise UsageError(f"on {platform.node()}: {error}") from None


def elsewhere_from(accelerator: AcceleratorConfig, device: str, threads: int) -> AcceleratorConfig:
    """Of `accelerator`, what holds for evaluating on another machine's `device` with `threads` threads.

    Its cap of memory holds for each process there that has a device with a memory of its own.
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
    """A copy of the state that play with `net` needs, as arrays, which can be sent to other processes."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in playing_state(net.state_dict()).items()}
