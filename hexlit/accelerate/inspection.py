"""The facts about this machine: its devices, what works on them by trying, and versions.

Everything is plain values, as JSON has them. A test that fails has `works` false and the `reason`.
"""

import copy
import logging
import os
import platform
import secrets
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor, nn

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.device import choose_device, cuda_devices, why_missing
from hexlit.accelerate.events import synchronize
from hexlit.accelerate.host import (
    free_host_bytes,
    processor_identity,
    total_host_bytes,
    usable_cores,
)
from hexlit.accelerate.memory import total_and_free_bytes
from hexlit.accelerate.nvml import Nvml
from hexlit.accelerate.precision import DTYPES, inference_dtype, training_precision
from hexlit.accelerate.profile import every_profile, restored_settings

PACKAGES = ("hexlit", "lightning", "numba", "numpy", "hydra-core", "optuna")
PRODUCT_SIZE = 1000
PRODUCT_TOLERANCE = 1e-3
"""Largest error of an entry; the entries are about 1 in size."""
COMPILE_TOLERANCE = 1e-4
"""Largest difference of an output or a gradient, relative to the largest of them."""
PRECISION_TOLERANCE = 0.1
"""Largest difference of the gradients from those in fp32, as a share of their length."""
CHANNELS, SIDE = 4, 9
"""Shape of the test images: `[B, CHANNELS, SIDE, SIDE]`."""
TIMED_IMAGES = 128
"""Images in a step: with fewer, the calls would count more than the arithmetic."""
TIMED_SECONDS = 0.5
"""Seconds of timing a precision, after two steps; at least one step."""

Values = dict[str, Any]


def inspect_machine(
    *, compile: bool = True, on_step: Callable[[str], None] = lambda step: None
) -> Values:
    """Inspect and test everything.

    Args:
        compile: whether to test `torch.compile`, which takes most of the time.
        on_step: called with the name of each test.

    Returns:
        `versions` by name, the `host`, the `devices` (see `inspect_device`), the choice of
        `accelerator=auto` with its warnings, the `profiles` and the `seconds` of looking.
    """
    started = time.perf_counter()
    nvml = Nvml(os.environ.get("CUDA_VISIBLE_DEVICES"))
    devices: list[Values] = []
    cards = cuda_devices() or [torch.device("cuda:0")]  # without any, the first one says why
    for device in (torch.device("cpu"), *cards, torch.device("mps")):
        on_step(f"trying {device}")
        devices.append(inspect_device(device, nvml, compile=compile))
    with warnings_of("hexlit.accelerate.device") as messages:
        auto = str(choose_device("auto"))
    versions: Values = {"python": platform.python_version(), "os": platform.platform()}
    versions |= {"torch": str(torch.__version__), "cuda": torch.version.cuda}
    versions |= {name: version(name) for name in PACKAGES}
    versions["driver"] = nvml.driver
    nvml.close()
    host = {"cores_usable": usable_cores(), "memory_total_bytes": total_host_bytes()}
    host["memory_available_bytes"] = free_host_bytes()
    return {
        "versions": versions,
        "host": host,
        "devices": devices,
        "auto": {"device": auto, "warnings": messages},
        "profiles": profiles(),
        "seconds": time.perf_counter() - started,
    }


SHOWN = (
    "precision",
    "inference_dtype",
    "channels_last",
    "workers",
    "evaluation_batch",
    "inference",
)
"""Parts of a profile that differ by device."""


def profiles() -> list[Values]:
    """What a run of Hex gets on each type of device, also where this machine has none."""
    rows = []
    for kind, (profile, _) in every_profile(AcceleratorConfig()).items():
        row = {"device": kind, **{name: getattr(profile, name) for name in SHOWN}}
        row["inference_dtype"] = str(profile.inference_dtype).removeprefix("torch.")
        rows.append(row)
    return rows


