"""The facts about this machine: its devices, versions, cores and memory, and how many trials to run at a time."""

import logging
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar

import psutil
import torch

from hexlit.accelerate.device import choose_device, trial_failure, why_missing
from hexlit.accelerate.host import free_host_bytes, total_host_bytes, usable_cores
from hexlit.accelerate.machine import recommended_trials
from hexlit.accelerate.memory import total_and_free_bytes
from hexlit.accelerate.nvml import Nvml
from hexlit.accelerate.precision import DTYPES, inference_dtype, training_precision
from hexlit.accelerate.probes import (
    CompileProbe,
    PrecisionProbe,
    ProductProbe,
    probe_compile,
    probe_precisions,
    probe_product,
    said,
    why_all,
)

T = TypeVar("T")

TRIAL_HOST_BYTES = 3 * 2**29
TRIAL_DEVICE_BYTES = 2 * 2**30

PACKAGES = ("hexlit", "lightning", "numba", "numpy", "hydra-core", "optuna")


@dataclass(frozen=True)
class DeviceInspection:
    """One device, or a kind of device that is missing. None: see `reasons`, by field."""

    device: str
    available: bool
    name: str | None = None
    memory_total_bytes: int | None = None
    memory_free_bytes: int | None = None
    smoke: bool | None = None
    """Whether a small product of whole numbers is right."""
    product: ProductProbe | None = None
    precisions: list[PrecisionProbe] = field(default_factory=list)
    training_precision: str | None = None
    """Training precision of `accelerator.precision=auto`: 32-true, bf16-mixed or 16-mixed."""
    inference_precision: str | None = None
    """Number format of `accelerator.inference_precision=auto`: fp32, bf16 or fp16."""
    compile: CompileProbe | None = None
    fused: bool | None = None
    """Whether the fused operators of the CPU exist and compute correctly."""
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HostInspection:
    """Cores and memory. None: see `reasons`."""

    cores_usable: int
    cores_physical: int | None
    memory_total_bytes: int
    memory_available_bytes: int
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AutoChoice:
    """The choice of `accelerator=auto`."""

    device: str
    warnings: list[str]
    """Its warnings, such as the reason for passing over an existing device."""


@dataclass(frozen=True)
class TrialAdvice:
    """How many trials to run at a time, given an assumed size of one."""

    recommended: int
    limit: str
    """Limiting resource: host memory, cores or device memory."""
    host_bytes_a_trial: int
    device_bytes_a_trial: int


@dataclass(frozen=True)
class Inspection:
    """Everything about the machine."""

    versions: dict[str, str | None]
    host: HostInspection
    devices: list[DeviceInspection]
    auto: AutoChoice
    trials: TrialAdvice
    seconds: float
    """Duration of the inspection."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Reasons of missing versions, by name."""


def inspect_machine(
    *, compile: bool = True, fused_obstacle: Callable[[], str], on_step: Callable[[str], None] = lambda step: None
) -> Inspection:
    """Inspect and test everything; a failing test becomes a reason in the result.

    Args:
        compile: whether to test `torch.compile`, which takes most of the time.
        fused_obstacle: gives the reason against the fused operators of the CPU; empty if they can be used.
        on_step: called with the name of each test.
    """
    started = time.perf_counter()
    nvml = Nvml(os.environ.get("CUDA_VISIBLE_DEVICES"))
    result: list[DeviceInspection] = []
    for device in _devices():
        on_step(f"trying {device}")
        result.append(inspect_device(device, nvml, compile, fused_obstacle, result))
    with warnings_of("hexlit.accelerate.device") as message:
        auto = str(choose_device("auto"))
    chosen = next(device for device in result if device.device == auto)
    free_device = chosen.memory_free_bytes if auto.startswith("cuda") else None
    trials, limit = recommended_trials(
        usable_cores(), free_host_bytes(), TRIAL_HOST_BYTES, free_device, TRIAL_DEVICE_BYTES
    )
    versions, reasons = find_versions(nvml)
    nvml.close()
    return Inspection(
        versions=versions,
        host=_inspect_host(),
        devices=result,
        auto=AutoChoice(auto, message),
        trials=TrialAdvice(trials, limit, TRIAL_HOST_BYTES, TRIAL_DEVICE_BYTES),
        seconds=time.perf_counter() - started,
        reasons=reasons,
    )


