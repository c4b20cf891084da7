"""The optimisation step as in training, through Lightning with everything around it: of Hex, and of
any task.

Also the best batch size of a machine, and the CPU next to the accelerator.
"""

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise, repeat
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import LambdaCallback
from torch.utils.data import Dataset

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.events import synchronize
from hexlit.accelerate.loaders import make_loader
from hexlit.accelerate.machine import ProcessTree, ResourceSampler
from hexlit.accelerate.memory import GIB, peak_bytes, reset_peak
from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.bench.config import BenchConfig
from hexlit.bench.forward import measure_own_forward
from hexlit.bench.measure import Measurement, Outcome, Subject, compared, line_of
from hexlit.errors import UsageError
from hexlit.hex.record import GameRecord
from hexlit.nets.evaluator import random_planes
from hexlit.search.evaluator import UniformEvaluator
from hexlit.selfplay.actor import GamesSettings, SelfPlay
from hexlit.selfplay.window import ReplayWindow
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.hex.epoch_data import EpochDataset, PositionBatch
from hexlit.tasks.hex.module import HexModule
from hexlit.training.batches import batch_size, parts_of
from hexlit.training.distributed import precision_arguments
from hexlit.training.module import TrainedModule
from hexlit.training.phases import PhaseClock, RunDisplay
from hexlit.training.task import Session, Task
from hexlit.training.usage import LOADER_BOUND, PARTS, verdict

WARM_UP = 3
"""Steps that do not count: the first ones allocate, choose kernels, and compile."""

BATCHES = 8
"""Number of different batches; with a single one the gradients soon become denormal numbers, slow
on a cpu.
"""

SAMPLED_EVERY = 0.1
"""Seconds between two readings of the process's memory; a reading takes about a millisecond."""

SIZES = (32, 64, 128, 256, 512, 1024, 2048, 4096)
"""Batch sizes to choose from."""
NEARLY = 0.95
"""Share of the best rate that counts as equally good."""

WINDOW, STEPS = 2000, 64
"""Positions of self-play, and steps on them in an epoch, for the loader."""


@dataclass(frozen=True)
class Trainee:
    """A network to train, with its data."""

    name: str
    """Name in every line, such as `6x64`."""
    unit: str
    """Name of an example, in the plural."""
    set_up: Callable[[DeviceProfile], tuple[TrainedModule, Iterable[Any]]]
    """A fresh module, and batches of `profile.train_batch` examples that can be iterated
    repeatedly.
    """


def positions_trainee(subject: Subject, data: Iterable[Any] | None = None) -> Trainee:
    """Copies of the network, trained on the batches of `data`, or on random positions."""

    def set_up(profile: DeviceProfile) -> tuple[HexModule, Iterable[Any]]:
        return _copy(subject, profile), data or batches_of(
            subject.config.board, profile.train_batch
        )

    return Trainee(subject.net_name, "positions", set_up)


@contextmanager
def task_trainee(name: str, make: Callable[[], Task], display: RunDisplay) -> Iterator[Trainee]:
    """The task from `make`, new at every call, on the first whole batches of its data; all are
    closed in the end.

    Raises:
        UsageError: there is no whole batch.
    """
    with TemporaryDirectory() as folder, ExitStack() as stack:

        def made() -> Task:
            task = make()
            stack.callback(task.close)
            return task

        def set_up(profile: DeviceProfile) -> tuple[TrainedModule, list[Any]]:
            task = made()
            clock = PhaseClock(None, units=task.units)
            task.set_up(
                Session(
                    Path(folder), profile, clock, display, first_epoch=0, trial=False, deadline=None
                )
            )
            data, size = task.data, profile.train_batch
            # Some ask it for the epoch.
            data.trainer = L.Trainer(logger=False, enable_checkpointing=False, accelerator="cpu")
            data.prepare_data()
            data.setup("fit")
            batches = list(
                islice((one for one in data.train_dataloader() if batch_size(one) == size), BATCHES)
            )
            if not batches:
                raise UsageError(
                    f"accelerator.train_batch={size}: no batch for training has as many {task.unit}"
                )
            return task.module, batches

        yield Trainee(name, made().unit, set_up)


