"""Evaluators of a network in playing processes, here or on another machine, and the network's
weights on their way.

It imports no Lightning, nor does a playing process: that import takes longer than all else before
its first game.
"""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.errors import UsageError
from hexlit.hex.jit import use_threads
from hexlit.nets.config import NetConfig
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.outside_blocks import BlockError
from hexlit.nets.tower import build_net

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

    def __init__(
        self, net: NetConfig, *, size: int, swap: bool, batch: int, profile: DeviceProfile
    ) -> None:
        """The evaluator, for `batch` positions a call, is made when the first weights come."""
        self.net = build_net(net).eval()
        self._settings: dict[str, Any] = {
            "size": size,
            "swap": swap,
            "batch": batch,
            "profile": profile,
        }
        self._evaluator: NetworkEvaluator | None = None

    def refreshed(self, weights: Weights) -> NetworkEvaluator:
        """The evaluator with the network's state `weights`."""
        # Copied: arrays from another process may be read-only memory.
        self.net.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})
        if self._evaluator is None:
            self._evaluator = NetworkEvaluator(self.net, **self._settings)
        else:
            self._evaluator.refresh(self.net)
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
    """The profile of this machine;
    or the settings for one whose hardware is unknown, which finds its own profile.
    """

    def __call__(self) -> EvaluatorHost:
        """Set the threads of this process, make the host, and compile or load its evaluator's
        kernels.

        Raises:
            UsageError: another machine lacks the requested hardware, or the package of the
                network's block; the message names the machine.
        """
        profile = (
            self.hardware
            if isinstance(self.hardware, DeviceProfile)
            else profile_there(self.hardware)
        )
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
    """The settings of `accelerator` that apply to evaluating on another machine's `device` with
    `threads` threads.

    The memory cap applies to each process there whose device has a memory of its own.
    """
    same = {name: getattr(accelerator, name) for name in OF_EVALUATION}
    cap = None if device == "cpu" else accelerator.memory_cap
    return AcceleratorConfig(device=device, threads=threads, memory_cap=cap, **same)


def weights_of(net: torch.nn.Module) -> Weights:
    """A copy of the state that play with `net` needs, as arrays for other processes."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in net.state_dict().items()}


def as_tensors(arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, torch.Tensor]:
    """Copies as tensors, for a checkpoint:
    empty arrays from Ray begin where others do, which `torch.save` refuses.
    """
    return {name: torch.tensor(array) for name, array in arrays.items()}


def as_arrays(tensors: Mapping[str, torch.Tensor]) -> Weights:
    """The same memory as arrays."""
    return {name: tensor.numpy() for name, tensor in tensors.items()}
