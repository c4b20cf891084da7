"""The best batch size of a machine: the smallest that is nearly as fast as any."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hexlit.accelerate.memory import GIB
from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.measure import Effort, Measurement
from hexlit.bench.optimisation import measure_steps
from hexlit.bench.positions import Recipe, positions_trainee
from hexlit.errors import UsageError
from hexlit.files import write_text_atomic
from hexlit.nets.tower import HexNet

SIZES = (32, 64, 128, 256, 512, 1024, 2048, 4096)
NEARLY = 0.95
"""Share of the best rate that counts as equally good."""


def measure_batches(
    net: HexNet, recipe: Recipe, effort: Effort, profile: DeviceProfile, sizes: tuple[int, ...] = SIZES
) -> Iterator[Measurement]:
    """Training at each batch size, in ascending order; ends with the first that does not fit into memory at once."""
    trainee = positions_trainee(net, recipe)
    for batch in sizes:
        line = measure_steps(trainee, effort, replace(profile, train_batch=batch, micro_batch=batch))
        yield line
        if not line.fits or line.median is None:
            return


def best_batch(rates: dict[int, Measurement], cap: float | None) -> int:
    """The smallest batch that fits into memory and is within 5% of the best rate; `cap` is in GiB.

    Raises:
        UsageError: none of them fits into memory.
    """
    fitting = {
        batch: line.median
        for batch, line in rates.items()
        if line.median is not None and line.fits and not (cap and line.peak_bytes and line.peak_bytes > cap * GIB)
    }
    if not fitting:
        raise UsageError(
            f"what=batch: memory holds none of the batches {', '.join(map(str, rates))}; choose a smaller net"
        )
    best = max(fitting.values())
    return min(batch for batch, rate in fitting.items() if rate >= NEARLY * best)


def write_accelerator(path: Path, profile: DeviceProfile, batch: int) -> str:
    """Write a config of the group `accelerator` with this batch, and return the command that uses it.

    `path` is a YAML file in a folder `accelerator`, where Hydra looks for the group.
    """
    command = f"hexlit train --config-dir {path.resolve().parent.parent} accelerator={path.stem}"
    settings: dict[str, Any] = {"device": str(profile.device), "train_batch": batch}
    lines = [f"# {command}", "defaults:", f"  - {profile.device.type}", "  - _self_"]
    lines += [f"{key}: {value}" for key, value in settings.items()]
    write_text_atomic(path, "\n".join(lines) + "\n")
    return command
