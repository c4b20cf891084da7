"""One run of any task: its Trainer with all shared callbacks, its files, and its result."""

import logging
import platform
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.rank_line import Lost
from hexlit.accelerate.ranks import Ranks, ranks
from hexlit.errors import UsageError
from hexlit.files import write_json_atomic
from hexlit.interruption import TOLD, is_interruption
from hexlit.tracking.metric_names import MetricTable
from hexlit.tracking.provenance import git_state, versions
from hexlit.tracking.tracked_run import Files, TrackedRun
from hexlit.training.budget import Budget, Cost, FlopBudget, TimeBudget, WallTime
from hexlit.training.checkpoints import CHECKPOINTS, WholeCheckpoints, newest_sound
from hexlit.training.config import TrainerConfig
from hexlit.training.distributed import (
    device_arguments,
    precision_arguments,
    refuse_for_several,
    shutdown,
    surroundings,
)
from hexlit.training.evaluation import EvaluationPhase, LogFigures, OptimisationPhase, Saving, ValidationPhase
from hexlit.training.guards import FiniteGuard, MemoryWatch, RunUsage
from hexlit.training.loggers import (
    CHECKPOINT,
    EpochTimes,
    LatestRow,
    MetricsCsv,
    RowsAreWhole,
    build_loggers,
    close_loggers,
    note_best,
    note_in_wandb,
    tracked_run,
)
from hexlit.training.optimizer import optimizer_state_bytes, scaled_lr
from hexlit.training.phases import COMPILING, FINISHING, Display
from hexlit.training.steps import StepClock
from hexlit.training.stopping import EarlyStopping, StopAtTarget, command_to_go_on, ending_of
from hexlit.training.task import Evaluation, RunSettings, Session, Task


