"""The facts about this machine: its devices, what works on them by trying, versions, and how many
trials to run.

Everything is plain values, as JSON has them. A value that is not known is None, never 0, and
`reasons` beside it says why, by its name. A failing test is a reason, never an exception.
"""

import copy
import logging
import os
import platform
import secrets
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from typing import Any

import psutil
import torch
from torch import Tensor, nn

from hexlit.accelerate.device import choose_device, cuda_devices, trial_failure, why_missing
from hexlit.accelerate.events import synchronize
from hexlit.accelerate.host import (
    free_host_bytes,
    processor_identity,
    total_host_bytes,
    usable_cores,
)
from hexlit.accelerate.machine import recommended_trials
from hexlit.accelerate.memory import total_and_free_bytes
from hexlit.accelerate.nvml import Nvml
from hexlit.accelerate.precision import (
    DTYPES,
    cpu_has_bf16,
    cuda_has_bf16,
    inference_dtype,
    training_precision,
)
from hexlit.accelerate.profile import restored_settings

TRIAL = {"host_bytes_a_trial": 3 * 2**29, "device_bytes_a_trial": 2 * 2**30}
"""Size of a trial that the advice assumes."""

PACKAGES = ("hexlit", "lightning", "numba", "numpy", "hydra-core", "optuna")

OF_A_DEVICE = (
    *("name", "memory_total_bytes", "memory_free_bytes", "smoke", "product"),
    *("training_precision", "inference_precision", "compile", "fused"),
)
"""What is asked of a device, beside `device`, `available` and `precisions`."""

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
    *,
    compile: bool = True,
    fused_obstacle: Callable[[], str],
    on_step: Callable[[str], None] = lambda step: None,
) -> Values:
    """Inspect and test everything.

    Args:
        compile: whether to test `torch.compile`, which takes most of the time.
        fused_obstacle: gives the reason against the fused operators of the CPU; empty if they can
            be used.
        on_step: called with the name of each test.

    Returns:
        `versions` by name, the `host`, the `devices` (see `inspect_device`), the choice of
        `accelerator=auto` with its warnings, the advice on `trials` with the size assumed of one,
        the `seconds` of looking, and the `reasons` of missing versions.
    """
    started = time.perf_counter()
    nvml = Nvml(os.environ.get("CUDA_VISIBLE_DEVICES"))
    devices: list[Values] = []
    cards = cuda_devices() or [torch.device("cuda:0")]  # without any, the first one says why
    for device in (torch.device("cpu"), *cards, torch.device("mps")):
        on_step(f"trying {device}")
        devices.append(inspect_device(device, nvml, compile, fused_obstacle, devices))
    with warnings_of("hexlit.accelerate.device") as messages:
        auto = str(choose_device("auto"))
    own = next(one["memory_free_bytes"] for one in devices if one["device"] == auto)
    of_host, of_device = TRIAL.values()
    resources: Values = {"host memory": (free_host_bytes(), of_host), "cores": (usable_cores(), 1)}
    resources["device memory"] = (own if auto.startswith("cuda") else None, of_device)
    count, limit = recommended_trials(resources)
    host: Values = {
        "cores_usable": usable_cores(),
        "cores_physical": psutil.cpu_count(logical=False),
    }
    host |= {"memory_total_bytes": total_host_bytes(), "memory_available_bytes": free_host_bytes()}
    host["reasons"] = (
        {} if host["cores_physical"] else {"cores_physical": "the system does not tell"}
    )
    versions, reasons = find_versions(nvml)
    nvml.close()
    return {
        "versions": versions,
        "host": host,
        "devices": devices,
        "auto": {"device": auto, "warnings": messages},
        "trials": {"recommended": count, "limit": limit} | TRIAL,
        "seconds": time.perf_counter() - started,
        "reasons": reasons,
    }


