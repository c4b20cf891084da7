"""One run of any task: its Trainer with all shared callbacks, its files, its cost, and its result."""

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
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.callbacks import LambdaCallback
from lightning.pytorch.loggers import Logger
from lightning.pytorch.profilers import (
    AdvancedProfiler,
    Profiler,
    PyTorchProfiler,
    SimpleProfiler,
)

from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.ranks import ranks
from hexlit.errors import UsageError
from hexlit.files import write_json_atomic
from hexlit.interruption import RESUME_HINT_PRINTED, is_interruption
from hexlit.tracking.metric_names import MetricTable
from hexlit.tracking.provenance import git_state, versions
from hexlit.tracking.tracked_run import Files
from hexlit.training.batches import whole_size
from hexlit.training.budget import Budget, budgets_of
from hexlit.training.checkpoints import BEST, CHECKPOINTS, WholeCheckpoints
from hexlit.training.config import RunOptions
from hexlit.training.distributed import hardware_arguments, leave_ranks, refuse_for_several
from hexlit.training.evaluation import (
    EarlyStopping,
    EpochCheckpoints,
    EpochPhases,
    EvaluationPhase,
    ending_of,
    resume_command,
)
from hexlit.training.finite_guard import FiniteGuard
from hexlit.training.loggers import CHECKPOINT, MetricsCsv, build_loggers, close_loggers, wandb_rows
from hexlit.training.module import TrainedModule
from hexlit.training.optimizer import optimizer_state_bytes, scaled_lr
from hexlit.training.phases import COMPILING, FINISHING, SAVING, RunDisplay
from hexlit.training.resuming import resumed_checkpoint
from hexlit.training.task import Evaluation, RunSettings, Session, Task
from hexlit.training.usage import RunUsage


def run(
    config: RunSettings,
    task: Task,
    folder: Path,
    profile: DeviceProfile,
    display_from: Callable[[int], RunDisplay],
    options: RunOptions,
) -> dict[str, Any]:
    """Run `task` in `folder` and return the summary, which is also written there as `summary.json`.

    Only the first of several ranks does so; the others take part, each in a folder of its own, and
    return nothing. `display_from(epoch)` shows a run that begins with `epoch`.

    Raises:
        UsageError: a setting does not suit the task, the data or the run to continue.
        HasEndedError: the run to continue has ended, and would train no further; nothing is
            written.
    """
    quiet_lightning()
    profile.apply()
    refuse_for_several(profile, ranks())
    origin = folder if ranks().writes else Path(config.resume or ".")
    checkpoint, first_epoch, seconds = resumed_checkpoint(config, task, origin, trial=options.trial)
    session = _Run(config, task, folder, profile, options, first_epoch, seconds)
    failed = True
    try:
        session.set_up(display_from(first_epoch))
        figures = session.fit(checkpoint)
        summary = session.end(figures) if ranks().writes else {}
        failed = False
    finally:
        close_loggers(session.loggers, failed)
    if summary:
        session.show(summary)
    return summary


