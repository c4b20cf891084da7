"""The network when it is only evaluated: every path that the device has, after its weights were refreshed."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from hexlit.accelerate.precision import cpu_has_bf16, cuda_has_bf16
from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.measure import Effort, Measurement, Setting, measure_rate, not_measured
from hexlit.nets.agreement import measure_agreement
from hexlit.nets.evaluator import NetworkEvaluator, random_planes
from hexlit.nets.tower import HexNet

JUDGED_POSITIONS = 512
UNIT = "positions/s"


@dataclass(frozen=True)
class Way:
    """A way to evaluate the network."""

    path: str
    dtype: torch.dtype
    frozen: bool = False
    """Compiled with the weights as constants: as fast as it gets, but new weights need a new compile of seconds."""

    @property
    def name(self) -> str:
        """Such as `compile bfloat16, frozen weights`."""
        return f"{self.path} {short(self.dtype)}" + (", frozen weights" if self.frozen else "")


def own_way(profile: DeviceProfile) -> Way:
    """The one that self-play takes."""
    return Way(profile.inference, profile.inference_dtype)


def short(dtype: torch.dtype) -> str:
    """`bfloat16` of `torch.bfloat16`."""
    return str(dtype).removeprefix("torch.")


def ways_of(device: torch.device) -> list[Way]:
    """From plain float32 to the fastest that `device` has."""
    if device.type == "cpu":
        fast = torch.bfloat16 if cpu_has_bf16() else torch.float32
        ways = [Way("eager", torch.float32), Way("eager", fast), Way("compile", torch.float32), Way("compile", fast)]
        ways += [Way("compile", fast, frozen=True), Way("fused", fast)]
    elif device.type == "cuda":
        fast = torch.bfloat16 if cuda_has_bf16(device) else torch.float16
        ways = [Way("eager", torch.float32), Way("eager", fast), Way("graph", torch.float32), Way("graph", fast)]
        ways.append(Way("compile", fast))
    else:
        ways = [Way("eager", torch.float32), Way("eager", torch.float16), Way("eager", torch.bfloat16)]
    return list(dict.fromkeys(ways))


def net_name(net: HexNet) -> str:
    """Blocks and channels, such as `6x64`."""
    config = net.config
    kinds = [kind for kind in (config.block, config.attention) if kind not in ("basic", "none")]
    return " ".join([f"{sum(config.blocks)}x{config.channels}", *kinds])


def measure_forward(
    net: HexNet, size: int, effort: Effort, profile: DeviceProfile, ways: Sequence[Way]
) -> list[Measurement]:
    """Positions a second through the evaluator of self-play, copies, masks and softmax included.

    The weights are refreshed before the measurement, so a path that only works with those it was built with shows.
    """
    batch = profile.selfplay_games
    net.eval()
    found = [_measure_way(way, net, size, batch, effort, profile) for way in ways]
    fastest = max((line.median for line in found if line.median is not None), default=0.0)
    return [line if line.median is None else _beside(line, line.median / fastest) for line in found]


def _beside(line: Measurement, share: float) -> Measurement:
    return replace(line, detail=f"{share:.0%} of the fastest; {line.detail}")


def measure_own_forward(net: HexNet, size: int, effort: Effort, profile: DeviceProfile) -> Measurement:
    """As `measure_forward`, by the path that self-play takes: where that is not there, the one that takes its place."""
    batch = profile.selfplay_games
    evaluator = NetworkEvaluator(net.eval(), size=size, swap=False, batch=batch, profile=profile)
    return _measure_evaluator(evaluator, net, effort, f"{evaluator.path} {short(evaluator.dtype)}")


def _measure_way(way: Way, net: HexNet, size: int, batch: int, effort: Effort, profile: DeviceProfile) -> Measurement:
    asked = replace(profile, inference=way.path, inference_dtype=way.dtype)
    # What was compiled for one network would serve the next of the same shape, frozen or not.
    torch.compiler.reset()
    with _freezing() if way.frozen else contextlib.nullcontext():
        evaluator = NetworkEvaluator(net, size=size, swap=False, batch=batch, profile=asked)
    if (evaluator.path, evaluator.dtype) != (way.path, way.dtype):
        instead = f"not here: {evaluator.path} {short(evaluator.dtype)} takes its place"
        return not_measured(_what(net, batch), UNIT, Setting.of(profile, way.name), instead)
    if not way.frozen:
        evaluator.refresh(net)
    return _measure_evaluator(evaluator, net, effort, way.name)


def _measure_evaluator(evaluator: NetworkEvaluator, net: HexNet, effort: Effort, precision: str) -> Measurement:
    size, batch, profile = evaluator.size, evaluator.batch, evaluator.profile
    planes = random_planes(batch, size)
    policy, value = np.zeros((batch, evaluator.actions), np.float32), np.zeros(batch, np.float32)

    def forward(rounds: int) -> float:
        for _ in range(rounds):
            evaluator.evaluate(planes, policy, value)
        return float(batch * rounds)

    on = Setting.of(profile, precision)
    line = measure_rate(effort, forward, what=_what(net, batch), unit=UNIT, on=on, profile=profile)
    agreement = measure_agreement(net, evaluator, random_planes(JUDGED_POSITIONS, size))
    return replace(
        line,
        first_call_seconds=evaluator.build_seconds,
        milliseconds=1000 * batch / line.median if line.median else None,
        detail=f"same move {agreement.same_move:.1%}, policy off {agreement.policy_error:.2%}, "
        f"value off {agreement.value_error:.4f}",
    )


def _what(net: HexNet, batch: int) -> str:
    return f"forward {net_name(net)}, batch {batch}"


def _freezing() -> contextlib.AbstractContextManager[object]:
    from torch._inductor import config

    patched: contextlib.AbstractContextManager[object] = config.patch(freezing=True)
    return patched
