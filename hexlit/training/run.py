"""One run of any task: its Trainer with all shared callbacks, its files, and its result."""

import logging
import platform
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.rank_line import Lost
from hexlit.accelerate.ranks import ranks
from hexlit.errors import UsageError
from hexlit.files import write_json_atomic
from hexlit.interruption import TOLD, is_interruption
from hexlit.tracking.metric_names import MetricTable
from hexlit.tracking.provenance import git_state, versions
from hexlit.training.budget import Budget, FlopBudget, TimeBudget, WallTime
from hexlit.training.checkpoint import CHECKPOINTS
from hexlit.training.checkpoint_files import WholeCheckpoints, newest_sound
from hexlit.training.config import TrainerConfig
from hexlit.training.cost import Cost
from hexlit.training.display import Display
from hexlit.training.distributed import device_arguments, part_ways, refuse_for_several, surroundings
from hexlit.training.early_stopping import EarlyStopping
from hexlit.training.ending import command_to_go_on, ending_of
from hexlit.training.epoch_times import EpochTimes, RowsAreWhole
from hexlit.training.evaluation import EvaluationPhase, LogFigures, OptimisationPhase, Saving, ValidationPhase
from hexlit.training.guards import FiniteGuard, MemoryWatch
from hexlit.training.loggers import build_loggers, close_loggers, note_best, note_in_wandb, tracked_run
from hexlit.training.metrics import LatestRow, MetricsCsv
from hexlit.training.optimizer import optimizer_state_bytes, scaled_lr
from hexlit.training.phases import COMPILING, FINISHING
from hexlit.training.precision import precision_arguments
from hexlit.training.proof import Proof
from hexlit.training.steps import StepClock
from hexlit.training.task import Evaluation, RunSettings, Session, Task
from hexlit.training.tracked_files import track_files
from hexlit.training.usage import RunUsage

log = logging.getLogger(__name__)


