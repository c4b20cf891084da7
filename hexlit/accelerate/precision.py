"""The number formats that a device computes in, and the choice among them."""

import platform
import time
from functools import partial

import torch

from hexlit.accelerate.autotune_cache import cached_choice, timed_in_turn
from hexlit.accelerate.threads import torch_threads
from hexlit.errors import UsageError

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def onednn_takes_bf16() -> bool:
    """Whether oneDNN computes in bf16 on this CPU, in hardware or not: on x86 it does with AVX512."""
    onednn: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return onednn and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def cpu_has_bf16() -> bool:
    """Whether this CPU multiplies bf16 in hardware (AVX512-BF16, AMX or Arm) and oneDNN uses it.

    oneDNN accepts bf16 on every AVX512 machine and emulates it, slowly, if the instructions are
    absent. On x86 the instructions themselves are therefore checked too.
    """
    instructions = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return onednn_takes_bf16() and (
        instructions or platform.machine().lower() not in ("x86_64", "amd64")
    )


PRODUCT = 512
"""Rows of the square matrices in the deciding product; it takes about 3 ms on a core with
AVX512.
"""


def cpu_prefers_bf16() -> bool:
    """Whether bf16 is the faster format of this CPU: measured once, then remembered.

    The instructions alone do not decide it. AVX512-BF16 without AMX takes 1.9 times as long as
    float32 on Intel's processors, and half as long on AMD's.
    """
    return (
        cpu_has_bf16()
        and cached_choice({"what": "precision"}, ("bf16", "fp32"), seconds_of_formats) == "bf16"
    )


def seconds_of_formats() -> dict[str, float]:
    """Seconds of a product of two matrices on one thread of the CPU, by format: `bf16` and `fp32`."""
    with torch.inference_mode(), torch_threads(1):
        matrices = {
            name: torch.ones(PRODUCT, PRODUCT, dtype=DTYPES[name]) for name in ("bf16", "fp32")
        }
        # Other programs lengthen the computing time little.
        times = timed_in_turn(
            {name: partial(torch.matmul, x, x) for name, x in matrices.items()}, time.process_time
        )
    return {name: min(seconds) for name, seconds in times.items()}


def cuda_has_bf16(device: torch.device) -> bool:
    """Whether the CUDA device multiplies bf16 in hardware (compute capability 8.0 and later); a
    missing one may.
    """
    return not torch.cuda.is_available() or torch.cuda.get_device_capability(device) >= (8, 0)


TRAINED = {"fp32": "32-true", "bf16": "bf16-mixed", "fp16": "16-mixed"}
"""Lightning's precision strings by number format."""


def training_precision(requested: str, device: torch.device) -> str:
    """Lightning's precision string for training on `device`: `32-true`, `bf16-mixed` or `16-mixed`.

    Raises:
        UsageError: the device does not compute in the requested precision.
    """
    formats = {"auto": "auto"} | {text: name for name, text in TRAINED.items()}
    return TRAINED[_format(formats[requested], f"accelerator.precision={requested}", device)]


def inference_dtype(requested: str, device: torch.device) -> torch.dtype:
    """The dtype for evaluating the network on `device`.

    Raises:
        UsageError: the device does not compute in the requested precision.
    """
    return DTYPES[_format(requested, f"accelerator.inference_precision={requested}", device)]


def _format(requested: str, setting: str, device: torch.device) -> str:
    """The `requested` number format, if the device computes in it; for `auto`, the fastest of the
    device.
    """
    if requested == "auto" and device.type == "cuda":
        return "bf16" if cuda_has_bf16(device) else "fp16"
    if requested == "auto":
        return "bf16" if device.type == "cpu" and cpu_prefers_bf16() else "fp32"
    if requested == "fp16" and device.type == "cpu":
        raise UsageError(f"{setting}: the cpu computes in fp32 or bf16")
    if requested == "bf16" and device.type == "cuda" and not cuda_has_bf16(device):
        raise UsageError(f"{setting}: {device} has no bf16; use 16 or 32 bits")
    return requested