def inspect_device(
    device: torch.device,
    nvml: Nvml,
    compile: bool,
    fused_obstacle: Callable[[], str],
    before: Sequence[Mapping[str, Any]] = (),
) -> Values:
    """One device, or a kind of device that is missing; `before` are the earlier ones.

    Beside the names of `OF_A_DEVICE` it has `device`, `available` and the list `precisions`.
    `smoke` tells whether a small product of whole numbers is right, `training_precision` and
    `inference_precision` what `auto` takes, `fused` whether the fused operators of the CPU exist
    and compute correctly. The test of compiling also holds for a later card of the same name.
    """
    missing = why_missing(device)
    if missing:
        if device.type == "cuda" and not (nvml.reason and torch.version.cuda is None):
            seen = f"the NVIDIA driver {nvml.driver} sees {', '.join(nvml.names())}"
            missing += f" ({nvml.reason or seen})"
        reasons = dict.fromkeys(("available", *OF_A_DEVICE), missing)
        none = dict.fromkeys(OF_A_DEVICE)
        return {
            "device": device.type,
            "available": False,
            **none,
            "precisions": [],
            "reasons": reasons,
        }
    formats = {dtype: short for short, dtype in DTYPES.items()}
    questions: dict[str, Callable[[], Any]] = {
        "name": lambda: device_name(device),
        "memory_total_bytes": lambda: total_and_free_bytes(device)[0],
        "memory_free_bytes": lambda: total_and_free_bytes(device)[1],
        "smoke": lambda: trial_failure(device),
        "training_precision": lambda: training_precision("auto", device),
        "inference_precision": lambda: formats[inference_dtype("auto", device)],
        "fused": fused_obstacle,
    }
    facts: Values = {}
    reasons = {}
    for name, question in questions.items():
        facts[name], reasons[name] = _answer(question)
    if device.type != "cpu":
        facts["fused"], reasons["fused"] = None, "only the cpu has this backend"
    for name in ("smoke", "fused"):
        if facts[name] is not None:  # an obstacle, or an empty text
            facts[name], reasons[name] = not facts[name], facts[name]
    reasons = {name: why for name, why in reasons.items() if why}
    like = [
        one["device"]
        for one in before
        if one["name"] == facts["name"] is not None and one["device"] != "cpu"
    ]
    untried = f"not tried: the same card as {like[0]}" if like else "not tried: compile=false"
    facts["compile"] = (
        probe_compile(device)
        if compile and not like
        else _untried(("seconds", "difference"), untried)
    )
    probes = {"product": probe_product(device), "precisions": probe_precisions(device)}
    return {"device": str(device), "available": True, **facts, **probes, "reasons": reasons}