def _copy(subject: Subject, profile: DeviceProfile) -> HexModule:
    """A module that trains the weights of the network, and leaves the network unchanged."""
    config = subject.config
    trainer = replace(config.trainer, monitor="train.loss")  # nothing is monitored here
    settings = HexTrainConfig(
        board=config.board, net=subject.net.config, optimizer=config.optimizer, trainer=trainer
    )
    module = HexModule(settings, profile)
    module.net.load_state_dict(subject.net.state_dict())
    return module


def batches_of(size: int, batch: int) -> list[PositionBatch]:
    """A few batches, the same on every device: random stones, equal policies over free cells,
    random values.
    """
    planes = torch.from_numpy(random_planes(BATCHES * batch, size))
    free = (planes[:, 0] + planes[:, 1] == 0).flatten(1).float()
    policy = free / free.sum(1, keepdim=True).clamp(min=1)
    generator = torch.Generator().manual_seed(0)
    value = torch.rand(BATCHES * batch, generator=generator) * 2 - 1
    return list(parts_of(PositionBatch(planes, policy, value, {}), batch))


def measure_train(subject: Subject) -> Outcome:
    """`measure_training` of the network on random positions."""
    return measure_training(positions_trainee(subject), subject.config, subject.profile)


def measure_training(trainee: Trainee, config: BenchConfig, profile: DeviceProfile) -> Outcome:
    """Examples per second in training: float32, mixed precision, each of them compiled, and the
    profile as it is.
    """
    mixed = [profile.precision] if profile.device.type == "cpu" else ["bf16-mixed", "16-mixed"]
    plain = [
        replace(profile, precision=precision, compile=False) for precision in ("32-true", *mixed)
    ]
    variants = dict.fromkeys([*plain, replace(plain[-1], compile=True), profile])
    lines = [measure_steps(trainee, config, variant) for variant in variants]
    return Outcome(
        [compared(line, lines[0].median, "{ratio:.2f} of 32-true") for line in lines], advice(lines)
    )


def advice(found: list[Measurement]) -> list[str]:
    """Suggestions from the measured lines of training (row C19); none if the faster setting is the
    default one.
    """
    rates = {line.precision: line.median for line in found if line.median}
    findings = []
    for name, rate in rates.items():
        mixed = name.removesuffix(" compiled")
        if name == mixed and rate < rates.get("32-true", 0.0):
            ratio = f"{rate / rates['32-true']:.2f} of the rate of 32-true"
            findings.append(f"{name} trains at {ratio}: use accelerator.precision=32-true")
        if name != mixed and rate > 1.1 * rates.get(mixed, math.inf):
            worth = "worth accelerator.compile=true where a run is long next to its compiling"
            findings.append(
                f"compiling trains at {rate / rates[mixed]:.2f} of the rate without: {worth}"
            )
    return findings


