"""The training of a Hex network, wired: module, data, measuring, showing, and what a run leaves behind."""

import logging
import os
import platform
import re
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import lightning as L
import numba
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.arena.strength import Strength, evaluation_batch, proof_of
from hexlit.commands.caches import cache_folder
from hexlit.commands.compiling import Compiling
from hexlit.commands.hex_data import make_data
from hexlit.commands.rating_pool import rating_callbacks
from hexlit.commands.run_folder import command_to_go_on
from hexlit.commands.run_kernels import KernelsPhase, RunKernels
from hexlit.commands.train import TrainConfig, accelerator_of, sets_to_begin, sets_to_measure
from hexlit.errors import UsageError
from hexlit.nets.agreement import measure_agreement
from hexlit.nets.config import NetConfig
from hexlit.nets.flops import forward_flops
from hexlit.nets.tower import HexNet
from hexlit.reporting.ending import print_ending
from hexlit.reporting.progress import TrainingProgress
from hexlit.reporting.summary import print_summary, write_summary
from hexlit.tasks.hex.checkpoint import load_network
from hexlit.tasks.hex.data import EvaluatorHost, weights_of
from hexlit.tasks.hex.data_module import HexDataModule
from hexlit.tasks.hex.module import HexModule
from hexlit.training.budget import Budget, FlopBudget, TimeBudget, WallTime
from hexlit.training.config import TrainerConfig
from hexlit.training.cost import Cost
from hexlit.training.early_stopping import EarlyStopping
from hexlit.training.ending import ending_of, is_interruption
from hexlit.training.evaluation import EvaluationPhase, LogFigures, OptimisationPhase, Saving, ValidationPhase
from hexlit.training.guards import FiniteGuard, MemoryWatch
from hexlit.training.loggers import build_loggers, close_loggers
from hexlit.training.metrics import LatestRow, MetricsCsv
from hexlit.training.optimizer import optimizer_state_bytes, scaled_lr
from hexlit.training.phases import COMPILING, FINISHING
from hexlit.training.proof import Proof
from hexlit.training.steps import StepClock
from hexlit.training.usage import RunUsage

log = logging.getLogger(__name__)

CHECKED_POSITIONS = 1000
"""Positions over which the number format of self-play is compared with float32 at the end of a run."""