def run(
    config: RunSettings,
    task: Task,
    folder: Path,
    profile: DeviceProfile,
    display_from: Callable[[int], Display],
    *,
    callbacks: Sequence[L.Callback] = (),
    run_name: str | None = None,
    started: float | None = None,
    trial: bool = False,
    saved: Callable[[Path], None] = lambda path: None,
    facts: Mapping[str, Any] | None = None,
    tags: Sequence[str] = (),
    lost: Lost | None = None,
) -> dict[str, Any]:
    """Run `task` in `folder` and return the summary, which is also written there as `summary.json`.

    Only the first of several ranks does so; the others take part, each in a folder of its own, and return nothing.

    `display_from(epoch)` shows a run that begins with `epoch`. `callbacks` come last; loggers know the run as
    `run_name`. Its time counts from `started` on `time.monotonic()`, None for now. `trial`: see `Session`.
    `saved(path)` is called after each checkpoint that has been written and checked. `facts` and `tags` describe the
    run on Weights & Biases, in addition to its configuration. `lost` is called when a rank is gone, if the ranks tell
    each other.

    Raises:
        UsageError: a setting does not suit the task, the data or the run to continue.
    """
    started = time.monotonic() if started is None else started
    quiet_lightning()
    profile.apply()
    place = ranks()
    refuse_for_several(profile, place)
    deadline = None if config.trainer.max_seconds is None else started + config.trainer.max_seconds
    checkpoint, first_epoch = resumed_checkpoint(config, task, folder if place.writes else Path(config.resume or "."))

    usage = RunUsage(folder, profile, task.units)
    clock = usage.clock
    clock.resume(first_epoch)
    phases_before = clock.seconds_of()
    clock.account(started, first_epoch)
    clock.cpu_clock = lambda: time.process_time() + task.cpu_seconds()
    display = display_from(first_epoch)
    clock.listeners.append(display)
    L.seed_everything(config.seed, workers=True, verbose=False)
    task.set_up(Session(folder, profile, clock, display, first_epoch, trial, deadline))
    module = task.module
    steps = module.clock = StepClock(folder / "steps.csv", profile.device, usage.gauge)
    steps.resume(first_epoch)

    run_name = run_name or f"{config.name}-{folder.name}"
    loggers = build_loggers(
        config.logger,
        folder,
        run_name,
        MetricTable(task.metrics),
        facts=described(config, profile) | dict(facts or {}),
        tags=tags,
        resumed=config.resume is not None,
        trial=trial,
    )
    tracked = tracked_run(loggers)
    if tracked is not None:
        clock.listeners.append(RowsAreWhole(tracked))
    metrics = next(logger for logger in loggers if isinstance(logger, MetricsCsv))
    metrics.resume(first_epoch)
    measured = task.evaluation() or Evaluation("", lambda final: {}, every_epochs=0)
    proof = None if measured.least is None else Proof(measured.least, measured.in_a_row)
    evaluation = EvaluationPhase(
        measured.measure, clock, display, prefix=measured.prefix, every_epochs=measured.every_epochs, proof=proof
    )
    validation = ValidationPhase(clock, display, task.unit, task.shown)
    wall_time = WallTime(started, settle=clock.settle, phases_before=phases_before)
    cost = Cost(
        task.forward_flops(),
        evaluations=task.forward_passes,
        training_flops=task.training_flops(),
        seconds=lambda: wall_time.seconds,
    )
    budgets: list[Budget] = [] if deadline is None else [TimeBudget(deadline, lambda: clock.seconds_of(COMPILING))]
    if config.trainer.max_flops is not None:
        budgets.append(FlopBudget(config.trainer.max_flops, lambda: cost.flops))
    stopping = EarlyStopping(config.trainer, measured.prefix or None)
    trainer = L.Trainer(
        accelerator=profile.accelerator,
        **device_arguments(profile, place, lost),
        **precision_arguments(profile, [WholeCheckpoints(saved), *surroundings(place)]),
        max_epochs=config.trainer.max_epochs,
        logger=loggers,
        callbacks=[
            OptimisationPhase(clock, display, task.unit),
            steps,
            FiniteGuard(folder),
            LogFigures(task.figures),
            validation,
            LogFigures(lambda: {"train": {"lr": module.learning_rate}}),
            wall_time,
            *budgets,
            *task.before_evaluation(evaluation.is_due),
            evaluation,
            *([] if proof is None else [proof]),
            *task.callbacks(),
            stopping,
            cost,
            MemoryWatch(profile.memory_warning, usage.peaks),
            EpochTimes(clock, steps),
            LatestRow(metrics),
            Saving(clock),
            *checkpoints(folder, config.trainer),
            *callbacks,
        ],
        default_root_dir=folder,
        reload_dataloaders_every_n_epochs=int(task.fresh_data),
        enable_progress_bar=False,
        enable_model_summary=False,
        log_every_n_steps=1,
        num_sanity_val_steps=0,
    )
    failed, interrupted = True, False
    compile_seconds = None
    try:
        with usage, display:
            if first_epoch < config.trainer.max_epochs:
                with clock.phase(COMPILING, first_epoch) as phase:
                    task.prepare(phase)
                    compile_seconds = module.prepare()
            trainer.fit(module, task.data, ckpt_path=checkpoint, weights_only=True)
            clock.outside(FINISHING, trainer.current_epoch)
            evaluation.finish(trainer.current_epoch, restored=stopping.restored)
        clock.outside(FINISHING, trainer.current_epoch)
        if not place.writes:
            failed = False
            return {}
        state_bytes = sum(optimizer_state_bytes(optimizer) for optimizer in trainer.optimizers)
        module.to(profile.device)  # Lightning leaves it on the cpu
        found = task.finish()
        failed = False
    except (KeyboardInterrupt, SystemExit) as stop:
        if is_interruption(stop):
            ending = ending_of(trainer, proof=proof, stopping=stopping, interrupted_after=first_epoch)
            reached = found_by(evaluation, validation) | {"measured_after": evaluation.measured_after}
            task.show_ending(ending, reached, command_to_go_on(folder, config.trainer))
            stop.add_note(TOLD)
            interrupted = True
        raise
    finally:
        task.close()  # Lightning tears the data down only after a fit that ended well
        part_ways(trainer.strategy, failed=failed)
        if failed:
            if interrupted:
                track_files(None if trial else tracked, task, folder, {"epochs": trainer.current_epoch})
            close_loggers(loggers, failed)
    usage.warn_of_idling()
    ending = ending_of(trainer, proof=proof, stopping=stopping)
    clock.settle()
    summary = {
        "name": config.name,
        "task": config.task,
        "seed": config.seed,
        "wall_seconds": wall_time.seconds,
        "cost": cost.summary(),
        "epochs": trainer.current_epoch,
        "ending": ending,
        "val": validation.of(stopping.best_epoch if stopping.restored else None),
        "best": stopping.summary(),
        "phases": clock.summary(),
        "learning_rate": scaled_lr(config.optimizer, profile.train_batch),
        "optimizer_state_bytes": state_bytes,
        **usage.summary(),
        "parameters": sum(p.numel() for p in module.net.parameters()),
        "compile_seconds": compile_seconds,
        "device": ", ".join(filter(None, [describe_device(profile), task.engine()])),
        "versions": versions(),
        **({measured.prefix: dict(evaluation.latest)} if measured.prefix else {}),
        **found,
        **task.summary(),
    }
    write_json_atomic(folder / "summary.json", summary)
    note_best(loggers)
    note_in_wandb(loggers, summary=summary)
    track_files(None if trial else tracked, task, folder, {"epochs": trainer.current_epoch, "best": stopping.summary()})
    close_loggers(loggers)
    task.show_summary(summary)
    task.show_ending(ending, found_by(evaluation, validation), command_to_go_on(folder, config.trainer))
    return summary


