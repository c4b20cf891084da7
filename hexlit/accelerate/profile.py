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

    compile: bool
    """Whether the network is compiled for training."""

    inference: str
    """Backend of evaluation to try first: eager, fused, winograd, graph or compile. `auto` stays on
    a cpu: the fastest backend depends on the network, its input and the batch.
    """

    workers: int
    """Number of processes that load data."""

    prefetch: int | None
    """Batches that each of them prepares ahead; None without any."""

    train_batch: int
    """Examples in one optimisation step."""

    micro_batch: int
    """Most examples that go through the network at once in training."""

    evaluation_batch: int
    """Examples in one call when the network is only evaluated."""

    memory_cap: float | None
    """Most device memory that torch may take, in GiB; None: no limit."""

    threads: int
    """CPU threads of torch and of all other computations."""

    @property
    def pin_memory(self) -> bool:
        """Whether host batches are page-locked, which only cuda supports."""
        return self.device.type == "cuda"

    def share(self, workers: int, *, next_to_training: bool = False) -> "DeviceProfile":
        """The part of each of `workers` processes (0 counts as one), with at least one thread.

        A single one leaves a thread to a training that goes on `next_to_training`.
        """
        return replace(
            self,
            threads=max(1, min(self.threads // max(1, workers), self.threads - next_to_training)),
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
        cuda = self.device.type == "cuda"
        if cuda:
            # For calls that name no device, such as those for page-locked memory.
            torch.cuda.set_device(self.device)
        if self.device.type == "cpu":
            keep_freed_memory()
        torch.set_num_threads(self.threads)
        torch.set_float32_matmul_precision(self.matmul_precision)
        # cuDNN's convolutions have a switch of their own, of the same family as the line above.
        # Mixing it with `fp32_precision` makes torch raise wherever the other family is read.
        torch.backends.cudnn.allow_tf32 = self.matmul_precision != "highest"
        torch.backends.cudnn.benchmark = cuda and not self.config.deterministic
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
        "evaluation_batch": 256,
    },
    "cuda": {
        "channels_last": True,
        "inference": "graph",
        "evaluation_batch": 1024,
    },
    "mps": {
        "channels_last": False,
        "inference": "eager",
        "evaluation_batch": 512,
    },
}
"""The meaning of `auto` and null by type of device; a cpu measures the backend by network."""

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
    if config.deterministic:
        # cuBLAS reads it at its first use, which may be the choice of the device.
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
    loading = (task_defaults or {}).get(device.type)
    if loading is None:
        loading = LoadingDefaults(TRAIN_BATCH, general["evaluation_batch"], workers=0)
    precision = training_precision(config.precision, device)
    dtype = inference_dtype(config.inference_precision, device)
    if config.inference == "winograd":
        dtype = torch.float32
    if config.workers is not None:
        workers = config.workers
    elif in_notebook():
        workers = 0  # a notebook's kernel has no script for a process to begin with
    else:
        workers = loading.workers
    train_batch = config.train_batch or loading.train_batch
    profile = DeviceProfile(
        config=config,
        device=device,
        devices=_training_devices(device, place),
        precision=precision,
        inference_dtype=dtype,
        matmul_precision=config.matmul_precision,
        channels_last=_or_default(config.channels_last, general["channels_last"]),
        compile=config.compile,
        inference=general["inference"] if config.inference == "auto" else config.inference,
        workers=workers,
        prefetch=(config.prefetch or 2) if workers else None,
        train_batch=train_batch,
        micro_batch=min(train_batch, config.micro_batch or train_batch),
        evaluation_batch=config.evaluation_batch or loading.evaluation_batch,
        memory_cap=config.memory_cap,
        threads=config.threads or place.threads(usable_cores()),
    )
    _refuse_unsupported(config, device)
    _refuse_other_processes(config, device, place)
    return profile


def _or_default(value: bool | None, default: bool) -> bool:
    return default if value is None else value


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
    """Whether this rank of several sees no card but its own, as by `srun --gpus-per-task`."""
    return place.by_srun and place.local_size > 1 and len(cuda_devices()) == 1


def _refuse_unsupported(config: AcceleratorConfig, device: torch.device) -> None:
    """Raise `UsageError` where a setting does not work on `device`."""
    backend, dtype = config.inference, config.inference_precision
    if backend in ("winograd", "fused") and device.type != "cpu":
        raise UsageError(f"accelerator.inference={backend}: only the cpu has it, not {device}")
    if backend in ("graph", "cudnn") and device.type != "cuda":
        raise UsageError(f"accelerator.inference={backend}: only cuda has it, not {device}")
    if backend == "winograd" and dtype not in ("auto", "fp32"):
        raise UsageError(f"accelerator.inference_precision={dtype}: winograd evaluates in fp32")
    if config.channels_last and device.type == "mps":
        raise UsageError(
            "accelerator.channels_last=true: mps computes wrong gradients of batch norm with it"
        )
    if config.memory_cap and device.type == "cpu":
        raise UsageError(
            f"accelerator.memory_cap={config.memory_cap}: only cuda and mps have it, not the cpu"
        )


def _refuse_other_processes(config: AcceleratorConfig, device: torch.device, place: Ranks) -> None:
    """Raise `UsageError` where the ranks that were started do not fit the configured devices."""
    if not place.several:
        return
    if config.devices not in (None, place.local_size):
        raise UsageError(
            f"accelerator.devices={config.devices}: {place.local_size} processes were started here"
        )
    if device.type == "mps" or ":" in config.device:
        raise UsageError(
            f"accelerator.device={config.device}: is one device for {place.local_size} processes"
        )
