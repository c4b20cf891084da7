"""The settings of a run on its device, decided once."""

from dataclasses import dataclass, replace
from typing import TypeVar

import torch

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.device import choose_device
from hexlit.accelerate.host import usable_cores
from hexlit.accelerate.precision import inference_dtype, training_precision
from hexlit.errors import UsageError

T = TypeVar("T", bool, int)


@dataclass(frozen=True)
class DeviceProfile:
    """Everything that depends on the device, with no `auto` left in it."""

    device: torch.device
    """The device, with its index where it is cuda."""

    accelerator: str
    """Lightning's `accelerator` argument: cpu, cuda or mps."""

    devices: int | list[int]
    """Lightning's `devices` argument."""

    precision: str
    """Lightning's `precision` argument: 32-true, bf16-mixed or 16-mixed."""

    inference_dtype: torch.dtype
    """Number format of the network when it is only evaluated."""

    matmul_precision: str
    """Inner precision of fp32 products: highest, high or medium."""

    channels_last: bool
    """Whether images are laid out NHWC."""

    compile: bool
    """Whether the network is compiled for training."""

    inference: str
    """Evaluation path to try first: eager, fused, graph or compile."""

    pin_memory: bool
    """Whether host batches are page-locked."""

    workers: int
    """Data loading processes."""

    train_batch: int
    """Positions in one optimisation step."""

    selfplay_games: int
    """Games of one group: positions in one network call, where one process plays."""

    groups: int
    """Groups of games that alternate."""

    selfplay_workers: int
    """Processes that play unless the user says how many; 0 is the main process."""

    threads: int
    """CPU threads of torch and of the search."""

    def share(self, workers: int) -> "DeviceProfile":
        """The part of each of `workers` processes (0 is one): of the threads and of the games, at least one of each."""
        parts = max(1, workers)
        return replace(self, threads=max(1, self.threads // parts), selfplay_games=max(1, self.selfplay_games // parts))

    def apply(self) -> None:
        """Set torch's thread count and fp32 precision, of products and convolutions alike, for this process."""
        torch.set_num_threads(self.threads)
        torch.set_float32_matmul_precision(self.matmul_precision)
        # cuDNN's convolutions have a switch of their own. This one is of the same family as the line above; mixing it
        # with `fp32_precision` makes torch raise wherever the other family is read.
        torch.backends.cudnn.allow_tf32 = self.matmul_precision != "highest"


@dataclass(frozen=True)
class _Defaults:
    """What `auto` means on one type of device."""

    channels_last: bool
    inference: str
    pin_memory: bool
    workers: int
    train_batch: int
    selfplay_games: int
    groups: int


# The fused path and the batch sizes of the cpu are measured; those of cuda and mps keep the device busy with small
# networks without more than a few hundred MiB.
DEFAULTS = {
    "cpu": _Defaults(True, "fused", False, 0, 512, 256, 1),
    "cuda": _Defaults(True, "graph", True, 2, 1024, 1024, 2),
    "mps": _Defaults(False, "eager", False, 0, 512, 512, 1),
}

MOST_WORKERS = 8
"""A process of one thread evaluates more positions than its share of a call over all threads; but each holds half a
gigabyte, and a small share of the games."""


def build_profile(config: AcceleratorConfig) -> DeviceProfile:
    """Choose the device and fill in every setting that was left open.

    Raises:
        UsageError: the device is missing, or does not support what was asked of it.
    """
    device = choose_device(config.device)
    defaults = DEFAULTS[device.type]
    _refuse_unsupported(config, device)
    threads = config.threads or usable_cores()
    return DeviceProfile(
        device=device,
        accelerator=device.type,
        devices=[device.index or 0] if device.type == "cuda" else 1,
        precision=training_precision(config.precision, device),
        inference_dtype=inference_dtype(config.inference_precision, device),
        matmul_precision=config.matmul_precision,
        channels_last=_filled(config.channels_last, defaults.channels_last),
        compile=config.compile,
        inference=defaults.inference if config.inference == "auto" else config.inference,
        pin_memory=_filled(config.pin_memory, defaults.pin_memory),
        workers=_filled(config.workers, defaults.workers),
        train_batch=_filled(config.train_batch, defaults.train_batch),
        selfplay_games=_filled(config.selfplay_games, defaults.selfplay_games),
        groups=_filled(config.groups, defaults.groups),
        selfplay_workers=min(threads, MOST_WORKERS) if device.type == "cpu" and threads > 1 else 0,
        threads=threads,
    )


def _refuse_unsupported(config: AcceleratorConfig, device: torch.device) -> None:
    if config.pin_memory and device.type != "cuda":
        raise UsageError(f"accelerator.pin_memory=true: only cuda reads page-locked memory, the device is {device}")
    if config.inference == "fused" and device.type != "cpu":
        raise UsageError(f"accelerator.inference=fused: only the cpu has this path, the device is {device}")
    if config.inference == "graph" and device.type != "cuda":
        raise UsageError(f"accelerator.inference=graph: only cuda has this path, the device is {device}")


def _filled(value: T | None, default: T) -> T:
    return default if value is None else value