def device_name(device: torch.device) -> str:
    """The model, such as `NVIDIA H200` or `Apple M2`."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if platform.system() == "Darwin":
        return subprocess.check_output(
            ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"], text=True
        ).strip()
    return processor_identity().rpartition(" ")[0]


def find_versions(nvml: Nvml) -> tuple[dict[str, str | None], dict[str, str]]:
    """Versions by name, and the reasons of missing ones."""
    versions: Values = {
        "python": platform.python_version(),
        "os": platform.platform(),
        "torch": str(torch.__version__),
    }
    versions |= {package.removesuffix("-core"): version(package) for package in PACKAGES}
    reasons = {
        name: f"this torch is built without {title}"
        for name, title in (("cuda", "CUDA"), ("cudnn", "cuDNN"))
    }
    reasons["driver"] = nvml.reason
    cudnn = torch.backends.cudnn.version() if torch.version.cuda is not None else None  # type: ignore[no-untyped-call]
    numbers = cudnn and f"{cudnn // 10_000}.{cudnn // 100 % 100}.{cudnn % 100}"  # 91002 is 9.10.2
    versions |= {"cuda": torch.version.cuda, "cudnn": numbers, "driver": nvml.driver}
    return versions, {name: why for name, why in reasons.items() if versions[name] is None}


@contextmanager
def warnings_of(logger: str) -> Iterator[list[str]]:
    """Collect the warnings of `logger` in the block, instead of showing them."""
    heard: list[str] = []
    log = logging.getLogger(logger)

    def keep(record: logging.LogRecord) -> bool:
        heard.append(record.getMessage())
        return False

    log.addFilter(keep)
    try:
        yield heard
    finally:
        log.removeFilter(keep)


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

    def probe() -> tuple[Values, str]:
        generator = torch.Generator().manual_seed(0)
        left = torch.randn(PRODUCT_SIZE, PRODUCT_SIZE, generator=generator)
        right = torch.randn(PRODUCT_SIZE, PRODUCT_SIZE, generator=generator) / PRODUCT_SIZE**0.5
        with _full_fp32():
            product = (left.to(device) @ right.to(device)).cpu().double()
        error = _finite((product - left.double() @ right.double()).abs().max())
        wrong = f"its product is off by {error:.2g}, {PRODUCT_TOLERANCE:g} is allowed"
        return {"largest_error": error}, wrong if error > PRODUCT_TOLERANCE else ""

    return _tried(("largest_error",), probe)


def probe_precisions(device: torch.device) -> list[Values]:
    """Try fp32, bf16 and fp16, in this order: forward and backward of a small convolutional net
    under autocast.

    `works` tells whether it ran in this format, with gradients near those in fp32: `difference` is
    their distance, as a share of their length. `seconds` is the shortest time of a step (other
    programs can only lengthen it), and `times_fp32` a multiple of fp32's. `hardware` tells whether
    the device multiplies in this format or emulates it.
    """
    steps: dict[torch.dtype, tuple[Tensor, float]] = {}

    def probe(dtype: torch.dtype) -> tuple[Values, str]:
        gradients, seconds = steps[dtype] = _timed_step(device, dtype)
        expected, fp32_seconds = steps[torch.float32]
        difference = _finite((gradients - expected).norm() / expected.norm())
        wrong = (
            f"its gradients are {difference:.2g} away from fp32's"
            if difference > PRECISION_TOLERANCE
            else ""
        )
        return {
            "seconds": seconds,
            "times_fp32": seconds / fp32_seconds,
            "difference": difference,
        }, wrong

    probes = []
    for precision, dtype in DTYPES.items():
        hardware, why = hardware_support(precision, device)
        own = _tried(("seconds", "times_fp32", "difference"), partial(probe, dtype))
        own["reasons"].update({"hardware": why} if hardware is None else {})
        probes.append({"precision": precision, "hardware": hardware, **own})
    return probes


def probe_compile(device: torch.device) -> Values:
    """Compile a small net for `device`, forward and backward, and compare it with itself
    uncompiled.

    `seconds` are those of the first call, which compiles, and `difference` is the largest of an
    output or a gradient, as a share of the largest. A constant that no earlier compile had makes
    sure that a cached result on disk is not used.
    """

    def probe() -> tuple[Values, str]:
        torch.manual_seed(0)
        with _full_fp32(), warnings.catch_warnings(action="ignore"):
            net = TinyNet(16, slope=0.01 + secrets.randbelow(10**9) / 1e11).to(device)
            images = torch.randn(8, CHANNELS, 5, 5, generator=torch.Generator().manual_seed(0)).to(
                device
            )
            twin = copy.deepcopy(net)
            twin.compile(dynamic=False)
            start = time.perf_counter()
            result = _outputs_and_gradients(twin, images)
            seconds = time.perf_counter() - start
            if not twin.compiled:
                raise RuntimeError("torch.compile ran the net without compiling it")
            expected = _outputs_and_gradients(net, images)
        difference = _finite((result - expected).abs().max() / expected.abs().max())
        wrong = f"off by {difference:.2g} from eager, {COMPILE_TOLERANCE:g} is allowed"
        return {
            "seconds": seconds,
            "difference": difference,
        }, wrong if difference > COMPILE_TOLERANCE else ""

    result = _tried(("seconds", "difference"), probe)
    torch.compiler.reset()
    return result


def hardware_support(precision: str, device: torch.device) -> tuple[bool | None, str]:
    """Whether `device` multiplies in this format in hardware, or why that is not known."""
    questions: dict[tuple[str, str], Callable[[], bool]] = {
        ("cpu", "bf16"): cpu_has_bf16,
        ("cpu", "fp16"): lambda: bool(torch.ops.mkldnn._is_mkldnn_fp16_supported()),
        ("cuda", "bf16"): lambda: cuda_has_bf16(device),
        ("cuda", "fp16"): lambda: torch.cuda.get_device_capability(device)[0] >= 7,
    }
    if (device.type, precision) == ("mps", "bf16"):
        return None, "macOS does not tell"
    return _answer(questions.get((device.type, precision), lambda: True))


def error_line(error: Exception) -> str:
    """The first line of an error, at most 200 characters, with its kind."""
    return ": ".join([type(error).__name__, *str(error).strip().splitlines()[:1]])[:200]


def _answer(question: Callable[[], Any]) -> tuple[Any, str]:
    """The answer; None and the reason if the question raises."""
    try:
        return question(), ""
    except Exception as error:
        return None, error_line(error)


def _tried(names: Sequence[str], probe: Callable[[], tuple[Values, str]]) -> Values:
    """The values that `probe` gives by name, None after an exception; `works` unless it says what
    is wrong.
    """
    answer, why = _answer(probe)
    if why:
        return _untried(names, why) | {"works": False}
    values, wrong = answer
    return {"works": not wrong, **values, "reasons": {"works": wrong} if wrong else {}}


def _untried(names: Sequence[str], why: str) -> Values:
    known = ("works", *names)
    return {**dict.fromkeys(known), "reasons": dict.fromkeys(known, why)}


def _finite(value: Tensor) -> float:
    if not value.isfinite():
        raise ArithmeticError("what it computes is not finite")
    return value.item()


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
