"""The network in evaluation: every backend of the device, after its weights were refreshed."""

import timeit
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import median
from typing import NamedTuple

import numpy as np
import torch

from hexlit.accelerate.precision import cpu_has_bf16, cuda_has_bf16
from hexlit.accelerate.profile import DEFAULTS, DeviceProfile
from hexlit.bench.measure import (
    Measurement,
    Outcome,
    Subject,
    Work,
    compared,
    line_of,
    rates_in_turn,
    short,
)
from hexlit.nets.evaluator import NetworkEvaluator, measure_agreement, random_planes

BATCHES = (1, 8, 64, 256)
"""Batches from a single game to a device's share of self-play."""
JUDGED_POSITIONS = 512
JUDGED_CALLS = 64
"""Most positions that are compared with the plain network, as a number of calls."""
REFRESHES = 5
UNIT = "positions/s"


class Way(NamedTuple):
    """A way to evaluate the network."""

    backend: str
    dtype: torch.dtype


def name_of(evaluator: NetworkEvaluator | Way) -> str:
    """Backend and number format, such as `fused bfloat16`."""
    return f"{evaluator.backend} {short(evaluator.dtype)}"


def ways_of(device: torch.device) -> list[Way]:
    """Every backend of `device`, in float32 and in the faster format there."""
    plain, half, fast = torch.float32, torch.float16, torch.bfloat16
    if device.type == "cpu":
        backends = ("eager", "compile", "fused", "winograd")
        return [Way(backend, dtype) for dtype, backend in product((plain, fast), backends)]
    if device.type == "cuda":
        fast = fast if cuda_has_bf16(device) else half
        ways = [
            Way(name, dtype) for name, dtype in product(("eager", "graph", "cudnn"), (plain, fast))
        ]
        return [*ways, Way("compile", fast)]
    return [Way("eager", dtype) for dtype in (plain, half, fast)]


def ways_at(batch: int, batches: Sequence[int], ways: Sequence[Way], compiled: bool) -> list[Way]:
    """Those of `ways` to measure at `batch`. `torch.compile` takes long: only at the first and last
    batch.

    With `compiled` off, nothing is compiled.
    """
    return [
        way
        for way in ways
        if way.backend != "compile" or (compiled and batch in (batches[0], batches[-1]))
    ]


def measure_forward(subject: Subject) -> Outcome:
    """`measure_ways` for every way at every batch, and the backend that
    `accelerator.inference=auto` takes there.
    """
    profile, ways = subject.profile, ways_of(subject.profile.device)
    batches = (
        list(BATCHES)
        if profile.device.type == "cpu"
        else sorted({*BATCHES, profile.evaluation_batch})
    )
    lines: list[Measurement] = []
    for batch in batches:
        lines += measure_ways(
            subject, ways_at(batch, batches, ways, subject.config.compiled), batch
        )
    asked = replace(profile, inference=DEFAULTS[profile.device.type]["inference"])
    taken = ", ".join(
        f"{name_of(subject.evaluator(batch, asked))} at batch {batch}" for batch in batches
    )
    return Outcome(lines, [f"accelerator.inference=auto takes {taken}"])


def measure_ways(subject: Subject, ways: Sequence[Way], batch: int) -> list[Measurement]:
    """Positions per second through the evaluator of self-play, including copies, masks and softmax.

    The weights are refreshed before the measurement. A backend that only works with its first
    weights is thus exposed.
    """
    torch.compiler.reset()
    built = {name_of(way): _build(subject, way, batch) for way in ways}
    works = {
        name: _work_of(result) for name, result in built.items() if not isinstance(result, str)
    }
    rates = rates_in_turn(
        replace(subject.config, seconds=subject.config.seconds / 5), works, subject.profile
    )
    fastest, lines = max((median(taken) for taken, _ in rates.values()), default=None), []
    for name, result in built.items():
        if isinstance(result, str):
            what = f"forward {subject.net_name}, batch {batch}"
            line = line_of(what, UNIT, subject.profile, name, detail=result)
        else:
            refreshes = timeit.repeat(
                partial(result.refresh, subject.net), number=1, repeat=REFRESHES
            )
            line = compared(
                _line(subject, result, rates[name][0], name), fastest, "{ratio:.0%} of the fastest"
            )
            line = replace(line, refresh_milliseconds=1000 * median(refreshes))
        lines.append(replace(line, batch=batch))
    return lines


def measure_own_forward(subject: Subject, profile: DeviceProfile) -> Measurement:
    """As `measure_ways`, by the backend of self-play on the device of `profile`, or by the one that
    replaces it.
    """
    evaluator = subject.evaluator(profile.evaluation_batch, profile)
    rates, _ = rates_in_turn(subject.config, {"": _work_of(evaluator)}, profile)[""]
    return _line(subject, evaluator, rates, name_of(evaluator))


def _build(subject: Subject, way: Way, batch: int) -> NetworkEvaluator | str:
    """The evaluator with refreshed weights, or the reason for its absence."""
    if subject.profile.device.type == "cpu" and way.dtype == torch.bfloat16 and not cpu_has_bf16():
        return "this processor does not multiply bfloat16"
    if way.backend == "winograd" and way.dtype != torch.float32:
        return "winograd computes in float32"
    asked = replace(subject.profile, inference=way.backend, inference_dtype=way.dtype)
    evaluator = subject.evaluator(batch, asked)
    if (evaluator.backend, evaluator.dtype) != (way.backend, way.dtype):
        return f"not here: {name_of(evaluator)} takes its place"
    evaluator.refresh(subject.net)
    return evaluator


def _work_of(evaluator: NetworkEvaluator) -> Work:
    planes = random_planes(evaluator.batch, evaluator.size)
    policy, value = (
        np.zeros((evaluator.batch, evaluator.actions), np.float32),
        np.zeros(evaluator.batch, np.float32),
    )

    def forward() -> float:
        evaluator.evaluate(planes, policy, value)
        return evaluator.batch

    return forward


def _line(
    subject: Subject, evaluator: NetworkEvaluator, rates: list[float], precision: str
) -> Measurement:
    batch = evaluator.batch
    judged = random_planes(min(JUDGED_POSITIONS, JUDGED_CALLS * batch), evaluator.size)
    near = measure_agreement(subject.net, evaluator, judged)
    detail = f"same move {near.same_move:.1%}, policy off {near.policy_error:.2%}, value off {near.value_error:.4f}"
    more = {
        "milliseconds": 1000 * batch / median(rates),
        "first_call_seconds": evaluator.build_seconds,
    }
    what = f"forward {subject.net_name}, batch {batch}"
    return line_of(what, UNIT, evaluator.profile, precision, rates, detail=detail, **more)
