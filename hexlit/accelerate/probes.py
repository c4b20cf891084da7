"""Tests of a device: a product, the precisions, compiling. A failure becomes a reason, never an exception."""

import copy
import math
import secrets
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from hexlit.accelerate.events import synchronize
from hexlit.accelerate.precision import DTYPES, cpu_has_bf16, cuda_has_bf16

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


@dataclass(frozen=True)
class ProductProbe:
    """A product of two 1000x1000 fp32 matrices, compared with the CPU's in float64. None: see `reasons`."""

    works: bool
    largest_error: float | None
    """Largest error of an entry; the entries are about 1 in size, the largest about 5."""
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PrecisionProbe:
    """Forward and backward of a small convolutional net under autocast. None: see `reasons`."""

    precision: str
    """fp32, bf16 or fp16."""
    works: bool
    """Whether it ran in this format, with gradients near those in fp32."""
    hardware: bool | None
    """Whether the hardware multiplies in this format, or only emulates it."""
    seconds: float | None
    """Shortest time of a forward and a backward: other programs can only lengthen it."""
    times_fp32: float | None
    """That time as a multiple of fp32's: below 1 is faster."""
    difference: float | None
    """Distance of the gradients from those in fp32, as a share of their length."""
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CompileProbe:
    """`torch.compile` of a small net, forward and backward. None: see `reasons`."""

    works: bool | None
    seconds: float | None
    """Duration of the first forward and backward, which compile."""
    difference: float | None
    """Difference from eager of an output or a gradient, as a share of the largest."""
    reasons: dict[str, str] = field(default_factory=dict)


class TinyNet(nn.Module):
    """Images `[B, CHANNELS, n, n]` → `[B]`: convolutions, a norm, an addition and a mean."""

    def __init__(self, channels: int, factor: float = 1.0) -> None:
        super().__init__()
        self.stem = nn.Conv2d(CHANNELS, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)
        self.inner = nn.Conv2d(channels, channels, 3, padding=1)
        self.last = nn.Linear(channels, 1)
        self.factor = factor
        self.inner_dtype = torch.float32
        """Number format of the convolution's result in the last call."""

    def forward(self, images: Tensor) -> Tensor:
        x = self.norm(self.stem(images)).relu()
        y = self.inner(x) * self.factor
        if not torch.compiler.is_compiling():
            self.inner_dtype = y.dtype
        value: Tensor = self.last((x + y).relu().mean((2, 3)))
        return value.squeeze(1)


def probe_product(device: torch.device) -> ProductProbe:
    """Multiply two fp32 matrices on `device` and compare with float64 on the CPU."""
    generator = torch.Generator().manual_seed(0)
    left = torch.randn(PRODUCT_SIZE, PRODUCT_SIZE, generator=generator)
    right = torch.randn(PRODUCT_SIZE, PRODUCT_SIZE, generator=generator) / math.sqrt(PRODUCT_SIZE)
    try:
        with _full_fp32():
            product = (left.to(device) @ right.to(device)).cpu().double()
        error = (product - left.double() @ right.double()).abs().max().item()
    except Exception as failure:
        return ProductProbe(False, None, why_all("works largest_error", said(failure)))
    if not math.isfinite(error):
        return ProductProbe(False, None, why_all("works largest_error", "its product is not finite"))
    works = error <= PRODUCT_TOLERANCE
    return ProductProbe(
        works, error, {} if works else {"works": f"its product is off by {error:.2g}, {PRODUCT_TOLERANCE:g} is allowed"}
    )


def probe_precisions(device: torch.device) -> list[PrecisionProbe]:
    """Try fp32, bf16 and fp16, in this order."""
    probes: list[PrecisionProbe] = []
    expected: Tensor | None = None
    for precision, dtype in DTYPES.items():
        reasons: dict[str, str] = {}
        hardware, why = hardware_support(precision, device)
        if hardware is None:
            reasons["hardware"] = why
        seconds = times = difference = None
        try:
            gradients, seconds = _timed_step(device, dtype)
            expected = gradients if precision == "fp32" else expected
            if expected is None:
                raise RuntimeError("there is no fp32 to compare with")
            difference = ((gradients - expected).norm() / expected.norm()).item()
            if not difference <= PRECISION_TOLERANCE:  # NaN is not
                reasons["works"] = f"its gradients are {difference:.2g} away from fp32's"
                difference = difference if math.isfinite(difference) else None
        except Exception as error:
            reasons["works"] = said(error)
        if probes and seconds is not None and probes[0].seconds:
            times = seconds / probes[0].seconds
        elif precision == "fp32" and seconds is not None:
            times = 1.0
        for name, value in (("seconds", seconds), ("times_fp32", times), ("difference", difference)):
            if value is None:
                reasons[name] = reasons.get("works", "fp32 does not work")
        works = "works" not in reasons
        probes.append(PrecisionProbe(precision, works, hardware, seconds, times, difference, reasons))
    return probes


