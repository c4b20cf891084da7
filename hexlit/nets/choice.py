"""The fastest backend to evaluate a network on this CPU: measured once if there is a choice, then remembered."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version

import torch
from torch import Tensor

from hexlit.accelerate.autotune_cache import cached_choice
from hexlit.accelerate.host import processor_identity
from hexlit.accelerate.profile import DeviceProfile
from hexlit.hex.encoding import blank_planes
from hexlit.nets.backends import Forward
from hexlit.nets.fused import fused_obstacle
from hexlit.nets.tower import HexNet, forward_flops
from hexlit.nets.winograd import winograd_obstacle

MEASURED_SECONDS = 0.2
"""Length of a measurement, without building, if that is enough for `LEAST_ROUNDS`."""

LEAST_ROUNDS = 4
"""The least time of this few rounds is the machine's speed, unless other programs take all of its time."""

ROUND_SECONDS = 0.005
"""Shortest time that the clock measures."""

CALL_FLOPS = 2e9
"""Operations of the largest call that is measured, for each thread: up to 0.05 s on a slow core. A larger batch is
judged by the part of it that fits."""

Builder = Callable[[str, int], Forward]
"""Makes the forward pass of a backend for a batch."""


def candidates(net: HexNet, dtype: torch.dtype) -> list[str]:
    """The backends of the CPU for this network, torch's own first; that one alone without a choice."""
    own = "eager" if fused_obstacle(net) else "fused"
    return [own, "winograd"] if dtype == torch.float32 and not winograd_obstacle(net) else [own]


def fastest_backend(net: HexNet, size: int, batch: int, profile: DeviceProfile, build: Builder) -> str:
    """The backend to take; it is measured only if there are several and the choice is not known yet."""
    backends = candidates(net, profile.inference_dtype)
    if len(backends) == 1:
        return backends[0]
    part = min(batch, max(1, int(CALL_FLOPS * profile.threads / forward_flops(net.config, size))))
    return cached_choice(
        _key(net, size, batch, profile),
        backends,
        lambda: seconds_of(backends, size, part, lambda backend: build(backend, part)),
    )


def seconds_of(backends: list[str], size: int, batch: int, build: Callable[[str], Forward]) -> dict[str, float]:
    """Seconds of one call by backend, the least of several rounds in turn; one that cannot be built is left out."""
    planes = torch.from_numpy(blank_planes(batch, size))
    built: dict[str, tuple[Forward, int]] = {}
    with torch.inference_mode():
        for backend in backends:
            try:
                forward = build(backend)
                _timed(forward, planes, 1)
                built[backend] = forward, max(1, round(ROUND_SECONDS / _timed(forward, planes, 1)))
            except (RuntimeError, AttributeError, ImportError):
                continue  # the evaluator tries the rest in their order, and says why one does not work
        result: dict[str, list[float]] = {backend: [] for backend in built}
        end = time.perf_counter() + MEASURED_SECONDS
        while built and (len(result[next(iter(built))]) < LEAST_ROUNDS or time.perf_counter() < end):
            for backend, (forward, calls) in built.items():
                result[backend].append(_timed(forward, planes, calls) / calls)
    return {backend: min(seconds) for backend, seconds in result.items()}


def _timed(forward: Forward, planes: Tensor, calls: int) -> float:
    """Seconds of `calls` calls; of one thread its computing time, which other programs lengthen little."""
    alone = torch.get_num_threads() == 1 and os.name == "posix"  # the clock of Windows ticks every 16 ms
    clock = time.process_time if alone else time.perf_counter
    start = clock()
    for _ in range(calls):
        forward(planes)
    return clock() - start


def _key(net: HexNet, size: int, batch: int, profile: DeviceProfile) -> str:
    """Everything that the choice depends on, as one line of JSON."""
    parts = {
        "processor": processor_identity(),
        "instructions": [torch.backends.cpu.get_cpu_capability(), os.environ.get("ONEDNN_MAX_CPU_ISA", "")],
        "threads": profile.threads,
        "net": asdict(net.config) | {"dropout": 0.0},
        "board": size,
        "batch": batch,
        "dtype": str(profile.inference_dtype).removeprefix("torch."),
        "versions": {name: version(name) for name in ("torch", "numba")},
    }
    return json.dumps(parts, sort_keys=True)