def inspect_device(
    device: torch.device,
    nvml: Nvml,
    compile: bool,
    fused_obstacle: Callable[[], str],
    before: "list[DeviceInspection] | tuple[()]" = (),
) -> DeviceInspection:
    """One device; `before` are the earlier ones, whose test of compiling also holds for a card of the same name."""
    missing = why_missing(device)
    if missing:
        return _unavailable(device.type, _with_driver(missing, device, nvml))
    reasons: dict[str, str] = {}

    def ask(name: str, question: Callable[[], T]) -> T | None:
        try:
            return question()
        except Exception as error:
            reasons[name] = said(error)
            return None

    failure = ask("smoke", lambda: trial_failure(device))
    if failure:
        reasons["smoke"] = failure
    memory = ask("memory_total_bytes", lambda: total_and_free_bytes(device))
    if memory is None:
        reasons["memory_free_bytes"] = reasons["memory_total_bytes"]
    name = ask("name", lambda: device_name(device))
    fused: bool | None = None
    if device.type != "cpu":
        reasons["fused"] = "only the cpu has this backend"
    else:
        obstacle = ask("fused", fused_obstacle)
        fused = None if obstacle is None else not obstacle
        if obstacle:
            reasons["fused"] = obstacle
    like = next((other for other in before if name is not None and other.name == name and other.device != "cpu"), None)
    if not compile:
        compiled = CompileProbe(None, None, None, why_all("works seconds difference", "not tried: compile=false"))
    elif like is not None:
        compiled = CompileProbe(
            None, None, None, why_all("works seconds difference", f"not tried: the same card as {like.device}")
        )
    else:
        compiled = probe_compile(device)
    evaluates = ask("inference_precision", lambda: inference_dtype("auto", device))
    return DeviceInspection(
        device=str(device),
        available=True,
        name=name,
        memory_total_bytes=None if memory is None else memory[0],
        memory_free_bytes=None if memory is None else memory[1],
        smoke=failure == "",
        product=probe_product(device),
        precisions=probe_precisions(device),
        training_precision=ask("training_precision", lambda: training_precision("auto", device)),
        inference_precision=next((short for short, dtype in DTYPES.items() if dtype == evaluates), None),
        compile=compiled,
        fused=fused,
        reasons=reasons,
    )


def device_name(device: torch.device) -> str:
    """The model, such as `NVIDIA H200` or `Apple M2`."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else _processor_name()


def find_versions(nvml: Nvml) -> tuple[dict[str, str | None], dict[str, str]]:
    """Versions by name, and the reasons of missing ones."""
    versions: dict[str, str | None] = {
        "python": platform.python_version(),
        "os": platform.platform(),
        "torch": str(torch.__version__),
    }
    reasons: dict[str, str] = {}
    for package in PACKAGES:
        name = package.removesuffix("-core")
        try:
            versions[name] = version(package)
        except PackageNotFoundError:
            versions[name], reasons[name] = None, "not installed"
    versions["cuda"] = torch.version.cuda
    cudnn = torch.backends.cudnn.version() if torch.version.cuda is not None else None  # type: ignore[no-untyped-call]
    versions["cudnn"] = _cudnn_name(cudnn) if cudnn is not None else None
    versions["driver"] = nvml.driver
    for name in ("cuda", "cudnn"):
        if versions[name] is None:
            reasons[name] = f"this torch is built without {'CUDA' if name == 'cuda' else 'cuDNN'}"
    if nvml.driver is None:
        reasons["driver"] = nvml.reason
    return versions, reasons


@contextmanager
def warnings_of(logger: str) -> Iterator[list[str]]:
    """Collect the warnings of `logger` in the block, instead of showing them."""
    heard: list[str] = []

    class Listener(logging.Handler):
        """Writes messages down."""

        def emit(self, record: logging.LogRecord) -> None:
            heard.append(record.getMessage())

    log, listener = logging.getLogger(logger), Listener(logging.WARNING)
    propagate = log.propagate
    log.addHandler(listener)
    log.propagate = False
    try:
        yield heard
    finally:
        log.propagate = propagate
        log.removeHandler(listener)


def _devices() -> list[torch.device]:
    """cpu, every cuda device (or the first, to say why there is none), mps."""
    cards = [torch.device("cuda:0")]
    while not why_missing(cards[-1]):
        cards.append(torch.device(f"cuda:{len(cards)}"))
    return [torch.device("cpu"), *(cards[:-1] or cards), torch.device("mps")]


def _unavailable(device: str, why: str) -> DeviceInspection:
    unknown = (
        "available name memory_total_bytes memory_free_bytes smoke product training_precision inference_precision "
        "compile fused"
    )
    return DeviceInspection(device, False, reasons=why_all(unknown, why))


def _with_driver(missing: str, device: torch.device, nvml: Nvml) -> str:
    """Why cuda is missing, and the driver's own report."""
    if device.type != "cuda" or torch.version.hip is not None:
        return missing
    if nvml.reason:
        return missing if torch.version.cuda is None else f"{missing} ({nvml.reason})"
    names = ", ".join(str(reading.name) for reading in nvml.read())
    return f"{missing} (the NVIDIA driver {nvml.driver} sees {names})"


def _inspect_host() -> HostInspection:
    physical = psutil.cpu_count(logical=False)
    reasons = {} if physical else {"cores_physical": "the system does not tell"}
    return HostInspection(usable_cores(), physical or None, total_host_bytes(), free_host_bytes(), reasons)


def _processor_name() -> str:
    if platform.system() == "Darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cudnn_name(number: int) -> str:
    """`9.10.2` for 91002, `8.9.2` for 8902."""
    major, rest = divmod(number, 10_000 if number >= 90_000 else 1000)
    return f"{major}.{rest // 100}.{rest % 100}"