def described(config: RunSettings, profile: DeviceProfile) -> dict[str, Any]:
    """The facts of a run for the loggers before it begins: the whole configuration, the code, the device."""
    settings: Any = config  # always a dataclass; a protocol cannot say so
    return {**asdict(settings), "git": git_state(), "versions": versions(), "device": describe_device(profile)}


def found_by(evaluation: EvaluationPhase, validation: ValidationPhase) -> dict[str, Any]:
    """The latest figures: those of the evaluation, or of the validation where a task has no evaluation."""
    return dict(evaluation.latest) if evaluation.prefix else dict(validation.of(None))


def checkpoints(folder: Path, config: TrainerConfig) -> list[ModelCheckpoint]:
    """The latest state after every epoch, and the one of the best epoch by `trainer.monitor`."""
    shared: dict[str, Any] = {"dirpath": folder / CHECKPOINTS, "enable_version_counter": False}
    return [
        ModelCheckpoint(filename="best", monitor=config.monitor, mode=config.monitor_mode, save_top_k=1, **shared),
        ModelCheckpoint(filename="last", save_top_k=1, save_on_train_epoch_end=True, **shared),
    ]


def resumed_checkpoint(config: RunSettings, task: Task, folder: Path) -> tuple[Path | None, int]:
    """The checkpoint to continue from and the first epoch to do; None for a run without one, new or killed early.

    Raises:
        UsageError: no checkpoint is whole, or the run was started with other settings.
    """
    found = None if config.resume is None else newest_sound(folder)
    if found is None:
        return None, 0
    path, checkpoint = found
    saved = checkpoint["hyper_parameters"]
    task.check_resume(saved, folder)
    learning = {**vars(config.optimizer), "ema_decay": config.trainer.ema_decay}
    for name, value in learning.items():
        was = saved.get("learning", learning).get(name, value)
        if was != value:  # the checkpoint's value would win: its optimizer and its schedule are taken over
            key = f"trainer.{name}" if name == "ema_decay" else f"optimizer.{name}"
            raise UsageError(f"{key}={value}: the run in {folder} was started with {key}={was}; keep it to resume")
    done = int(checkpoint["epoch"]) + 1
    if done > config.trainer.max_epochs:
        least = f"the run in {folder} has {done} epochs; give that number to end it there, or more to train on"
        raise UsageError(f"trainer.max_epochs={config.trainer.max_epochs}: {least}")
    return path, done


def describe_device(profile: DeviceProfile) -> str:
    """One line on the device, its threads, and the precision of training."""
    kind = profile.device.type
    name = torch.cuda.get_device_name(profile.device) if kind == "cuda" else platform.machine()
    count = profile.devices if isinstance(profile.devices, int) else len(profile.devices)
    several = f"{count} x " if count > 1 else ""
    return f"{several}{kind} ({name}, {profile.threads} threads), training {profile.precision}"


def quiet_lightning() -> None:
    """Keep Lightning's greetings and a deprecation inside Lightning off the terminal; its other warnings stay."""
    warnings.filterwarnings("ignore", message=r".*isinstance\(treespec, LeafSpec\)")
    warnings.filterwarnings("ignore", message=r".*does not have many workers")
    # The module takes its part of a batch and times the transfer to the device, whichever loader it comes from.
    overridden = r"You have overridden `(on_before_batch_transfer|transfer_batch_to_device)`"
    warnings.filterwarnings("ignore", message=overridden)
    warnings.filterwarnings("ignore", message=r"You defined a `validation_step` but have no `val_dataloader`")
    # The module adds the losses up over the ranks before it logs them.
    warnings.filterwarnings("ignore", message=r"It is recommended to use `self.log")
    warnings.filterwarnings("ignore", message=r"The `srun` command is available on your system but is not used")
    # Not every metric is measured after every epoch.
    warnings.filterwarnings("ignore", message=r".*could not find the monitored key")
    # It does exist: a resumed run continues in its own folder.
    warnings.filterwarnings("ignore", message=r"Checkpoint directory .* exists and is not empty")
    for name in ("lightning.pytorch", "lightning.fabric", "lightning.pytorch.utilities.rank_zero"):
        logging.getLogger(name).setLevel(logging.WARNING)