def probe_compile(device: torch.device) -> CompileProbe:
    """Compile a small net for `device` and compare it with itself uncompiled.

    A constant that no earlier compile had makes sure that a cached result on disk is not used.
    """
    torch.manual_seed(0)
    try:
        with _full_fp32(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            net = TinyNet(16, factor=1.0 + secrets.randbelow(10**9) / 1e10).to(device)
            images = torch.randn(8, CHANNELS, 5, 5, generator=torch.Generator().manual_seed(0)).to(device)
            twin = copy.deepcopy(net)
            twin.compile(dynamic=False)
            graphs, start = _compiled_graphs(), time.perf_counter()
            result = _outputs_and_gradients(twin, images)
            seconds = time.perf_counter() - start
            if _compiled_graphs() == graphs:
                raise RuntimeError("torch.compile ran the net without compiling it")
            expected = _outputs_and_gradients(net, images)
    except Exception as error:
        return CompileProbe(False, None, None, why_all("works seconds difference", said(error)))
    finally:
        torch.compiler.reset()
    difference = ((result - expected).abs().max() / expected.abs().max()).item()
    if not math.isfinite(difference):
        reasons = why_all("works difference", "what it computes is not finite")
        return CompileProbe(False, seconds, None, reasons)
    works = difference <= COMPILE_TOLERANCE
    reasons = {} if works else {"works": f"off by {difference:.2g} from eager, {COMPILE_TOLERANCE:g} is allowed"}
    return CompileProbe(works, seconds, difference, reasons)


def hardware_support(precision: str, device: torch.device) -> tuple[bool | None, str]:
    """Whether `device` multiplies in this format in hardware, or why that is not known."""
    if precision == "fp32":
        return True, ""
    try:
        if device.type == "cuda":
            if precision == "bf16":
                return cuda_has_bf16(device), ""
            return torch.version.hip is not None or torch.cuda.get_device_capability(device)[0] >= 7, ""
        if device.type == "cpu":
            return cpu_has_bf16() if precision == "bf16" else bool(torch.ops.mkldnn._is_mkldnn_fp16_supported()), ""
    except Exception as error:
        return None, said(error)
    return (True, "") if precision == "fp16" else (None, "macOS does not tell")


def said(error: Exception) -> str:
    """The first line of an error, at most 200 characters, with its kind if the line does not name it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}"[:200] if lines else type(error).__name__


def why_all(names: str, why: str) -> dict[str, str]:
    """The reason `why` under each of the blank-separated `names`."""
    return dict.fromkeys(names.split(), why)


def _timed_step(device: torch.device, dtype: torch.dtype) -> tuple[Tensor, float]:
    """Gradients of the net in one long fp32 vector on the host, and the shortest time of a step in seconds."""
    torch.manual_seed(0)
    layout = torch.contiguous_format if device.type == "mps" else torch.channels_last  # as hexlit trains
    net = TinyNet(64).to(device).to(memory_format=layout)  # type: ignore[call-overload]
    images = torch.randn(TIMED_IMAGES, CHANNELS, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    images = images.to(device).contiguous(memory_format=layout)
    times: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while len(times) < 3 or sum(times[2:]) < TIMED_SECONDS:
            net.zero_grad()
            synchronize(device)
            start = time.perf_counter()
            with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
                loss = net(images).float().square().mean()
            loss.backward()
            synchronize(device)
            times.append(time.perf_counter() - start)
    if net.inner_dtype != dtype:
        raise RuntimeError(f"autocast computes in {str(net.inner_dtype).removeprefix('torch.')} instead")
    return _gradients(net), min(times[2:])


def _outputs_and_gradients(net: TinyNet, images: Tensor) -> Tensor:
    values = net(images)
    values.sum().backward()
    return torch.cat((values.detach().cpu(), _gradients(net)))


def _gradients(net: nn.Module) -> Tensor:
    gradients = [parameter.grad for parameter in net.parameters()]
    return torch.cat([gradient.detach().float().cpu().flatten() for gradient in gradients if gradient is not None])


@contextmanager
def _full_fp32() -> Iterator[None]:
    """Products and convolutions in all 23 bits, whatever the setting of the process."""
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]


def _compiled_graphs() -> int:
    """Number of graphs compiled in this process so far."""
    from torch._dynamo.utils import counters

    return int(counters["stats"]["unique_graphs"])