def inspect_device(device: torch.device, nvml: Nvml, *, compile: bool) -> Values:
    """One device, or a kind of device that is missing, with the `reason`.

    `training_precision` and `inference_precision` are what `auto` takes. Compiling is tried on the
    first device of a kind alone.
    """
    missing = why_missing(device)
    if missing:
        if device.type == "cuda" and nvml.reason:
            missing += f" ({nvml.reason})"
        elif device.type == "cuda":
            missing += f" (the NVIDIA driver {nvml.driver} sees {', '.join(nvml.names())})"
        return {"device": device.type, "available": False, "reason": missing, "precisions": []}
    facts = {
        "device": str(device),
        "available": True,
        **_tried(partial(_facts, device)),
        "product": _tried(partial(probe_product, device)),
        "precisions": probe_precisions(device),
    }
    if compile and not device.index:
        facts["compile"] = _tried(partial(probe_compile, device))
        torch.compiler.reset()
    return facts


def _facts(device: torch.device) -> Values:
    total, free = total_and_free_bytes(device)
    formats = {dtype: short for short, dtype in DTYPES.items()}
    return {
        "name": device_name(device),
        "memory_total_bytes": total,
        "memory_free_bytes": free,
        "training_precision": training_precision("auto", device),
        "inference_precision": formats[inference_dtype("auto", device)],
    }


