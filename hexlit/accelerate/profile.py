"""The settings of a run on its device, decided once."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from hexlit.accelerate.config import AcceleratorConfig, LoadingDefaults
from hexlit.accelerate.device import choose_device, cuda_devices
from hexlit.accelerate.host import in_notebook, usable_cores
from hexlit.accelerate.memory import set_memory_cap
from hexlit.accelerate.precision import inference_dtype, training_precision
from hexlit.accelerate.ranks import ALONE, Ranks, ranks
from hexlit.accelerate.threads import keep_freed_memory
from hexlit.errors import UsageError


@dataclass(frozen=True)
class DeviceProfile:
    """Everything that depends on the device."""

    config: AcceleratorConfig = field(compare=False)
    """The user's choices; those that no device changes are read from here."""

    device: torch.device
    """The device; with its index if it is cuda."""

    devices: int | list[int] = field(hash=False)
    """Lightning's `devices` argument."""

    precision: str
    """Lightning's `precision` argument: 32-true, bf16-mixed or 16-mixed."""

    inference_dtype: torch.dtype
    """Number format of evaluating the network."""

    matmul_precision: str
    """Inner precision of fp32 products: highest, high or medium."""

    channels_last: bool
    """Whether images are laid out NHWC."""

    cudnn_benchmark: bool
    """Whether cuDNN tries its convolutions and keeps the fastest."""

    compile: bool
    """Whether the network is compiled for training."""

    inference: str
    """Backend of evaluation to try first: eager, fused, winograd, graph or compile. `auto` stays on
    a cpu: the fastest backend depends on the network, its input and the batch.
    """

    pin_memory: bool
    """Whether host batches are page-locked."""

    workers: int
    """Number of processes that load data."""

    prefetch: int | None
    """Batches that each of them prepares ahead; None without any."""

    persistent_workers: bool
    """Whether they stay alive between epochs."""

    train_batch: int
    """Examples in one optimisation step."""

    micro_batch: int
    """Most examples that go through the network at once in training."""

    evaluation_batch: int
    """Examples in one call when the network is only evaluated."""

    fused_optimizer: bool
    """Whether an update is one kernel, if the optimizer has one."""

    memory_cap: float | None
    """Most device memory that torch may take, in GiB; None: no limit."""

    threads: int
    """CPU threads of torch and of all other computations."""

    def share(self, workers: int, *, beside: bool = False) -> "DeviceProfile":
        """The part of each of `workers` processes (0 counts as one), with at least one thread.

        A single one leaves a thread to a training `beside` it.
        """
        return replace(
            self, threads=max(1, min(self.threads // max(1, workers), self.threads - beside))
        )

    def with_memory_share(self, share: float) -> "DeviceProfile":
        """The same with this `share` of the memory cap."""
        if self.memory_cap is None:
            return self
        return replace(self, memory_cap=self.memory_cap * share)

    def apply(self) -> None:
        """Apply the settings that torch keeps for the whole process.

        These are the current device, threads, fp32 precision of products and convolutions, cuDNN's
        choice of convolutions, determinism, and the memory cap.
        """
        if (
            self.device.type == "cuda"
        ):  # the default of calls that name no device, such as those for page-locked memory
            torch.cuda.set_device(self.device)
        if self.device.type == "cpu":
            keep_freed_memory()
        torch.set_num_threads(self.threads)
        torch.set_float32_matmul_precision(self.matmul_precision)
        # cuDNN's convolutions have a switch of their own, of the same family as the line above.
        # Mixing it with `fp32_precision` makes torch raise wherever the other family is read.
        torch.backends.cudnn.allow_tf32 = self.matmul_precision != "highest"
        torch.backends.cudnn.benchmark = self.cudnn_benchmark
        torch.backends.cudnn.deterministic = self.config.deterministic
        # Operators without a deterministic twin only warn; they should not end a run.
        torch.use_deterministic_algorithms(self.config.deterministic, warn_only=True)
        if self.memory_cap is not None:
            set_memory_cap(self.device, self.memory_cap)


@contextmanager
def restored_settings() -> Iterator[None]:
    """Restore, at the end of the block, all settings of `DeviceProfile.apply`.

    The memory cap of a device stays: torch has no way to ask for it.
    """
    with ExitStack() as stack:
        stack.callback(torch.set_deterministic_debug_mode, torch.get_deterministic_debug_mode())
        for name in ("allow_tf32", "benchmark", "deterministic"):
            stack.callback(setattr, torch.backends.cudnn, name, getattr(torch.backends.cudnn, name))
        stack.callback(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())
        stack.callback(torch.set_num_threads, torch.get_num_threads())
        yield


# The number for the cpu is measured. Those of cuda and mps keep the device busy with small
# networks, and take only a few hundred MiB.
DEFAULTS: dict[str, dict[str, Any]] = {
    "cpu": {
        "channels_last": True,
        "inference": "auto",
        "pin_memory": False,
        "evaluation_batch": 256,
    },
    "cuda": {
        "channels_last": True,
        "inference": "graph",
        "pin_memory": True,
        "evaluation_batch": 1024,
    },
    "mps": {
        "channels_last": False,
        "inference": "eager",
        "pin_memory": False,
        "evaluation_batch": 512,
    },
}
"""The meaning of `auto` and null on each type of device;
on a cpu the backend is measured for each network.
"""

TRAIN_BATCH = 512
"""Default number of examples in one optimisation step. It is the same on every device: the steps
per epoch and the learning rate depend on it.
"""


def build_profile(
    config: AcceleratorConfig,
    task_defaults: Mapping[str, LoadingDefaults] | None = None,
    *,
    shares_a_study: bool = False,
) -> DeviceProfile:
    """Choose the device and fill in all open settings.

    `task_defaults`, by the type of the device, take precedence over the defaults of all tasks.
    `shares_a_study`: see `choose_device`.

    Raises:
        UsageError: the device is missing, or does not support a setting.
    """
    if (
        config.deterministic
    ):  # cuBLAS reads it at its first use, which may be the choice of the device
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    place = ranks()
    card = 0 if _sees_own_card(place) else place.local_rank
    device = choose_device(config.device, card, shares_a_study=shares_a_study)
    return profile_on(device, config, task_defaults, place)


def profile_on(
    device: torch.device,
    config: AcceleratorConfig,
    task_defaults: Mapping[str, LoadingDefaults] | None = None,
    place: Ranks = ALONE,
) -> DeviceProfile:
    """As `build_profile`, with a device that is already chosen, for the rank at `place`.

    Raises:
        UsageError: it does not support a setting.
    """
    general = DEFAULTS[device.type]
    own = (task_defaults or {}).get(device.type) or LoadingDefaults(
        TRAIN_BATCH, general["evaluation_batch"], 0
    )
    # A notebook's kernel has no script for a process to begin with.
    workers = 0 if in_notebook() else own.workers
    workers = workers if config.workers is None else config.workers
    precision = training_precision(config.precision, device)
    filled: dict[str, Any] = {
        **dict.fromkeys(
            ("matmul_precision", "compile", "memory_cap")
        ),  # as configured, on every device
        **general,
        **vars(own),
        "cudnn_benchmark": device.type == "cuda" and not config.deterministic,
        "workers": workers,
        "prefetch": 2,
        "persistent_workers": workers > 0,
        # Fused kernels unscale float16 gradients inside the update, after the clipping.
        "fused_optimizer": precision != "16-mixed",
    }
    filled |= {
        name: value for name in filled if (value := getattr(config, name)) not in (None, "auto")
    }
    filled["prefetch"] = filled["prefetch"] if workers else None
    winograd = config.inference == "winograd"
    profile = DeviceProfile(
        config=config,
        device=device,
        devices=_training_devices(device, place),
        precision=precision,
        inference_dtype=torch.float32
        if winograd
        else inference_dtype(config.inference_precision, device),
        micro_batch=min(filled["train_batch"], config.micro_batch or filled["train_batch"]),
        threads=config.threads or place.threads(usable_cores()),
        **filled,
    )
    _refuse_unsupported(profile, place)
    return profile


def every_profile(
    config: AcceleratorConfig, task_defaults: Mapping[str, LoadingDefaults] | None = None
) -> dict[str, tuple[DeviceProfile, str]]:
    """By type, cpu, cuda and mps: the profile of a run with `config` on it, and why this machine
    lacks it, if it does.

    A missing cuda device is assumed to multiply bf16, as all have done since compute capability
    8.0.
    """
    result: dict[str, tuple[DeviceProfile, str]] = {}
    for kind in DEFAULTS:
        try:
            result[kind] = build_profile(replace(config, device=kind), task_defaults), ""
        except UsageError as error:
            result[kind] = profile_on(torch.device(kind), config, task_defaults), str(error)
    return result


def _training_devices(device: torch.device, place: Ranks) -> int | list[int]:
    """The devices of this machine that train together.

    Only those count that this process sees. Lightning gives each rank its own of them.
    """
    if device.type != "cuda":
        return place.local_size
    if place.several and not _sees_own_card(place):
        return list(range(place.local_size))
    return [device.index or 0]


def _sees_own_card(place: Ranks) -> bool:
    """Whether this rank of several on a machine sees no card but its own,
    as by `srun --gpus-per-task`.
    """
    return place.by_srun and place.local_size > 1 and len(cuda_devices()) == 1


def _refuse_unsupported(profile: DeviceProfile, place: Ranks) -> None:
    config, device, fp16 = profile.config, profile.device, profile.precision == "16-mixed"
    cpu, cuda, winograd = (
        device.type == "cpu",
        device.type == "cuda",
        config.inference == "winograd",
    )
    only_cuda, only_cpu = (
        f"only cuda has it, the device is {device}",
        f"only the cpu has it, the device is {device}",
    )
    size, dtype, one_device = (
        place.local_size,
        config.inference_precision,
        device.type == "mps" or ":" in config.device,
    )
    miscounted = place.several and config.devices not in (None, size)
    refused = {
        f"devices={config.devices}: {size} processes were started here; leave it out": miscounted,
        f"device={config.device}: is one device for {size} processes; use cuda or cpu": place.several
        and one_device,
        "persistent_workers=true: needs accelerator.workers above 0": config.persistent_workers
        and not profile.workers,
        f"memory_cap={config.memory_cap}: only cuda and mps have it, the device is cpu": cpu
        and config.memory_cap,
        f"pin_memory=true: {only_cuda}": config.pin_memory and not cuda,
        f"inference={config.inference}: {only_cpu}": (winograd or config.inference == "fused")
        and not cpu,
        f"inference_precision={dtype}: winograd evaluates in fp32": winograd
        and dtype not in ("auto", "fp32"),
        f"inference=graph: {only_cuda}": config.inference == "graph" and not cuda,
        "fused_optimizer=true: unscales float16 gradients after their clipping": config.fused_optimizer
        and fp16,
    }
    for message, holds in refused.items():
        if holds:
            raise UsageError(f"accelerator.{message}")
