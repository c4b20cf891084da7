"""The end of an epoch, timed, measured and shown; and the end of a run with its reasons."""

import contextlib
import logging
import math
import os
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import Checkpoint

from hexlit.accelerate.collectives import broadcast, on_writer
from hexlit.accelerate.ranks import ranks
from hexlit.errors import UsageError
from hexlit.files import link_atomic
from hexlit.training.batches import whole_size
from hexlit.training.budget import budgets
from hexlit.training.checkpoints import BEST, LAST, read_checkpoint
from hexlit.training.config import TrainerConfig
from hexlit.training.phases import PhaseClock, RunDisplay
from hexlit.training.task import Evaluation

log = logging.getLogger(__name__)


class EpochPhases(L.Callback):
    """Times an epoch's steps as the phase `training` and its validation as `validation`; shows the
    results.
    """

    def __init__(
        self,
        clock: PhaseClock,
        display: RunDisplay,
        unit: str = "examples",
        shown: Collection[str] = ("loss",),
    ) -> None:
        """Rows go to `clock`, mean losses and the validation figures named in `shown` to `display`.

        One example counts as one `unit`.
        """
        self._clock = clock
        self._display = display
        self._unit = unit
        self._shown = shown
        self._open = contextlib.ExitStack()

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The first step is next."""
        self._begin("training", trainer.current_epoch, trainer.num_training_batches)

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The last step is done, the first batch of validation is next."""
        self._begin("validation", trainer.current_epoch, sum(trainer.num_val_batches))

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The last batch is done."""
        self._open.close()

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The last step is done: show the losses and the results of validation."""
        self._open.close()
        losses = {}
        validated = {}
        for metric, value in trainer.callback_metrics.items():
            kind, _, name = metric.partition(".")
            if kind == "train" and name.endswith("loss"):
                losses[name] = float(value)
            if kind == "val" and name in self._shown:
                validated[f"val {name}"] = float(value)
        for shown in filter(None, (losses, validated)):
            self._display.update(epoch=trainer.current_epoch, losses=shown)

    def on_exception(
        self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException
    ) -> None:
        """Close the phase; it leaves no row."""
        self._open.__exit__(type(exception), exception, exception.__traceback__)

    def on_train_batch_end(
        self,
        trainer: Any,
        pl_module: Any,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """A batch is done."""
        self._phase.add(**{self._unit: whole_size(pl_module, batch)})
        self._phase.advance(batch_idx + 1)

    on_validation_batch_end = on_train_batch_end

    def _begin(self, name: str, epoch: int, batches: float) -> None:
        self._open.close()
        self._phase = self._open.enter_context(self._clock.phase(name, epoch, goal=float(batches)))


@dataclass
class StopAtTarget:
    """Counts measurements with every figure at its threshold or better; enough of them in a row end
    the run.

    It only decides when a run ends. Figures that judge the run afterwards must come from other
    examples. Otherwise the same figures would have chosen the end of the run and judged it.
    """

    least: Mapping[str, float]
    """Smallest value of each figure that counts."""
    evaluations: int
    """Measurements in a row that the target needs."""
    running: int = 0
    """Present number of measurements in a row that have reached it."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """The figures of the latest measurement, those of `least` only."""
    reached_after: int | None = None
    """Epochs done when the target was reached; None before."""

    def judge(self, epochs: int, figures: Mapping[str, Any]) -> bool:
        """Take the measurement after `epochs` epochs; returns whether the target is reached, which
        then stays so.

        A missing figure misses its threshold.
        """
        self.figures = {name: float(figures.get(name, math.nan)) for name in self.least}
        missed = [name for name, least in self.least.items() if not self.figures[name] >= least]
        reached = not missed
        self.running = self.running + 1 if reached else 0
        if self.reached_after is None and self.running >= self.evaluations:
            self.reached_after = epochs
        return self.reached_after is not None

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue the count of `asdict`; it starts again if the checkpoint has other thresholds."""
        if (state["least"], state["evaluations"]) == (self.least, self.evaluations):
            self.running, self.reached_after, self.figures = (
                state["running"],
                state["reached_after"],
                state["figures"],
            )


class EvaluationPhase(L.Callback):
    """Measures the network as its task asks, and logs the numbers as `prefix.*`.

    With a `target` the last epoch is measured twice: for the target, and finally.

    Attributes:
        measured: what is measured, and when.
        latest: figures of the latest measurement.
        final: whether they are the final ones.
        target: gets the figures that are not final, and may end the run.
        measured_after: epochs done at the latest measurement; None before.
    """

    def __init__(self, measured: Evaluation, clock: PhaseClock, display: RunDisplay) -> None:
        """Measure as `measured` says; rows go to `clock`, figures to `display`."""
        self.target = (
            None if measured.least is None else StopAtTarget(measured.least, measured.in_a_row)
        )
        self.measured = measured
        self._clock = clock
        self._display = display
        self.latest: Mapping[str, Any] = {}
        self.final = False
        self.measured_after: int | None = None

    def state_dict(self) -> dict[str, Any]:
        latest = {
            "latest": dict(self.latest),
            "final": self.final,
            "measured_after": self.measured_after,
        }
        return {**latest, "target": None if self.target is None else asdict(self.target)}

    def on_load_checkpoint(
        self, trainer: L.Trainer, module: L.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Continue from a checkpoint."""
        state = checkpoint["callbacks"].get(self.state_key, {})
        self.latest = state.get("latest", {})
        self.measured_after = state.get("measured_after")
        self.final = state.get("final", False)
        target = state.get("target")
        if self.target is not None and target is not None:
            self.target.load_state_dict(target)

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Stop a resumed run that had already reached its target."""
        trainer.should_stop |= self.target is not None and self.target.reached_after is not None

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Measure, when a measurement is due."""
        if not self.is_due(trainer):
            return
        epoch, final = trainer.current_epoch, is_last(trainer)
        if self.target is not None or not final:
            self.evaluate(epoch, final=False)
        if self.target is not None and self.target.judge(epoch + 1, self.latest):
            final = trainer.should_stop = True
        if final:
            self.evaluate(epoch, final=True)
        numbers = {
            name: float(value)
            for name, value in self.latest.items()
            if isinstance(value, int | float)
        }
        pl_module.log_dict(
            {f"{self.measured.prefix}.{name}": value for name, value in numbers.items()}
        )

    def is_due(self, trainer: L.Trainer) -> bool:
        """Whether the epoch that ends now is measured."""
        every, done = self.measured.every_epochs, trainer.current_epoch + 1
        return every > 0 and (
            is_last(trainer) or (done > self.measured.begin_after and done % every == 0)
        )

    def finish(self, epochs: int, *, restored: bool) -> None:
        """Measure the result of a fit of `epochs` epochs, unless the last one was measured finally.

        So it is if the weights were restored, another callback ended the run, or a kill came before
        the summary.
        """
        measured = self.final and self.measured_after == epochs
        if self.measured.every_epochs and (restored or not measured):
            self.evaluate(
                epochs if restored else epochs - 1, final=True
            )  # a further epoch: repeating it replaces it

    def evaluate(self, epoch: int, *, final: bool) -> None:
        """Measure the network in its present state after `epoch`, and show the figures."""
        with self._clock.phase("evaluation", epoch):
            self.latest = on_writer(lambda: self.measured.measure(final))
        self.final, self.measured_after = final, epoch + 1
        self._display.update(epoch=epoch, figures=self.latest)


def is_last(trainer: L.Trainer) -> bool:
    """Whether the epoch that ends now is the last one."""
    return trainer.should_stop or trainer.current_epoch + 1 == trainer.max_epochs


def others_of(name: str, known: Sequence[str]) -> str:
    """What may have been meant by the unknown metric `name`: the nearest of those that are `known`,
    or all of them.
    """
    near = get_close_matches(name, known, 1, cutoff=0.8)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"


class EarlyStopping(L.Callback):
    """Watches `trainer.monitor`; with `trainer.patience` ends the run softly, and restores the best
    epoch's weights.

    Only epochs that logged the metric count. Better means strictly better: of equal epochs the
    first is the best, and NaN never is. The epoch is the one of `best.ckpt`, which the weights are
    read from. This callback comes after everything that logs.

    Attributes:
        best: the metric in the best epoch; None before there is one.
        best_epoch: its number.
        restored: whether the module has the weights of an earlier epoch than its last again.
        rare: prefixes of metrics that some epochs alone have.
        others_log: whether callbacks of the user may log further metrics, in any epoch.
    """

    def __init__(
        self,
        config: TrainerConfig,
        best: Path,
        rare: Collection[str] = (),
        *,
        others_log: bool = False,
        losses_compare: Callable[[], bool] = lambda: True,
    ) -> None:
        """Watch as `config` says; without its `patience` the run neither ends early nor changes its
        weights.

        Args:
            config: names the metric.
            best: the checkpoint of the best epoch.
            rare: see the attributes.
            others_log: see the attributes.
            losses_compare: whether `train.*` of the epoch compares with that of others; else it
                does not count.
        """
        self.monitor, self._mode, self._patience = (
            config.monitor,
            config.monitor_mode,
            config.patience,
        )
        self.best: float | None = None
        self.best_epoch: int | None = None
        self.restored = False
        self._waited = 0
        self._file = best
        self.rare, self.others_log, self._warned = rare, others_log, False
        self._losses_compare = losses_compare

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Stop a resumed run that had already ended early."""
        trainer.should_stop |= self.patience_exhausted

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Forget the metric; Lightning would keep it through epochs that do not measure it."""
        trainer.callback_metrics.pop(self.monitor, None)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Compare the epoch with the best one.

        Raises:
            UsageError: nothing has the metric's name, and no later epoch can have it.
        """
        metrics = trainer.callback_metrics
        if self.monitor not in metrics:
            if self.best is None:
                self._miss(sorted(map(str, metrics)), last=is_last(trainer))
            return
        if self.monitor.startswith("train.") and not self._losses_compare():
            return
        value, best = broadcast(float(metrics[self.monitor])), self.best  # all ranks must agree
        if not math.isnan(value) and (
            best is None or (value > best if self._mode == "max" else value < best)
        ):
            self.best, self.best_epoch, self._waited = value, trainer.current_epoch, 0
        else:
            self._waited += 1
        trainer.should_stop |= self.patience_exhausted

    def _miss(self, names: Sequence[str], *, last: bool) -> None:
        """Refuse a metric that is not one of `names` and that no later epoch can have; warn where
        one might.
        """
        prefix = self.monitor.partition(".")[0]
        known = any(name.startswith(f"{prefix}.") for name in names)
        message = f"trainer.monitor={self.monitor}: no metric of that name; {others_of(self.monitor, names)}"
        if self.others_log:
            if last or not self._warned:
                log.warning("%s%s", message, "" if last else "; a callback might log it later")
            self._warned = True
        elif known or last or prefix not in self.rare:
            raise UsageError(message)

    def on_fit_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Restore the best weights: parameters, running averages and statistics of batch norm."""
        if self._patience is not None and self.best_epoch not in (None, trainer.current_epoch - 1):
            if ranks().writes:  # the others only take part in training
                pl_module.load_state_dict(read_checkpoint(self._file)["state_dict"])
            self.restored = True
            log.info(
                "the run ends with the weights of epoch %s, the best by %s",
                self.best_epoch,
                self.monitor,
            )

    def summary(self) -> dict[str, Any]:
        """Entries for `summary.json`: the metric, its best value and epoch, and whether its weights
        are in use.
        """
        return {
            "monitor": self.monitor,
            "value": self.best,
            "epoch": self.best_epoch,
            "restored": self.restored,
        }

    def state_dict(self) -> dict[str, Any]:
        own = {"best": self.best, "best_epoch": self.best_epoch, "waited": self._waited}
        return {"monitor": [self.monitor, self._mode], **own}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a checkpoint.

        Raises:
            UsageError: it was written with another metric.
        """
        if state_dict["monitor"] != [self.monitor, self._mode]:
            was = " and trainer.monitor_mode=".join(state_dict["monitor"])
            raise UsageError(
                f"trainer.monitor: the run was started with trainer.monitor={was}; keep them to resume"
            )
        self.best, self.best_epoch = state_dict["best"], state_dict["best_epoch"]
        self._waited = state_dict["waited"]

    @property
    def patience_exhausted(self) -> bool:
        """Whether `trainer.patience` is used up."""
        return self._patience is not None and self._waited >= self._patience


class EpochCheckpoints(Checkpoint):
    """Writes `last.ckpt` after each epoch, and `best.ckpt` after each that `EarlyStopping` holds for
    the best, which is the same file then.

    It is a checkpoint for Lightning, which therefore calls it after all other callbacks.
    Lightning's own would keep a second account of the best epoch, and forget it in a folder that
    was moved.
    """

    def __init__(self, stopping: EarlyStopping, folder: Path, saved: Callable[[], None]) -> None:
        """Write them in `folder`, and then call `saved`."""
        self._stopping, self._folder, self._saved = stopping, folder, saved

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Write them, on all ranks together. The best one comes first: a resumed run needs it."""
        best, last = self._folder / BEST, self._folder / LAST
        is_best = self._stopping.best_epoch == trainer.current_epoch
        trainer.save_checkpoint(best if is_best else last)
        if trainer.is_global_zero:
            if is_best:
                link_atomic(best, last)
            self._saved()


def ending_of(
    trainer: L.Trainer,
    target: StopAtTarget | None,
    stopping: EarlyStopping,
    interrupted_after: int | None = None,
) -> dict[str, Any]:
    """Entries for `summary.json`: the reason `why`, the `epochs` done, the number `asked`, and the
    state of the target.

    `why` is `interrupted`, `target`, `epochs`, the setting of a budget, `trainer.patience`, or
    `stopped` by another callback, such as a pruner. `interrupted_after` is the number of epochs in
    the checkpoint that an interrupted run had begun with.
    """
    epochs = int(trainer.current_epoch)
    if interrupted_after is not None:
        why, epochs = "interrupted", max(epochs, interrupted_after)
    elif target is not None and target.reached_after is not None:
        why = "target"
    elif trainer.max_epochs is not None and 0 <= trainer.max_epochs <= epochs:
        why = "epochs"
    else:
        ended = [budget.setting for budget in budgets(trainer) if budget.ended]
        why = next(iter(ended), "trainer.patience" if stopping.patience_exhausted else "stopped")
    state = None if target is None else asdict(target)
    return {"why": why, "epochs": epochs, "asked": trainer.max_epochs, "target": state}


def resume_command(folder: Path, trainer: TrainerConfig) -> str:
    """The shell command that continues the run in `folder` to its last epoch."""
    limits = {"trainer.max_time": trainer.max_time, "trainer.max_flops": trainer.max_flops}
    lifted = [f"{name}=null" for name, value in limits.items() if value is not None]
    return "hexlit train " + shlex.join([f"resume={os.path.relpath(folder)}", *lifted])