@dataclass(frozen=True)
class RunOptions:
    """What the caller of a run adds to its settings."""

    callbacks: Sequence[L.Callback] = ()
    """They come last, after the checkpoints."""
    run_name: str | None = None
    """Name for the loggers; None: made of the configuration's name and the folder's."""
    started: float | None = None
    """Time on `time.monotonic()` from which the run counts its time; None: now."""
    trial: bool = False
    """Whether it is a trial of a sweep; see `Session`."""
    saved: Callable[[Path], None] = lambda path: None
    """Called after each checkpoint that has been written and checked."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """They describe the run on Weights & Biases, in addition to its configuration."""
    tags: Sequence[str] = ()
    lost: Lost | None = None
    """Called when a rank is gone, if the ranks tell each other."""


def run(
    config: RunSettings,
    task: Task,
    folder: Path,
    profile: DeviceProfile,
    display_from: Callable[[int], Display],
    options: RunOptions | None = None,
) -> dict[str, Any]:
    """Run `task` in `folder` and return the summary, which is also written there as `summary.json`.

    Only the first of several ranks does so; the others take part, each in a folder of its own, and return nothing.
    `display_from(epoch)` shows a run that begins with `epoch`.

    Raises:
        UsageError: a setting does not suit the task, the data or the run to continue.
    """
    job = _set_up(config, task, folder, profile, display_from, options or RunOptions())
    figures = _fit(job)
    return _end(job, figures) if job.place.writes else {}


@dataclass(frozen=True)
class _Run:
    """A run that has been set up."""

    config: RunSettings
    task: Task
    folder: Path
    profile: DeviceProfile
    options: RunOptions
    place: Ranks
    first_epoch: int
    checkpoint: Path | None
    """Where the run continues from."""
    usage: RunUsage
    display: Display
    loggers: list[Any]
    trainer: L.Trainer
    validation: ValidationPhase
    evaluation: EvaluationPhase
    target: StopAtTarget | None
    stopping: EarlyStopping
    wall_time: WallTime
    cost: Cost

    def ending(self, interrupted_after: int | None = None) -> dict[str, Any]:
        """How the run ended."""
        return ending_of(self.trainer, target=self.target, stopping=self.stopping, interrupted_after=interrupted_after)

    @property
    def figures(self) -> dict[str, Any]:
        """The latest figures: those of the evaluation, or of the validation where a task has no evaluation."""
        return dict(self.evaluation.latest) if self.evaluation.prefix else dict(self.validation.of(None))

    def track_files(self, **facts: Any) -> None:
        """Give the files of the run to Weights & Biases; those of trials stay here."""
        tracked = None if self.options.trial else tracked_run(self.loggers)
        track_files(tracked, self.task, self.folder, {"epochs": self.trainer.current_epoch, **facts})


def _set_up(
    config: RunSettings,
    task: Task,
    folder: Path,
    profile: DeviceProfile,
    display_from: Callable[[int], Display],
    options: RunOptions,
) -> _Run:
    """The device, the clock, the task, the loggers and the Trainer, in this order."""
    started = time.monotonic() if options.started is None else options.started
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
    task.set_up(Session(folder, profile, clock, display, first_epoch, options.trial, deadline))
    module = task.module
    steps = module.clock = StepClock(folder / "steps.csv", profile.device, usage.gauge)
    steps.resume(first_epoch)

    loggers = build_loggers(
        config.logger,
        folder,
        options.run_name or f"{config.name}-{folder.name}",
        MetricTable(task.metrics),
        facts=described(config, profile) | dict(options.facts),
        tags=options.tags,
        resumed=config.resume is not None,
        trial=options.trial,
    )
    tracked = tracked_run(loggers)
    if tracked is not None:
        clock.listeners.append(RowsAreWhole(tracked))
    metrics = next(logger for logger in loggers if isinstance(logger, MetricsCsv))
    metrics.resume(first_epoch)

    measured = task.evaluation() or Evaluation("", lambda final: {}, every_epochs=0)
    target = None if measured.least is None else StopAtTarget(measured.least, measured.in_a_row)
    evaluation = EvaluationPhase(measured, clock, display, target)
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
    # Lightning calls each hook of all callbacks in this order.
    callbacks: list[L.Callback] = [
        OptimisationPhase(clock, display, task.unit),  # first, for the phase spans the work of all others
        steps,
        FiniteGuard(folder),  # before anything reads the epoch's figures
        LogFigures(task.figures),
        validation,
        LogFigures(lambda: {"train": {"lr": module.learning_rate}}),
        wall_time,  # before the budgets, which read it
        *budgets,  # before the evaluation: the last epoch is measured finally
        *task.before_evaluation(evaluation.is_due),
        evaluation,
        *([] if target is None else [target]),
        *task.callbacks(),
        stopping,  # after all that logs, for it reads one of these figures
        cost,  # after the evaluation, whose operations it counts
        MemoryWatch(profile.memory_warning, usage.peaks),
        EpochTimes(clock, steps),
        LatestRow(metrics),  # after all that logs
        Saving(clock),  # right before the checkpoints, whose time it names
        *checkpoints(folder, config.trainer),
        *options.callbacks,
    ]
    trainer = L.Trainer(
        accelerator=profile.accelerator,
        **device_arguments(profile, place, options.lost),
        **precision_arguments(profile, [WholeCheckpoints(options.saved), *surroundings(place)]),
        max_epochs=config.trainer.max_epochs,
        logger=loggers,
        callbacks=callbacks,
        default_root_dir=folder,
        reload_dataloaders_every_n_epochs=int(task.fresh_data),
        enable_progress_bar=False,
        enable_model_summary=False,
        log_every_n_steps=1,
        num_sanity_val_steps=0,
    )
    return _Run(
        config=config,
        task=task,
        folder=folder,
        profile=profile,
        options=options,
        place=place,
        first_epoch=first_epoch,
        checkpoint=checkpoint,
        usage=usage,
        display=display,
        loggers=loggers,
        trainer=trainer,
        validation=validation,
        evaluation=evaluation,
        target=target,
        stopping=stopping,
        wall_time=wall_time,
        cost=cost,
    )


def _fit(job: _Run) -> dict[str, Any]:
    """Train, measure the result, and close what the task holds; returns entries for the summary."""
    task, trainer, clock = job.task, job.trainer, job.usage.clock
    figures: dict[str, Any] = {"compile_seconds": None}
    failed, interrupted = True, False
    try:
        with job.usage, job.display:
            if job.first_epoch < job.config.trainer.max_epochs:
                with clock.phase(COMPILING, job.first_epoch) as phase:
                    task.prepare(phase)
                    figures["compile_seconds"] = task.module.prepare()
            trainer.fit(task.module, task.data, ckpt_path=job.checkpoint, weights_only=True)
            task.module.to(job.profile.device)  # Lightning leaves it on the cpu
            clock.outside(FINISHING, trainer.current_epoch)
            job.evaluation.finish(trainer.current_epoch, restored=job.stopping.restored)
        clock.outside(FINISHING, trainer.current_epoch)
        if job.place.writes:
            state_bytes = sum(optimizer_state_bytes(optimizer) for optimizer in trainer.optimizers)
            figures |= {"optimizer_state_bytes": state_bytes, **task.finish()}
        failed = False
    except (KeyboardInterrupt, SystemExit) as stop:
        if is_interruption(stop):
            reached = job.figures | {"measured_after": job.evaluation.measured_after}
            task.show_ending(job.ending(job.first_epoch), reached, command_to_go_on(job.folder, job.config.trainer))
            stop.add_note(TOLD)
            interrupted = True
        raise
    finally:
        task.close()  # Lightning tears the data down only after a fit that ended well
        shutdown(trainer.strategy, failed=failed)
        if failed:
            if interrupted:
                job.track_files()
            close_loggers(job.loggers, failed)
    return figures


def _end(job: _Run, figures: Mapping[str, Any]) -> dict[str, Any]:
    """Write and show the summary, and close the loggers."""
    config, task, trainer, clock = job.config, job.task, job.trainer, job.usage.clock
    job.usage.warn_of_idling()
    ending = job.ending()
    clock.settle()
    evaluation, stopping = job.evaluation, job.stopping
    summary = {
        "name": config.name,
        "task": config.task,
        "seed": config.seed,
        "wall_seconds": job.wall_time.seconds,
        "cost": job.cost.summary(),
        "epochs": trainer.current_epoch,
        "ending": ending,
        "val": job.validation.of(stopping.best_epoch if stopping.restored else None),
        "best": stopping.summary(),
        "phases": clock.summary(),
        "learning_rate": scaled_lr(config.optimizer, job.profile.train_batch),
        **job.usage.summary(),
        "parameters": sum(p.numel() for p in task.module.net.parameters()),
        "device": ", ".join(filter(None, [describe_device(job.profile), task.engine()])),
        "versions": versions(),
        **({evaluation.prefix: dict(evaluation.latest)} if evaluation.prefix else {}),
        **figures,
        **task.summary(),
    }
    write_json_atomic(job.folder / "summary.json", summary)
    note_best(job.loggers)
    note_in_wandb(job.loggers, summary=summary)
    job.track_files(best=stopping.summary())
    close_loggers(job.loggers)
    task.show_summary(summary)
    task.show_ending(ending, job.figures, command_to_go_on(job.folder, config.trainer))
    return summary


def described(config: RunSettings, profile: DeviceProfile) -> dict[str, Any]:
    """The facts of a run for the loggers before it begins: the whole configuration, the code, the device."""
    settings: Any = config  # always a dataclass; a protocol cannot say so
    return {**asdict(settings), "git": git_state(), "versions": versions(), "device": describe_device(profile)}


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


def track_files(tracked: TrackedRun | None, task: Task, folder: Path, facts: dict[str, Any]) -> None:
    """Log the files that `task` has used, then `best.ckpt` and `last.ckpt` of the run in `folder`.

    `facts` are noted with the checkpoints. Nothing happens without a run, or with artifacts turned off.
    """
    if tracked is None or not tracked.artifacts:
        return
    for files in task.used(tracked.identity):
        tracked.used(files)
    for alias in ("best", "last"):  # W&B calls the last one `latest`
        path = folder / "checkpoints" / f"{alias}.ckpt"
        if path.exists():
            tracked.made(Files(tracked.identity.artifact(CHECKPOINT), CHECKPOINT, [path], [alias], facts))