def train_hex(
    config: TrainConfig,
    folder: Path,
    *,
    callbacks: Sequence[L.Callback] = (),
    run_name: str | None = None,
    started: float | None = None,
    compiling: Compiling | None = None,
) -> dict[str, Any]:
    """Run the training in `folder` and return its summary, which also lies there as `summary.json`.

    `callbacks` come last; loggers know the run as `run_name`. Its time counts from `started` on `time.monotonic()`,
    None for now. `compiling` has begun to compile what self-play needs.
    """
    started = time.monotonic() if started is None else started
    quiet_lightning()
    profile = build_profile(accelerator_of(config))
    numba.set_num_threads(min(profile.threads, numba.config.NUMBA_NUM_THREADS))
    profile.apply()
    limit = config.trainer.max_seconds
    deadline = None if limit is None else started + limit
    checkpoint = resumed_checkpoint(config, folder)
    first_epoch = 0 if checkpoint is None else int(checkpoint["epoch"]) + 1

    L.seed_everything(config.seed, workers=True, verbose=False)
    module = HexModule(
        config.net,
        config.optimizer,
        config.trainer,
        profile,
        size=config.board,
        swap=config.swap,
        policy_weight=config.policy_weight,
        value_weight=config.value_weight,
    )
    if config.init_from is not None and checkpoint is None:
        module.begin_with(load_network(Path(config.init_from), "init_from").net)
    usage = RunUsage(folder, profile)
    clock = usage.clock
    clock.resume(first_epoch)
    phases_before = clock.seconds_of()
    clock.account(started, first_epoch)
    data = make_data(config, profile, folder / "games", clock, deadline)
    kernels = RunKernels(compiling or Compiling(sets_to_begin(config)), sets_to_measure(config))
    clock.cpu_clock = lambda: time.process_time() + data.cpu_seconds() + kernels.cpu_seconds()
    evaluation_profile = replace(
        profile, selfplay_games=evaluation_batch(config.evaluation, config.board, profile.evaluation_batch)
    )
    strength = Strength(
        config.evaluation,
        config.search,
        size=config.board,
        swap=config.swap,
        batch=evaluation_profile.selfplay_games,
        cache=cache_folder() / "truth",
    )
    host = EvaluatorHost(config.net, size=config.board, swap=config.swap, profile=evaluation_profile)
    steps = module.clock = StepClock(folder / "steps.csv", profile.device, usage.gauge)
    steps.resume(first_epoch)
    run_name = run_name or f"{config.name}-{folder.name}"
    loggers = build_loggers(config.logger, folder, run_name, re.sub(r"[^\w-]", "-", run_name))
    metrics = next(logger for logger in loggers if isinstance(logger, MetricsCsv))
    metrics.resume(first_epoch)
    progress = TrainingProgress(
        config.trainer.max_epochs, max_time=limit, first_epoch=first_epoch, title=f"hexlit train · {config.name}"
    )
    clock.listeners.append(progress)
    least = proof_of(config.evaluation, config.board)
    proof = None if least is None else Proof(least, config.evaluation.proof.evaluations)
    if config.evaluation.proof.enabled and proof is None:
        log.info("this run does all its epochs: without solved openings, or without evaluations, nothing can prove it")
    evaluation = EvaluationPhase(
        lambda final: strength.measure(host.refreshed(weights_of(module.net_in_use)), final=final),
        clock,
        progress,
        every_epochs=config.evaluation.every_epochs,
        proof=proof,
    )
    validation = ValidationPhase(clock, progress)
    rating = rating_callbacks(config, folder, module, profile, clock, progress, first_epoch=first_epoch)
    wall_time = WallTime(started, settle=clock.settle, phases_before=phases_before)
    cost = Cost(
        forward_flops(config.net, config.board),
        evaluations=lambda: data.evaluations,
        seconds=lambda: wall_time.seconds,
    )
    budgets: list[Budget] = [] if deadline is None else [TimeBudget(deadline, lambda: clock.seconds_of(COMPILING))]
    if config.trainer.max_flops is not None:
        budgets.append(FlopBudget(config.trainer.max_flops, lambda: cost.flops))
    stopping = EarlyStopping(config.trainer)
    trainer = L.Trainer(
        accelerator=profile.accelerator,
        devices=profile.devices,
        precision=profile.precision,  # type: ignore[arg-type]  # a plain string by now
        max_epochs=config.trainer.max_epochs,
        logger=loggers,
        callbacks=[
            OptimisationPhase(clock, progress),
            steps,
            FiniteGuard(folder),
            LogFigures(config.data.source, data.figures),
            validation,
            LogFigures("train", lambda: {"lr": module.learning_rate}),
            wall_time,
            *budgets,
            KernelsPhase(kernels, clock, evaluation.is_due),
            evaluation,
            *([] if proof is None else [proof]),
            *rating,
            stopping,
            cost,
            MemoryWatch(profile.memory_warning, usage.peaks),
            LatestRow(metrics),
            Saving(clock),
            *checkpoints(folder, config.trainer),
            *callbacks,
        ],
        default_root_dir=folder,
        reload_dataloaders_every_n_epochs=1,
        enable_progress_bar=False,
        enable_model_summary=False,
        log_every_n_steps=1,
        num_sanity_val_steps=0,
    )
    failed = True
    compile_seconds = None
    try:
        with usage, progress:
            if first_epoch < config.trainer.max_epochs:
                with clock.phase(COMPILING, first_epoch) as phase:
                    kernels.begin(phase)
                    data.prepare()
                    compile_seconds = module.prepare()
            ckpt = None if checkpoint is None else folder / "checkpoints" / "last.ckpt"
            trainer.fit(module, data, ckpt_path=ckpt, weights_only=True)
            clock.outside(FINISHING, trainer.current_epoch)
            evaluation.finish(trainer.current_epoch, restored=stopping.restored)
        clock.outside(FINISHING, trainer.current_epoch)
        state_bytes = sum(optimizer_state_bytes(optimizer) for optimizer in trainer.optimizers)
        agreement = precision_check(module.net_in_use, host, data)
        failed = False
    except (KeyboardInterrupt, SystemExit) as stop:
        if is_interruption(stop):
            ending = ending_of(trainer, proof=proof, stopping=stopping, interrupted_after=first_epoch)
            strength_then = dict(evaluation.latest) | {"measured_after": evaluation.measured_after}
            print_ending(progress.console, ending, strength_then, command_to_go_on(folder, limits_of(config)))
        raise
    finally:
        kernels.close()
        data.close()  # Lightning tears the data down only after a fit that came to its end
        close_loggers(loggers, failed)
    usage.warn_of_idling()
    ending = ending_of(trainer, proof=proof, stopping=stopping)
    clock.settle()
    summary = {
        "name": config.name,
        "board": config.board,
        "seed": config.seed,
        "wall_seconds": wall_time.seconds,
        "cost": cost.summary(),
        "epochs": trainer.current_epoch,
        "ending": ending,
        **data.summary(),
        "strength": dict(evaluation.latest),
        "val": validation.of(stopping.best_epoch if stopping.restored else None),
        "best": stopping.summary(),
        "phases": {name: totals.as_dict() for name, totals in clock.totals().items()},
        "learning_rate": scaled_lr(config.optimizer, profile.train_batch),
        "optimizer_state_bytes": state_bytes,
        **usage.summary(),
        "parameters": sum(p.numel() for p in module.net.parameters()),
        "compile_seconds": compile_seconds,
        "kernels": kernels.summary(),
        "precision": agreement,
        "device": describe_device(profile, host),
        "versions": {name: version(name) for name in ("hexlit", "torch", "lightning", "numba", "numpy")},
    }
    write_summary(folder / "summary.json", summary)
    print_summary(progress.console, summary)
    progress.console.print(f"\nEverything of this run: {os.path.relpath(folder)}", soft_wrap=True, highlight=False)
    print_ending(progress.console, ending, evaluation.latest, command_to_go_on(folder, limits_of(config)))
    return summary


