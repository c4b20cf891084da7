"""The fastest backend to evaluate a network on this CPU: measured once if there is a choice, then
remembered.
"""

import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial

import torch

from hexlit.accelerate.autotune_cache import cached_choice, timed_in_turn
from hexlit.accelerate.profile import DeviceProfile
from hexlit.hex.encoding import blank_planes
from hexlit.nets.backends import Forward
from hexlit.nets.fused import fused_obstacle
from hexlit.nets.tower import HexNet, forward_flops
from hexlit.nets.winograd import winograd_obstacle

CALL_FLOPS = 2e9
"""Operations of the largest call that is measured, for each thread: up to 0.05 s on a slow core. A
larger batch is judged by the part of it that fits.
"""

Builder = Callable[[str, int], Forward]
"""Makes the forward pass of a backend for a batch."""


def candidates(net: HexNet, profile: DeviceProfile) -> list[str]:
    """The backends of the CPU for this network, torch's own first; that one alone without a choice.

    `winograd`, in float32, is one of them where the number format is float32 or open.
    """
    own = "eager" if fused_obstacle(net) else "fused"
    full = profile.inference_dtype == torch.float32 or profile.config.inference_precision == "auto"
    return [own, "winograd"] if full and not winograd_obstacle(net) else [own]


def fastest_backend(
    net: HexNet, size: int, batch: int, profile: DeviceProfile, build: Builder
) -> str:
    """The backend to take; it is measured only if there are several and the choice is not known
    yet.
    """
    backends = candidates(net, profile)
    if len(backends) == 1:
        return backends[0]
    part = min(batch, max(1, int(CALL_FLOPS * profile.threads / forward_flops(net.config, size))))
    depends_on = {
        "threads": profile.threads,
        "net": asdict(net.config) | {"dropout": 0.0},
        "board": size,
        "batch": batch,
        "dtype": str(profile.inference_dtype).removeprefix("torch."),
    }
    return cached_choice(depends_on, backends, lambda: seconds_of(backends, size, part, build))


def seconds_of(backends: list[str], size: int, batch: int, build: Builder) -> dict[str, float]:
    """Seconds of one call by backend, the least of several rounds in turn; one that cannot be built
    is left out.
    """
    planes = torch.from_numpy(blank_planes(batch, size))
    built: dict[str, Callable[[], object]] = {}
    with torch.inference_mode():
        for backend in backends:
            try:
                built[backend] = partial(build(backend, batch), planes)
                built[backend]()
            except (RuntimeError, AttributeError, ImportError):
                # The evaluator tries the rest in their order, and reports why one does not work.
                built.pop(backend, None)
        # Of one thread the computing time, which other programs lengthen little.
        alone = torch.get_num_threads() == 1
        times = timed_in_turn(built, time.process_time if alone else time.perf_counter)
    # The least time is the machine's speed, unless other programs take all of its time.
    return {backend: min(seconds) for backend, seconds in times.items()}
