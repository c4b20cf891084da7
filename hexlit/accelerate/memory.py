"""Use of devices: the memory taken and allowed, errors about missing memory, and the utilisation."""

import gc
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from hexlit.accelerate.host import free_host_bytes, total_host_bytes
from hexlit.accelerate.machine import ResourceSample
from hexlit.accelerate.nvml import Nvml
from hexlit.errors import UsageError

GIB = 2**30

_OUT_OF_MEMORY = (
    # cuda, mps ("MPS backend out of memory"), and cuBLAS and cuDNN where they name it
    "out of memory",
    "status_alloc_failed",  # cuBLAS and cuDNN
    "cudnn_status_internal_error_device_allocation_failed",
    "unable to find an engine",  # cuDNN: none whose workspace fits
    "cublas_status_not_initialized when calling `cublascreate",  # which allocates its workspace
    # cpu: "DefaultCPUAllocator: can't allocate memory: you tried to allocate ..."
    "can't allocate memory",
    "cannot allocate memory",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether `error` says that cuda, mps or the host is out of memory; each has its own message."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and is_oom_message(str(error))
    )


def is_oom_message(message: str) -> bool:
    """Whether the `message` of an error is one about missing memory."""
    return any(words in message.lower() for words in _OUT_OF_MEMORY)


def peak_bytes(device: torch.device) -> int | None:
    """The most bytes that tensors of this process took of `device` since `reset_peak`; None on a
    cpu.

    torch keeps no peak on mps. There the figure is torch's present total, tensors and cache: it
    grows with the peak and shrinks only when memory is released.
    """
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else held_bytes(device)


def held_bytes(device: torch.device) -> int | None:
    """Bytes that torch holds of `device` for this process now, tensors and cache; None on a cpu.

    Any thread may call it.
    """
    if device.type == "cuda":
        return torch.cuda.memory_reserved(device)
    if device.type == "mps":
        return torch.mps.driver_allocated_memory()
    return None


def total_and_free_bytes(device: torch.device) -> tuple[int, int]:
    """Memory of `device` in bytes: total and free; on mps, the system's recommended limit and the
    rest of it.
    """
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        return int(total), int(free)
    if device.type == "mps":
        most = torch.mps.recommended_max_memory()
        return most, most - torch.mps.driver_allocated_memory()
    return total_host_bytes(), free_host_bytes()


def reset_peak(device: torch.device) -> None:
    """Start a new peak, if the device keeps one."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def release(device: torch.device) -> None:
    """Give unused memory back to the device. Call it after handling an exception: a pending one
    keeps tensors alive.
    """
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()


def set_memory_cap(device: torch.device, gib: float) -> None:
    """Let torch take at most `gib` GiB of `device`; an allocation beyond fails as if the device
    were full.

    Raises:
        UsageError: the device has less than that.
    """
    total, _ = total_and_free_bytes(device)
    share = gib * GIB / total
    # torch on mps takes up to twice the device's recommendation; a cap above the device's memory
    # would have no effect.
    if share > 1:
        most = math.floor(total / GIB * 10) / 10
        raise UsageError(f"accelerator.memory_cap={gib}: {device} has {most:g} GiB")
    if device.type == "cuda":
        torch.cuda.set_per_process_memory_fraction(share, device)
    else:
        torch.mps.set_per_process_memory_fraction(share)


def nvml_of(device: torch.device) -> Nvml | None:
    """The driver with `device` as its only card; None if that is no cuda device."""
    return (
        Nvml(f"GPU-{torch.cuda.get_device_properties(device).uuid}")
        if device.type == "cuda"
        else None
    )


@dataclass(frozen=True)
class DeviceGauge:
    """Reads the device of a run.

    The utilisation of a cpu is calculated from processor time, that of other devices from samples.
    """

    device: torch.device
    threads: int
    """Of the cpu."""
    sampled: Callable[[float, float], ResourceSample] | None = None
    """Sums up the samples from one instant of `time.monotonic()` to another."""

    def read(
        self, started: float, seconds: float, cpu_seconds: float
    ) -> tuple[float | None, int | None, dict[str, str]]:
        """The device in the `seconds` from `started` (on `time.monotonic()`), of which processors
        took `cpu_seconds`.

        Returns:
            Its utilisation, 0 to 1, of its threads' time on a cpu; the largest amount of its own
            memory that tensors took since `reset_peak`, in bytes; and the reasons of those that are
            None, by column of a table.
        """
        peak, no_peak = peak_bytes(self.device), "the cpu has no memory of its own, see the host's"
        utilisation, why = self._utilisation(started, started + seconds, cpu_seconds)
        reasons = {"device_utilisation": why, "peak_device_bytes": no_peak if peak is None else ""}
        return utilisation, peak, {name: reason for name, reason in reasons.items() if reason}

    def _utilisation(
        self, started: float, ended: float, cpu_seconds: float
    ) -> tuple[float | None, str]:
        if self.device.type == "cpu":
            whole = (ended - started) * self.threads
            return (
                (min(1.0, cpu_seconds / whole), "") if whole > 0 else (None, "no time has passed")
            )
        if self.device.type == "mps":
            return None, "macOS shows it to administrators only"
        if self.sampled is None:
            return None, "nothing samples the device"
        seen = self.sampled(started, ended)
        return seen.device_utilisation, seen.reasons.get("device_utilisation", "")
