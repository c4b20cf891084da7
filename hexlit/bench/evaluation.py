"""The network in evaluation: every backend of the device, after its weights were refreshed."""

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
import torch

from hexlit.accelerate.precision import cpu_has_bf16, cuda_has_bf16
from hexlit.accelerate.profile import DeviceProfile, automatic_backend
from hexlit.bench.grid import Grid, grid_of
from hexlit.bench.measure import Effort, Measurement, Setting, measured, not_measured, rates_in_turn
from hexlit.nets.evaluator import NetworkEvaluator, measure_agreement, random_planes
from hexlit.nets.tower import HexNet

BATCHES = (1, 8, 64, 256)
"""Batches from a single game to a device's share of self-play."""

JUDGED_POSITIONS = 512
JUDGED_CALLS = 64
"""Most positions that are compared with the plain network, as a number of calls."""

REFRESHES = 5
UNIT = "positions/s"


@dataclass(frozen=True)
class Way:
    """A way to evaluate the network."""

    backend: str
    dtype: torch.dtype
    frozen: bool = False
    """Compiled with the weights as constants: the fastest way, but new weights need seconds of compiling."""

    @property
    def name(self) -> str:
        """Name such as `compile bfloat16, frozen weights`."""
        return f"{self.backend} {short(self.dtype)}" + (", frozen weights" if self.frozen else "")


def own_way(profile: DeviceProfile) -> Way:
    """The way that self-play takes; the evaluator decides it if its backend is `auto`."""
    return Way(profile.inference, profile.inference_dtype)


def short(dtype: torch.dtype) -> str:
    """Short name: `bfloat16` for `torch.bfloat16`."""
    return str(dtype).removeprefix("torch.")


def ways_of(device: torch.device) -> list[Way]:
    """Every backend of `device`, in float32 and in the faster format there."""
    if device.type == "cpu":
        backends = ("eager", "compile", "fused", "winograd")
        ways = [Way(backend, dtype) for dtype in (torch.float32, torch.bfloat16) for backend in backends]
        return [*ways, Way("compile", torch.bfloat16 if cpu_has_bf16() else torch.float32, frozen=True)]
    if device.type == "cuda":
        fast = torch.bfloat16 if cuda_has_bf16(device) else torch.float16
        ways = [Way("eager", torch.float32), Way("eager", fast), Way("graph", torch.float32), Way("graph", fast)]
        return [*ways, Way("compile", fast)]
    return [Way("eager", torch.float32), Way("eager", torch.float16), Way("eager", torch.bfloat16)]


def why_absent(way: Way, device: torch.device) -> str:
    """Why `device` does not have `way`; empty if it may."""
    if device.type == "cpu" and way.dtype == torch.bfloat16 and not cpu_has_bf16():
        return "this processor does not multiply bfloat16"
    if way.backend == "winograd" and way.dtype != torch.float32:
        return "winograd computes in float32"
    return ""


def batches_of(profile: DeviceProfile) -> list[int]:
    """The batches to measure; on an accelerator also that of self-play."""
    return list(BATCHES) if profile.device.type == "cpu" else sorted({*BATCHES, profile.evaluation_batch})


def ways_at(batch: int, batches: Sequence[int], ways: Sequence[Way], compiled: bool) -> list[Way]:
    """Those of `ways` to measure at `batch`. `torch.compile` takes long: only at the first and last batch, frozen at
    the last.

    With `compiled` off, nothing is compiled.
    """
    kept = [way for way in ways if way.backend != "compile" or (compiled and batch in (batches[0], batches[-1]))]
    return [way for way in kept if not way.frozen or batch == batches[-1]]


def measure_table(
    net: HexNet, size: int, effort: Effort, profile: DeviceProfile, compiled: bool
) -> tuple[list[Measurement], list[str], Grid]:
    """`measure_forward` of every way at every batch; the choice of `auto`; and the medians side by side."""
    batches, ways = batches_of(profile), ways_of(profile.device)
    lines = [
        line
        for batch in batches
        for line in measure_forward(net, size, effort, profile, ways_at(batch, batches, ways, compiled), batch)
    ]
    return lines, automatic_choices(net, size, profile, batches), grid_of(lines, batches)


def net_name(net: HexNet) -> str:
    """Blocks and channels, such as `6x64`."""
    config = net.config
    kinds = [kind for kind in (config.block, config.attention) if kind not in ("basic", "none")]
    return " ".join([f"{sum(config.blocks)}x{config.channels}", *kinds])


def measure_forward(
    net: HexNet, size: int, effort: Effort, profile: DeviceProfile, ways: Sequence[Way], batch: int
) -> list[Measurement]:
    """Positions per second through the evaluator of self-play, including copies, masks and softmax.

    The weights are refreshed before the measurement. A backend that only works with its first weights is thus exposed.
    """
    net.eval()
    # Code compiled for one network would serve the next of the same shape, frozen or not: frozen ones are kept apart.
    together = _measure_ways([way for way in ways if not way.frozen], net, size, batch, effort, profile)
    frozen = [_measure_ways([way], net, size, batch, effort, profile)[0] for way in ways if way.frozen]
    result = [*together, *frozen]
    fastest = max((line.median for line in result if line.median is not None), default=0.0)
    lines = [line if line.median is None else _beside(line, line.median / fastest) for line in result]
    return [replace(line, batch=batch) for line in lines]