def limits_of(config: TrainConfig) -> dict[str, str]:
    """The settings that can end this run before its epochs, and the values that lift them."""
    trainer = config.trainer
    limits = {"trainer.max_time": trainer.max_time, "trainer.max_flops": trainer.max_flops}
    return {name: "null" for name, value in limits.items() if value is not None}


def checkpoints(folder: Path, config: TrainerConfig) -> list[ModelCheckpoint]:
    """The latest state after every epoch, and the one of the best epoch by `trainer.monitor`."""
    shared: dict[str, Any] = {"dirpath": folder / "checkpoints", "enable_version_counter": False}
    return [
        ModelCheckpoint(filename="best", monitor=config.monitor, mode=config.monitor_mode, save_top_k=1, **shared),
        ModelCheckpoint(filename="last", save_top_k=1, save_on_train_epoch_end=True, **shared),
    ]


def resumed_checkpoint(config: TrainConfig, folder: Path) -> dict[str, Any] | None:
    """The checkpoint to go on from; None for a new run, or one killed before its first epoch had ended."""
    path = folder / "checkpoints" / "last.ckpt"
    if config.resume is None or not path.exists():
        return None
    try:
        checkpoint: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        saved = checkpoint["hyper_parameters"]
    except Exception as error:  # a broken file can make torch raise anything
        raise UsageError(
            f"{path}: not a checkpoint to go on from ({type(error).__name__}); "
            "put best.ckpt of the same folder in its place, or start a new run"
        ) from error
    for name, value in (("board", config.board), ("swap", config.swap)):
        was = saved["size" if name == "board" else name]
        if was != value:
            raise UsageError(f"{name}={value}: the run in {folder} was started with {name}={was}; keep it to resume")
    if NetConfig(**saved["net"]) != config.net:
        raise UsageError(f"net: the run in {folder} was started with {saved['net']}; keep it to resume")
    learning = asdict(config.optimizer) | {"ema_decay": config.trainer.ema_decay}
    for name, value in learning.items():
        was = saved.get("learning", learning).get(name, value)
        if was != value:  # the checkpoint's would win: its optimizer and its schedule are taken over
            key = f"trainer.{name}" if name == "ema_decay" else f"optimizer.{name}"
            raise UsageError(f"{key}={value}: the run in {folder} was started with {key}={was}; keep it to resume")
    return checkpoint


def precision_check(net: torch.nn.Module, host: EvaluatorHost, data: HexDataModule) -> dict[str, Any] | None:
    """How far the number format of self-play is from float32, over positions of the data.

    None without positions, and where that format is float32 itself.
    """
    planes = data.some_planes(CHECKED_POSITIONS)
    if not len(planes):
        return None
    evaluator = host.refreshed(weights_of(net))
    if evaluator.dtype is torch.float32:
        return None
    found = measure_agreement(cast(HexNet, net), evaluator, planes)
    if not found.good_enough:
        log.warning(
            "%s chooses another move than float32 in %.1f%% of %d positions; accelerator.inference_precision=fp32 "
            "is exact, and slower",
            evaluator.dtype,
            100 * (1 - found.same_move),
            found.positions,
        )
    return {"format": str(evaluator.dtype).removeprefix("torch."), **asdict(found)}


def describe_device(profile: DeviceProfile, host: EvaluatorHost) -> str:
    """One line on the device, its threads, and the precisions in use."""
    kind = profile.device.type
    name = torch.cuda.get_device_name(profile.device) if kind == "cuda" else platform.machine()
    return f"{kind} ({name}, {profile.threads} threads), training {profile.precision}, self-play {host.description}"


def quiet_lightning() -> None:
    """Keep Lightning's greetings off the terminal, and a deprecation inside Lightning; its other warnings stay."""
    warnings.filterwarnings("ignore", message=r".*isinstance\(treespec, LeafSpec\)")
    warnings.filterwarnings("ignore", message=r".*does not have many workers")
    # The module times the way of a batch to the device, whoever loads it.
    warnings.filterwarnings("ignore", message=r"You have overridden `transfer_batch_to_device`")
    warnings.filterwarnings("ignore", message=r"You defined a `validation_step` but have no `val_dataloader`")
    # Strength is not measured after every epoch.
    warnings.filterwarnings("ignore", message=r".*could not find the monitored key")
    # It does exist: a resumed run goes on in its own folder.
    warnings.filterwarnings("ignore", message=r"Checkpoint directory .* exists and is not empty")
    for name in ("lightning.pytorch", "lightning.fabric", "lightning.pytorch.utilities.rank_zero"):
        logging.getLogger(name).setLevel(logging.WARNING)
