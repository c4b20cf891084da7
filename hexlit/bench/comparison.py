"""The CPU beside the accelerator: the same model, seed and batches, and the same loss at the end."""

from dataclasses import dataclass, replace

import torch

from hexlit.accelerate.device import why_missing
from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.evaluation import measure_own_forward
from hexlit.bench.measure import Effort, Measurement, Setting, not_measured
from hexlit.bench.optimisation import measure_steps
from hexlit.bench.positions import Recipe, batches_of, loss_after, positions_trainee
from hexlit.nets.tower import HexNet


@dataclass(frozen=True)
class Comparison:
    """Two devices on the same work."""

    lines: list[Measurement]
    speed_ups: dict[str, float]
    """Rate of the accelerator as a multiple of the CPU's, by kind of work."""
    losses: dict[str, float]
    """Loss in float32 after the same few steps, by device."""


def compare(net: HexNet, recipe: Recipe, effort: Effort, cpu: DeviceProfile, other: DeviceProfile | None) -> Comparison:
    """Forward and training on the CPU, and on `other`, each with its own profile; None: there is no accelerator."""
    lines: list[Measurement] = []
    rates: dict[str, dict[str, float]] = {}
    losses = {}
    for profile in (cpu, other):
        if profile is None:
            lines += [_missing(torch.device(name)) for name in ("cuda:0", "mps")]
            continue
        forward = measure_own_forward(net, recipe.size, effort, profile)
        training = measure_steps(positions_trainee(net, recipe), effort, profile)
        for kind, line in (("forward", forward), ("training", training)):
            lines.append(line)
            if line.median is not None:
                rates.setdefault(kind, {})["cpu" if profile is cpu else "other"] = line.median
        plain = replace(profile, precision="32-true", compile=False, matmul_precision="highest")
        plain.apply()  # no TF32, which would disturb the comparison
        losses[str(profile.device)] = loss_after(net, recipe, plain, batches_of(recipe.size, profile.train_batch))
        profile.apply()
    speed_ups = {kind: both["other"] / both["cpu"] for kind, both in rates.items() if len(both) == 2}
    return Comparison(lines, speed_ups, losses)


def _missing(device: torch.device) -> Measurement:
    return not_measured("forward and training", "positions/s", Setting(str(device), 0, "–"), why_missing(device))