@dataclass
class _Run:
    """A run of `task` from `first_epoch` on, after `seconds` of training: its measurements, its
    loggers and its Trainer.
    """

    config: RunSettings
    task: Task
    folder: Path
    profile: DeviceProfile
    options: RunOptions
    first_epoch: int
    seconds: float
    loggers: list[Logger] = field(default_factory=list, init=False)

    def set_up(self, display: RunDisplay) -> None:
        """Begin the clock, and make the task, the loggers and the Trainer, in this order."""
        config, task, options, started = self.config, self.task, self.options, self.options.started
        self.usage = RunUsage(self.folder, self.profile, task.units)
        self.clock = clock = self.usage.clock
        clock.resume(self.first_epoch, self.seconds)
        earlier = sum(total.wall_seconds for total in clock.totals().values())
        clock.account(started, self.first_epoch)
        clock.cpu_clock = lambda: time.process_time() + task.cpu_seconds()
        clock.listeners.append(display)
        self.display = display
        deadline = (
            None if config.trainer.max_seconds is None else started + config.trainer.max_seconds
        )
        L.seed_everything(config.seed, workers=True, verbose=False)
        task.set_up(
            Session(
                self.folder, self.profile, clock, display, self.first_epoch, options.trial, deadline
            )
        )
        task.module.clock = self.usage.steps
        self.usage.steps.table.resume(self.first_epoch)

        facts = {
            "git": git_state(),
            "versions": versions(),
            "device": describe_device(self.profile),
        }
        self.loggers = build_loggers(
            config.logger,
            self.folder,
            MetricTable(task.metrics),
            name=options.run_name or f"{config.name}-{self.folder.name}",
            kind="trial" if options.trial else "train",
            tags=options.tags,
            facts={**asdict(config), **facts, **options.facts},  # type: ignore[call-overload]  # a protocol
            resumed=config.resume is not None,
            own_name=options.trial,
        )
        self.wandb = wandb_rows(self.loggers)
        if self.wandb is not None:
            clock.listeners.append(self.wandb)
        self.metrics = MetricsCsv(self.folder)
        self.metrics.table.resume(self.first_epoch)

        self.evaluation = EvaluationPhase(
            task.evaluation() or Evaluation("", lambda final: {}, 0), clock, display
        )
        rare = (
            {*task.rare, self.evaluation.measured.prefix}
            if self.evaluation.measured.every_epochs
            else task.rare
        )
        best = self.folder / CHECKPOINTS / BEST
        self.stopping = EarlyStopping(
            config.trainer,
            best,
            rare,
            others_log=bool(config.callbacks),
            losses_compare=task.losses_compare,
        )
        self.cost = Cost(task, started, earlier)
        budgets = budgets_of(
            config.trainer, lambda: time.monotonic() - started, lambda: self.cost.flops
        )
        self.trainer = self._trainer(budgets)

    def _trainer(self, budgets: Sequence[Budget]) -> L.Trainer:
        config, task, profile = self.config, self.task, self.profile
        # Lightning calls each hook of all callbacks in this order.
        callbacks: list[L.Callback] = [
            # The first: a phase spans the work of all others.
            EpochPhases(self.clock, self.display, task.unit, task.shown),
            self.usage.steps,
            FiniteGuard(self.folder),  # before anything reads the epoch's figures
            LambdaCallback(on_train_epoch_end=self._log_figures),
            *budgets,  # before the evaluation: the last epoch is measured finally
            *task.before_evaluation(self.evaluation.is_due),
            self.evaluation,
            *task.callbacks(),
            self.cost,
            self.usage,
            LambdaCallback(
                on_train_epoch_end=lambda trainer, _: self.clock.outside(
                    SAVING, trainer.current_epoch
                )
            ),
            *self.options.callbacks,
            self.stopping,  # after all that logs, for it reads one of these figures
            self.metrics,  # after all that logs, and before the checkpoints
            EpochCheckpoints(self.stopping, self.folder / CHECKPOINTS, self.options.saved),
        ]
        return L.Trainer(
            accelerator=profile.device.type,
            limit_train_batches=batches(config.trainer.limit_train_batches),
            limit_val_batches=batches(config.trainer.limit_val_batches),
            profiler=self._profiler(),
            detect_anomaly=config.trainer.detect_anomaly,
            **hardware_arguments(profile, ranks(), [WholeCheckpoints()]),
            max_epochs=config.trainer.max_epochs,
            logger=self.loggers,
            callbacks=callbacks,
            default_root_dir=self.folder,
            reload_dataloaders_every_n_epochs=int(task.fresh_data),
            enable_progress_bar=False,
            enable_model_summary=False,
            log_every_n_steps=1,
            num_sanity_val_steps=0,
        )

    def _profiler(self) -> Profiler | None:
        name = self.config.trainer.profiler
        if name is None:
            return None
        kinds: dict[str, type[Profiler]] = {
            "simple": SimpleProfiler,
            "advanced": AdvancedProfiler,
            "pytorch": PyTorchProfiler,
        }
        return kinds[name](dirpath=self.folder, filename="profile")

    def _log_figures(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        for prefix, figures in {
            **self.task.figures(),
            "train": {"lr": self.task.module.learning_rate},
        }.items():
            module.log_dict({f"{prefix}.{name}": float(value) for name, value in figures.items()})

    def fit(self, checkpoint: Path | None) -> dict[str, Any]:
        """Train from `checkpoint` on, measure the result, and close what the task holds; returns
        summary entries.
        """
        task, trainer, clock = self.task, self.trainer, self.clock
        figures: dict[str, Any] = {"compile_seconds": None}
        try:
            with self.usage.sampling(), self.display:
                if self.first_epoch < self.config.trainer.max_epochs:
                    with clock.phase(COMPILING, self.first_epoch) as phase:
                        figures["compile_seconds"] = task.module.prepare()
                        task.prepare(phase)
                trainer.fit(task.module, task.data, ckpt_path=checkpoint, weights_only=True)
                task.module.to(self.profile.device)  # Lightning leaves it on the cpu
                clock.outside(FINISHING, trainer.current_epoch)
                if not self.options.given_up():
                    self.evaluation.finish(trainer.current_epoch, restored=self.stopping.restored)
            clock.outside(FINISHING, trainer.current_epoch)
            if ranks().writes:
                state_bytes = sum(
                    optimizer_state_bytes(optimizer) for optimizer in trainer.optimizers
                )
                figures |= {"optimizer_state_bytes": state_bytes, **task.finish()}
        except (KeyboardInterrupt, SystemExit) as stop:
            if is_interruption(stop):
                ending = ending_of(trainer, self.evaluation.target, self.stopping, self.first_epoch)
                self._show_ending(ending, measured_after=self.evaluation.measured_after)
                stop.add_note(RESUME_HINT_PRINTED)
                self._track_files()
            raise
        except MisconfigurationException as error:  # such as a share of batches that has none
            raise UsageError(f"trainer: {' '.join(str(error).split())}") from error
        finally:
            task.close()
            leave_ranks()
        return figures

    def end(self, figures: Mapping[str, Any]) -> dict[str, Any]:
        """Write the summary, and log it with the checkpoints."""
        config, task, evaluation, stopping = self.config, self.task, self.evaluation, self.stopping
        self.usage.warn_of_idling()
        ending = ending_of(self.trainer, evaluation.target, stopping)
        self.clock.settle()
        phases = self.clock.totals()
        summary = {
            "name": config.name,
            "task": config.task,
            "seed": config.seed,
            "wall_seconds": self.cost.seconds,
            "cost": {"flops": self.cost.flops, "wall_seconds": self.cost.seconds},
            "epochs": self.trainer.current_epoch,
            "ending": ending,
            "callbacks": config.callbacks,
            "val": self.metrics.validation(stopping.best_epoch if stopping.restored else None),
            "best": stopping.summary(),
            "phases": {
                name: {"epochs": one.epochs, **one.as_dict(task.units)}
                for name, one in phases.items()
            },
            "learning_rate": scaled_lr(config.optimizer, self.profile.train_batch),
            **self.usage.summary(),
            "parameters": sum(p.numel() for p in task.module.net.parameters()),
            "device": ", ".join(
                filter(None, [describe_device(self.profile, task.module), task.engine()])
            ),
            "versions": versions(),
            **figures,
            **task.summary(),
        }
        prefix = evaluation.measured.prefix
        if prefix:
            summary[prefix] = dict(evaluation.latest)
        write_json_atomic(self.folder / "summary.json", summary)
        if self.wandb is not None:
            self.wandb.note_best(self.metrics.columns())
            self.wandb.tracked.note(summary=summary)
        self._track_files(best=stopping.summary())
        return summary

    def show(self, summary: Mapping[str, Any]) -> None:
        """Show the summary and the reason for the end."""
        self.task.show_summary(summary)
        self._show_ending(summary["ending"])

    def _show_ending(self, ending: Mapping[str, Any], **facts: Any) -> None:
        """Show it with the latest figures of the evaluation, or of the validation of a task without
        evaluation.
        """
        figures = (
            self.evaluation.latest if self.evaluation.measured.prefix else self.metrics.validation()
        )
        self.task.show_ending(
            ending, {**figures, **facts}, resume_command(self.folder, self.config.trainer)
        )

    def _track_files(self, **facts: Any) -> None:
        """Log on W&B the files that the task has used, then the checkpoints with `facts`; those of
        trials stay here.
        """
        if self.wandb is None or self.options.trial:
            return
        tracked = self.wandb.tracked
        facts["epochs"] = self.trainer.current_epoch
        for files in self.task.used(tracked.identity):
            tracked.used(files)
        for alias in ("best", "last"):  # W&B calls the last one `latest`
            path = self.folder / CHECKPOINTS / f"{alias}.ckpt"
            if path.exists():
                tracked.made(
                    Files(tracked.identity.artifact(CHECKPOINT), CHECKPOINT, [path], [alias], facts)
                )


def batches(limit: float | None) -> float | int | None:
    """A limit of batches as Lightning takes it, which tells 1 from 1.0."""
    return limit if limit is None or limit % 1 else int(limit)


TRAINING_PASSES = 3
"""Cost of a training step per example, in forward passes: one forward, two backward. Every product
of matrices in the forward pass has two of the same size in the backward pass, for its input and for
its weights.
"""


class Cost(L.Callback):
    """Counts the floating-point operations of a run over all its sessions, and logs them after
    every epoch.

    An example that goes through the network while data is made costs one forward pass; an example
    of a training step costs `TRAINING_PASSES`. These are the operations of the method, however they
    are computed. Not counted: padding of a batch, activations computed again to save memory, steps
    repeated after memory ran out, and the optimizer (well below a hundredth). Validation,
    evaluation, and data made ahead for an epoch that never came do not count either. The same run
    has the same count on every machine that makes the same data.

    It also keeps the wall time over all sessions, as far as checkpoints record it. Logs
    `cost.flops`, `cost.seconds` and, where the network makes data, `cost.actor_macs`: multiply-adds
    of that alone, as Jones 2021 (arXiv 2104.03113) counts them. Loggers get these in single
    precision (7 digits), `flops` is exact.
    """

    def __init__(self, task: Task, started: float, earlier: float = 0.0) -> None:
        """The cost of `task`.

        This session began at `started` on `time.monotonic()`; the earlier ones took `earlier`
        seconds.
        """
        self._task, self._flops_per_example = task, 0
        self._started = started
        self._earlier = earlier
        self._training = 0

    @property
    def seconds(self) -> float:
        """Wall time of the earlier sessions and this one."""
        return self._earlier + time.monotonic() - self._started

    @property
    def flops(self) -> int:
        """Operations so far."""
        return self._task.data_flops() + self._training

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The examples of an epoch are alike."""
        self._flops_per_example = TRAINING_PASSES * self._task.training_flops()

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """A step is done."""
        self._training += whole_size(pl_module, batch) * self._flops_per_example

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Log what the run has cost so far."""
        costs = {
            "flops": float(self.flops),
            "seconds": self.seconds,
            "actor_macs": self._task.data_flops() / 2,
        }
        pl_module.log_dict({f"cost.{name}": value for name, value in costs.items() if value})

    def state_dict(self) -> dict[str, Any]:
        return {"training": self._training, "seconds": self.seconds}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._training = state_dict["training"]


def describe_device(profile: DeviceProfile, module: TrainedModule | None = None) -> str:
    """One line on the device, its threads, and the precision of training, with the kernels that
    `module` has chosen.
    """
    kind = profile.device.type
    name = torch.cuda.get_device_name(profile.device) if kind == "cuda" else platform.machine()
    count = profile.devices if isinstance(profile.devices, int) else len(profile.devices)
    several = f"{count} x " if count > 1 else ""
    own = (
        ""
        if module is None or kind != "cpu"
        else f" by {module.kernels_in_use}, threads {module.threads}"
    )
    return f"{several}{kind} ({name}, {profile.threads} threads), training {profile.precision}{own}"


def quiet_lightning() -> None:
    """Keep Lightning's greetings and its hints, which do not suit such a run, off the terminal;
    errors stay.
    """
    warnings.filterwarnings("ignore", module=r"lightning\.")
    for name in ("lightning.pytorch", "lightning.fabric", "lightning.pytorch.utilities.rank_zero"):
        logging.getLogger(name).setLevel(logging.WARNING)