def device_name(device: torch.device) -> str:
    """The model, such as `NVIDIA H200` or `Apple M2`."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if platform.system() == "Darwin":
        question = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.check_output(question, text=True).strip()
    return processor_identity().rpartition(" ")[0]


@contextmanager
def warnings_of(logger: str) -> Iterator[list[str]]:
    """Collect the warnings of `logger` in the block, instead of showing them."""
    messages: list[str] = []
    log = logging.getLogger(logger)

    def keep(record: logging.LogRecord) -> bool:
        messages.append(record.getMessage())
        return False

    log.addFilter(keep)
    try:
        yield messages
    finally:
        log.removeFilter(keep)


def _tried(probe: Callable[[], Values]) -> Values:
    """`works` and the values of `probe`, or the `reason` where it raises."""
    try:
        return {"works": True, "reason": "", **probe()}
    except Exception as error:
        lines = [type(error).__name__, *str(error).strip().splitlines()[:1]]
        return {"works": False, "reason": ": ".join(lines)[:200]}


class TinyNet(nn.Sequential):
    """Images `[B, CHANNELS, n, n]` → `[B]`: convolutions, a norm and a mean."""

    def __init__(self, channels: int, slope: float = 0.01) -> None:
        first, second = (
            nn.Conv2d(inputs, channels, 3, padding=1) for inputs in (CHANNELS, channels)
        )
        mean = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1), nn.Flatten(0)
        super().__init__(
            first, nn.BatchNorm2d(channels), nn.LeakyReLU(slope), second, nn.LeakyReLU(slope), *mean
        )
        self.compiled = False
        """Whether the last call was a compiled one."""

    def forward(self, images: Tensor) -> Any:
        self.compiled = torch.compiler.is_compiling()
        return super().forward(images)  # type: ignore[no-untyped-call]


def probe_product(device: torch.device) -> Values:
    """Multiply two 1000x1000 fp32 matrices on `device`; `largest_error` of an entry against float64
    on the CPU.
    """
    generator = torch.Generator().manual_seed(0)
    left = torch.randn(PRODUCT_SIZE, PRODUCT_SIZE, generator=generator)
    right = torch.randn(PRODUCT_SIZE, PRODUCT_SIZE, generator=generator) / PRODUCT_SIZE**0.5
    with _full_fp32():
        product = (left.to(device) @ right.to(device)).cpu().double()
    error = (product - left.double() @ right.double()).abs().max().item()
    return {"largest_error": _within(PRODUCT_TOLERANCE, error, "the exact product")}


def _within(tolerance: float, difference: float, expected: str) -> float:
    """The `difference`; an error if it is above the `tolerance`, or no number."""
    if not difference <= tolerance:
        raise ArithmeticError(f"off by {difference:.2g} from {expected}, {tolerance:g} is allowed")
    return difference


def probe_precisions(device: torch.device) -> list[Values]:
    """Try fp32, bf16 and fp16, in this order: forward and backward of a small convolutional net
    under autocast.

    `difference` is the distance of its gradients from those in fp32, as a share of their length.
    `seconds` is the shortest time of a step (other programs can only lengthen it), and `times_fp32`
    a multiple of fp32's.
    """
    steps: dict[torch.dtype, tuple[Tensor, float]] = {}

    def probe(dtype: torch.dtype) -> Values:
        gradients, seconds = steps[dtype] = _timed_step(device, dtype)
        expected, fp32_seconds = steps[torch.float32]
        difference = ((gradients - expected).norm() / expected.norm()).item()
        return {
            "seconds": seconds,
            "times_fp32": seconds / fp32_seconds,
            "difference": _within(PRECISION_TOLERANCE, difference, "the gradients in fp32"),
        }

    return [{"precision": name, **_tried(partial(probe, dtype))} for name, dtype in DTYPES.items()]


def probe_compile(device: torch.device) -> Values:
    """Compile a small net for `device`, forward and backward, and compare it with itself
    uncompiled.

    `seconds` are those of the first call, which compiles, and `difference` is the largest of an
    output or a gradient, as a share of the largest. A constant that no earlier compile had makes
    sure that a cached result on disk is not used.
    """
    torch.manual_seed(0)
    with _full_fp32(), warnings.catch_warnings(action="ignore"):
        net = TinyNet(16, slope=0.01 + secrets.randbelow(10**9) / 1e11).to(device)
        generator = torch.Generator().manual_seed(0)
        images = torch.randn(8, CHANNELS, 5, 5, generator=generator).to(device)
        twin = copy.deepcopy(net)
        twin.compile(dynamic=False)
        start = time.perf_counter()
        result = _outputs_and_gradients(twin, images)
        seconds = time.perf_counter() - start
        if not twin.compiled:
            raise RuntimeError("torch.compile ran the net without compiling it")
        expected = _outputs_and_gradients(net, images)
    difference = ((result - expected).abs().max() / expected.abs().max()).item()
    return {"seconds": seconds, "difference": _within(COMPILE_TOLERANCE, difference, "eager")}


def _timed_step(device: torch.device, dtype: torch.dtype) -> tuple[Tensor, float]:
    """Gradients of the net in one long fp32 vector on the host, and the shortest time of a step in
    seconds.
    """
    torch.manual_seed(0)
    layout = (
        torch.contiguous_format if device.type == "mps" else torch.channels_last
    )  # as hexlit trains
    net = TinyNet(64).to(device).to(memory_format=layout)  # type: ignore[call-overload]
    images = torch.randn(
        TIMED_IMAGES, CHANNELS, SIDE, SIDE, generator=torch.Generator().manual_seed(0)
    )
    images = images.to(device).contiguous(memory_format=layout)
    times: list[float] = []
    with warnings.catch_warnings(action="ignore"):
        while len(times) < 3 or sum(times[2:]) < TIMED_SECONDS:
            net.zero_grad()
            synchronize(device)
            start = time.perf_counter()
            with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
                output = net(images)
                loss = output.float().square().mean()
            loss.backward()
            synchronize(device)
            times.append(time.perf_counter() - start)
    if output.dtype != dtype:
        raise RuntimeError(
            f"autocast computes in {str(output.dtype).removeprefix('torch.')} instead"
        )
    return _gradients(net), min(times[2:])


def _outputs_and_gradients(net: TinyNet, images: Tensor) -> Tensor:
    values = net(images)
    values.sum().backward()
    return torch.cat((values.detach().cpu(), _gradients(net)))


def _gradients(net: nn.Module) -> Tensor:
    return torch.cat(
        [p.grad.float().cpu().flatten() for p in net.parameters() if p.grad is not None]
    )


@contextmanager
def _full_fp32() -> Iterator[None]:
    """Products and convolutions in all 23 bits, whatever the setting of the process."""
    with restored_settings():
        torch.set_float32_matmul_precision("highest")
        torch.backends.cudnn.allow_tf32 = False
        yield