def measure_steps(trainee: Trainee, config: BenchConfig, profile: DeviceProfile) -> Measurement:
    """Steps of `profile.train_batch` examples, from fresh weights: after the warm-up
    `config.repeats` steps or more.

    They take at least `config.repeats * config.seconds` in total. When memory runs out, the
    micro-batch is halved, as in training; the line says so.
    """
    what, unit = f"training {trainee.name}, batch {profile.train_batch}", f"{trainee.unit}/s"
    precision = profile.precision + (" compiled" if profile.compile else "")
    torch.manual_seed(0)
    module, batches = trainee.set_up(profile)
    clock = module.clock
    reset_peak(profile.device)
    compile_seconds = module.prepare()
    profile = replace(profile, threads=module.threads)
    if profile.compile and compile_seconds is None:
        return line_of(what, unit, profile, precision, detail="torch.compile fails here")
    times: list[float] = []

    def ended(trainer: L.Trainer, *_: Any) -> None:
        synchronize(profile.device)
        times.append(time.perf_counter())
        if len(times) == 1 + WARM_UP:
            clock.on_train_epoch_start(trainer, module)
        counted = times[WARM_UP:]
        enough = config.repeats * config.seconds
        trainer.should_stop = len(counted) > config.repeats and counted[-1] - counted[0] >= enough

    laps = LambdaCallback(
        on_train_epoch_start=lambda *_: times.append(time.perf_counter()), on_train_batch_end=ended
    )
    try:
        with (
            closing(ProcessTree(os.getpid())) as tree,
            ResourceSampler(tree, SAMPLED_EVERY) as sampler,
        ):
            fit(module, endless(batches), profile, [clock, laps])
    except UsageError as error:
        return line_of(what, unit, profile, precision, detail=str(error))
    peak = (
        sampler.summary().host_bytes if profile.device.type == "cpu" else peak_bytes(profile.device)
    )
    row = clock.table.rows[-1]
    spent = {part: float(row[f"{part}_seconds"] or 0) for part in PARTS}
    whole = sum(spent.values()) or 1.0
    parts = ", ".join(
        f"{part} {spent[part] / whole:.0%}" for part in PARTS if spent[part] / whole >= 0.005
    )
    fits, micro = module.micro_batch == profile.micro_batch, module.micro_batch
    rates = [profile.train_batch / (end - begin) for begin, end in pairwise(times[WARM_UP:])]
    more = {
        "first_call_seconds": times[1] - times[0],
        "compile_seconds": compile_seconds,
        "peak_bytes": peak,
    }
    more |= {
        "milliseconds": 1000 * profile.train_batch / median(rates),
        "load_share": spent["load"] / whole,
    }
    detail = f"by {module.kernels_in_use}: {parts}" + (
        "" if fits else f", micro-batch {micro} as memory ran out"
    )
    return line_of(what, unit, profile, precision, rates, fits=fits, detail=detail, **more)


def endless(batches: Iterable[Any]) -> Iterator[Any]:
    """The batches of a list or of a loader, again and again."""
    return chain.from_iterable(repeat(batches))


def fit(
    module: TrainedModule, loader: Any, profile: DeviceProfile, callbacks: list[L.Callback]
) -> None:
    """Train with one pass through `loader`, or until a callback ends it; nothing is written or
    shown.
    """
    parts = ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
    settings: dict[str, Any] = {
        **dict.fromkeys(parts, False),
        **precision_arguments(profile),
        "max_epochs": 1,
    }
    trainer = L.Trainer(
        accelerator=profile.device.type, devices=profile.devices, callbacks=callbacks, **settings
    )
    trainer.fit(module, loader)


def measure_batches(subject: Subject) -> Outcome:
    """The batch size of this machine: the smallest that is nearly as fast as any.

    Sizes are tried in ascending order, until one does not fit into memory at once.

    Raises:
        UsageError: none of them fits into memory.
    """
    trainee, rates = positions_trainee(subject), dict[int, Measurement]()
    for batch in SIZES:
        profile = replace(subject.profile, train_batch=batch, micro_batch=batch)
        rates[batch] = measure_steps(trainee, subject.config, profile)
        if not rates[batch].fits or rates[batch].median is None:
            break
    batch = best_batch(rates, subject.config.accelerator.memory_cap)
    found = f"batch {batch} is the smallest within 5% of the best rate"
    return Outcome(list(rates.values()), [f"{found}: accelerator.train_batch={batch}"])


def best_batch(rates: dict[int, Measurement], cap: float | None) -> int:
    """The smallest batch that fits into memory and is within 5% of the best rate; `cap` is in GiB.

    Raises:
        UsageError: none of them fits into memory.
    """
    most = (cap or math.inf) * GIB
    fitting: dict[int, float] = {}
    for batch, one in rates.items():
        if one.fits and (one.peak_bytes or 0) <= most and one.median is not None:
            fitting[batch] = one.median
    if not fitting:
        raise UsageError(
            f"what=batch: memory holds none of the batches {', '.join(map(str, rates))}"
        )
    return min(batch for batch, rate in fitting.items() if rate >= NEARLY * max(fitting.values()))