def measure_own_forward(net: HexNet, size: int, effort: Effort, profile: DeviceProfile) -> Measurement:
    """As `measure_forward`, by the backend of self-play, or by the one that replaces it."""
    evaluator = NetworkEvaluator(net.eval(), size=size, swap=False, batch=profile.evaluation_batch, profile=profile)
    rates = rates_in_turn(effort, {"": _work_of(evaluator)}, profile)[""]
    return _line(evaluator, net, rates, f"{evaluator.backend} {short(evaluator.dtype)}")


def automatic_choices(net: HexNet, size: int, profile: DeviceProfile, batches: Sequence[int]) -> list[str]:
    """A sentence for float32 and the profile's number format: the backend that `accelerator.inference=auto` takes."""
    message = []
    for dtype in dict.fromkeys([torch.float32, profile.inference_dtype]):
        asked = replace(profile, inference=automatic_backend(profile.device), inference_dtype=dtype)
        taken = {}
        for batch in batches:
            evaluator = NetworkEvaluator(net.eval(), size=size, swap=False, batch=batch, profile=asked)
            taken[batch] = f"{evaluator.backend} {short(evaluator.dtype)}"
        message.append(
            f"accelerator.inference=auto takes in {short(dtype)}: "
            + ", ".join(f"{name} at batch {batch}" for batch, name in taken.items())
        )
    return message


def _beside(line: Measurement, share: float) -> Measurement:
    return replace(line, detail=f"{share:.0%} of the fastest; {line.detail}")


def _measure_ways(
    ways: Sequence[Way], net: HexNet, size: int, batch: int, effort: Effort, profile: DeviceProfile
) -> list[Measurement]:
    torch.compiler.reset()
    built = {way: _build(way, net, size, batch, profile) for way in ways}
    works = {way.name: _work_of(result) for way, result in built.items() if isinstance(result, NetworkEvaluator)}
    rates = rates_in_turn(effort, works, profile)
    lines = []
    for way, result in built.items():
        if isinstance(result, str):
            lines.append(not_measured(_what(net, batch), UNIT, Setting.of(profile, way.name), result))
            continue
        line = _line(result, net, rates[way.name], way.name)
        lines.append(line if way.frozen else replace(line, refresh_milliseconds=_refresh_milliseconds(result, net)))
    return lines


def _build(way: Way, net: HexNet, size: int, batch: int, profile: DeviceProfile) -> NetworkEvaluator | str:
    """The evaluator with refreshed weights, or the reason for its absence."""
    absent = why_absent(way, profile.device)
    if absent:
        return absent
    asked = replace(profile, inference=way.backend, inference_dtype=way.dtype)
    with _freezing() if way.frozen else contextlib.nullcontext():
        evaluator = NetworkEvaluator(net, size=size, swap=False, batch=batch, profile=asked)
    if (evaluator.backend, evaluator.dtype) != (way.backend, way.dtype):
        return f"not here: {evaluator.backend} {short(evaluator.dtype)} takes its place"
    if not way.frozen:
        evaluator.refresh(net)
    return evaluator


def _work_of(evaluator: NetworkEvaluator) -> Callable[[int], float]:
    planes = random_planes(evaluator.batch, evaluator.size)
    policy, value = np.zeros((evaluator.batch, evaluator.actions), np.float32), np.zeros(evaluator.batch, np.float32)

    def forward(rounds: int) -> float:
        for _ in range(rounds):
            evaluator.evaluate(planes, policy, value)
        return float(evaluator.batch * rounds)

    return forward


def _line(evaluator: NetworkEvaluator, net: HexNet, rates: list[float], precision: str) -> Measurement:
    batch, on = evaluator.batch, Setting.of(evaluator.profile, precision)
    line = measured(rates, what=_what(net, batch), unit=UNIT, on=on, first_call_seconds=evaluator.build_seconds)
    judged = random_planes(min(JUDGED_POSITIONS, JUDGED_CALLS * batch), evaluator.size)
    agreement = measure_agreement(net, evaluator, judged)
    return replace(
        line,
        milliseconds=1000 * batch / line.median if line.median else None,
        detail=f"same move {agreement.same_move:.1%}, policy off {agreement.policy_error:.2%}, "
        f"value off {agreement.value_error:.4f}",
    )


def _refresh_milliseconds(evaluator: NetworkEvaluator, net: HexNet) -> float:
    taken = []
    for _ in range(REFRESHES):
        start = time.perf_counter()
        evaluator.refresh(net)
        taken.append(1000 * (time.perf_counter() - start))
    return median(taken)


def _what(net: HexNet, batch: int) -> str:
    return f"forward {net_name(net)}, batch {batch}"


def _freezing() -> contextlib.AbstractContextManager[object]:
    from torch._inductor import config

    patched: contextlib.AbstractContextManager[object] = config.patch(freezing=True)
    return patched
