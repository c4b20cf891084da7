"""The optimisation step as in training: through Lightning, with everything around it."""

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import lightning as L
import torch
from torch.utils.data import DataLoader, IterableDataset

from hexlit.accelerate.events import synchronize
from hexlit.accelerate.memory import peak_bytes, reset_peak
from hexlit.accelerate.process_tree import ProcessTree
from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.resources import ResourceSampler
from hexlit.bench.measure import Effort, Measurement, Setting, measured, not_measured
from hexlit.errors import UsageError
from hexlit.training.distributed import precision_arguments
from hexlit.training.module import TrainedModule
from hexlit.training.usage import PARTS, StepClock

WARM_UP = 3
"""Steps that do not count: the first ones allocate, choose kernels, and compile."""

BATCHES = 8
"""Number of different batches; with a single one the gradients soon become denormal numbers, slow on a cpu."""

SAMPLED_EVERY = 0.1
"""Seconds between two readings of the process's memory; a reading takes about a millisecond."""

EPSILON = 1e-9


@dataclass(frozen=True)
class Trainee:
    """A network to train, with its data."""

    name: str
    """Name in every line, such as `6x64`."""
    unit: str
    """Name of an example, in the plural."""
    set_up: Callable[[DeviceProfile], tuple[TrainedModule, Iterable[Any]]]
    """A fresh module, and batches of `profile.train_batch` examples that can be iterated repeatedly."""


def measure_training(trainee: Trainee, effort: Effort, profile: DeviceProfile) -> list[Measurement]:
    """Examples per second in training: float32, mixed precision, each of them compiled, and the profile as it is."""
    precisions = list(dict.fromkeys(["32-true", *_mixed(profile)]))
    variants = [replace(profile, precision=precision, compile=False) for precision in precisions]
    variants += [replace(variant, compile=True) for variant in (variants[-1],)]
    if not any((one.precision, one.compile) == (profile.precision, profile.compile) for one in variants):
        variants.append(profile)
    result = [measure_steps(trainee, effort, variant) for variant in variants]
    plain = result[0].median
    return [line if not line.median or not plain else _beside(line, line.median / plain) for line in result]


def advice(found: list[Measurement]) -> list[str]:
    """Suggestions from the measured lines of training (row C19); none if the faster setting is the default one."""
    rates = {line.precision: line.median for line in found if line.what.startswith("training") and line.median}
    plain, message = rates.get("32-true"), []
    for name, rate in rates.items():
        mixed = name.removesuffix(" compiled")
        if plain and name == mixed != "32-true" and rate < plain:
            message.append(
                f"{name} trains at {rate / plain:.2f} of the rate of 32-true: use accelerator.precision=32-true"
            )
        if name != mixed and mixed in rates and rate > 1.1 * rates[mixed]:
            message.append(
                f"compiling trains at {rate / rates[mixed]:.2f} of the rate without: worth accelerator.compile=true "
                "where a run is long beside its compiling"
            )
    return message


def _mixed(profile: DeviceProfile) -> list[str]:
    if profile.device.type == "cpu":
        return [profile.precision] if profile.precision != "32-true" else []
    return ["bf16-mixed", "16-mixed"]


def _beside(line: Measurement, ratio: float) -> Measurement:
    return replace(line, detail=f"{ratio:.2f} of 32-true; {line.detail}")


def measure_steps(trainee: Trainee, effort: Effort, profile: DeviceProfile) -> Measurement:
    """Steps of `profile.train_batch` examples, from fresh weights.

    When memory runs out, the micro-batch is halved, as in training; the line says so.
    """
    what, unit = f"training {trainee.name}, batch {profile.train_batch}", f"{trainee.unit}/s"
    on = Setting.of(profile, profile.precision + (" compiled" if profile.compile else ""))
    # 16-mixed unscales outside the optimizer's kernel.
    profile = replace(profile, fused_optimizer=profile.fused_optimizer and profile.precision != "16-mixed")
    torch.manual_seed(0)
    module, batches = trainee.set_up(profile)
    clock = module.clock
    reset_peak(profile.device)
    compile_seconds = module.prepare()
    if profile.compile and compile_seconds is None:
        return not_measured(what, unit, on, "torch.compile fails here")
    laps = Laps(effort, profile, clock)
    loader = DataLoader(Endless(batches), batch_size=None)
    try:
        with contextlib.closing(ProcessTree(os.getpid())) as tree, ResourceSampler(tree, SAMPLED_EVERY) as sampler:
            fit(module, loader, profile, [clock, laps])
    except UsageError as error:
        return not_measured(what, unit, on, str(error))
    of_host = profile.device.type == "cpu"
    peak = sampler.mean().host_bytes_peak if of_host else peak_bytes(profile.device)[0]
    line = measured(
        [profile.train_batch / seconds for seconds in laps.seconds],
        what=what,
        unit=unit,
        on=on,
        first_call_seconds=laps.first_seconds,
    )
    row = clock.latest
    spent = {part: float(row[f"{part}_seconds"] or 0) for part in PARTS}
    whole = sum(spent.values()) or EPSILON
    parts = ", ".join(f"{part} {spent[part] / whole:.0%}" for part in PARTS if spent[part] / whole >= 0.005)
    halved = (
        "" if module.micro_batch == profile.micro_batch else f", micro-batch {module.micro_batch} as memory ran out"
    )
    return replace(
        line,
        compile_seconds=compile_seconds,
        milliseconds=1000 * profile.train_batch / line.median if line.median else None,
        peak_bytes=peak,
        load_share=spent["load"] / whole,
        fits=not halved,
        detail=parts + halved,
    )


class Endless(IterableDataset[Any]):
    """The batches of a list or of a loader, again and again."""

    def __init__(self, batches: Iterable[Any]) -> None:
        """Begin again whenever `batches` have ended."""
        self._batches = batches

    def __iter__(self) -> Iterator[Any]:
        """Give batches without end."""
        while True:
            yield from self._batches


class Laps(L.Callback):
    """Times each step after the warm-up, and ends the training when there are enough."""

    def __init__(self, effort: Effort, profile: DeviceProfile, clock: StepClock) -> None:
        """`effort.repeats` steps or more, of at least `effort.repeats * effort.seconds` in total; `clock` restarts."""
        self._effort = effort
        self._clock = clock
        self._device = profile.device
        self._last = time.perf_counter()
        self._steps = 0
        self.first_seconds = 0.0
        self.seconds: list[float] = []

    def on_train_batch_start(self, trainer: L.Trainer, *_: Any) -> None:
        if not self._steps:
            self._last = time.perf_counter()

    def on_train_batch_end(self, trainer: L.Trainer, *_: Any) -> None:
        synchronize(self._device)
        now = time.perf_counter()
        self._steps += 1
        if self._steps == 1:
            self.first_seconds = now - self._last
        elif self._steps > WARM_UP:
            self.seconds.append(now - self._last)
        if self._steps == WARM_UP:
            self._clock.restart()
        self._last = now
        enough = self._effort.repeats * self._effort.seconds
        if len(self.seconds) >= self._effort.repeats and sum(self.seconds) >= enough:
            trainer.should_stop = True


def fit(module: TrainedModule, loader: Any, profile: DeviceProfile, callbacks: list[L.Callback]) -> None:
    """Train with one pass through `loader`, or until a callback ends it; nothing is written or shown."""
    trainer = L.Trainer(
        accelerator=profile.accelerator,
        devices=profile.devices,
        **precision_arguments(profile),
        max_epochs=1,
        callbacks=callbacks,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, loader)