def compare_devices(subject: Subject, profiles: Sequence[DeviceProfile] = ()) -> Outcome:
    """Forward and training on the CPU next to the accelerator: the same network and batches, and
    the same loss.

    By default each has its own profile, and `profiles` are that of the CPU, and of the accelerator
    if there is one.
    """
    if not profiles:
        own, threads = subject.profile, subject.config.accelerator.threads
        batches: dict[str, Any] = {
            "train_batch": own.train_batch,
            "evaluation_batch": own.evaluation_batch,
        }
        cpu = build_profile(AcceleratorConfig(device="cpu", threads=threads, **batches))
        profiles = [cpu] if own.device.type == "cpu" else [cpu, own]
    trainee, lines, losses = positions_trainee(subject), list[Measurement](), []
    for profile in profiles:
        lines += [
            measure_own_forward(subject, profile),
            measure_steps(trainee, subject.config, profile),
        ]
        plain = replace(profile, precision="32-true", compile=False, matmul_precision="highest")
        plain.apply()  # no TF32, which would disturb the comparison
        loss = loss_after(subject, plain, batches_of(subject.config.board, profile.train_batch))
        losses.append(
            f"loss in float32 after the same {BATCHES} steps on {profile.device}: {loss:.6f}"
        )
        profile.apply()
    if len(profiles) == 1:
        losses.append("there is no accelerator to compare the cpu with; see hexlit doctor")
        return Outcome(lines, losses)
    faster = []
    for kind, here, there in zip(("forward", "training"), lines[:2], lines[2:], strict=True):
        if here.median and there.median:
            ratio = f"{there.median / here.median:.2f}"
            faster.append(f"{kind}: {there.device} at {ratio} times the rate of the cpu")
    return Outcome(lines, [*faster, *losses])


def loss_after(subject: Subject, profile: DeviceProfile, batches: list[PositionBatch]) -> float:
    """Mean loss over `batches` in float32 after one step on each, to compare devices.

    Batch norm normalises by the batch, as in training: its running statistics need more than a few
    steps.
    """
    torch.manual_seed(0)
    module = _copy(subject, profile)
    fit(module, iter(batches), profile, [])
    module.to("cpu").train()
    with torch.no_grad():
        return sum(
            float(module.losses(module.output(batch), batch)["loss"]) for batch in batches
        ) / len(batches)


def played_games(subject: Subject) -> list[GameRecord]:
    """Games searched without a network."""
    config = subject.config
    records: list[GameRecord] = []
    actor = SelfPlay(GamesSettings(config.selfplay, config.search, config.board, games=64, seed=0))
    actor.play(
        UniformEvaluator(), positions=WINDOW, on_games=lambda ended, counts: records.extend(ended)
    )
    return records


def window_batches(subject: Subject, steps: int = STEPS) -> EpochDataset:
    """Batches from a window of such games."""
    window = ReplayWindow(subject.config.board, False, 10**6)
    window.extend(played_games(subject))
    return EpochDataset(
        window.epoch(batch=subject.profile.train_batch, steps=steps, seed=0, epoch=0)
    )


def measure_window(subject: Subject, data: Dataset[Any]) -> Measurement:
    """Training with the loader of a window's batches, and the share of time that waits for data."""
    trainee = positions_trainee(subject, make_loader(data, subject.profile, batch_size=None))
    line = measure_steps(trainee, subject.config, subject.profile)
    if line.median is None:
        return line
    share = line.load_share or 0.0
    limit = f"{LOADER_BOUND:.0%} is the limit"
    message = f"{verdict(share)}: {share:.1%} of the time waits for data ({limit})"
    return replace(line, detail=message)
