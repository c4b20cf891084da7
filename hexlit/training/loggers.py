"""Loggers of a run: always `metrics.csv`, and Weights & Biases or TensorBoard when configured."""

import math
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import Checkpoint
from lightning.pytorch.loggers import Logger, TensorBoardLogger

from hexlit.accelerate.ranks import ranks
from hexlit.tracking.identity import read_identity
from hexlit.tracking.metric_names import EPOCH, MetricTable
from hexlit.tracking.opening import open_run
from hexlit.tracking.tracked_run import Files, TrackedRun
from hexlit.training.config import LoggerConfig
from hexlit.training.phases import Phase
from hexlit.training.tables import EpochTable


class MetricsCsv(Checkpoint):
    """Writes `metrics.csv`: everything that an epoch has logged, as one row.

    It is a checkpoint for Lightning, which therefore calls it after all that logs. It comes before
    the checkpoints of the weights, so a run resumed from one has every row before it. Slashes in
    names become dots: `train/loss` is `train.loss`. Columns stay in the order of their first
    appearance, `epoch` and `step` first; a value that was not logged is empty. Existing rows of the
    file are kept; see `resume`.
    """

    def __init__(self, folder: Path) -> None:
        self.table = EpochTable(folder / "metrics.csv")

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Forget the previous epoch; Lightning would keep values that this one does not log."""
        trainer.logged_metrics.clear()

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Write the row."""
        if trainer.is_global_zero:
            logged = {dotted(name): float(value) for name, value in trainer.logged_metrics.items()}
            self.table.append(
                {"epoch": trainer.current_epoch, "step": trainer.global_step - 1} | logged
            )

    def validation(self, epoch: int | None = None) -> dict[str, float]:
        """The logged `val.*` of `epoch`, None for the latest with some; empty without validation."""
        for row in reversed(self.table.rows):
            measured = {}
            for name, value in row.items():
                if name.startswith("val.") and value != "":
                    measured[name.removeprefix("val.")] = float(value)
            if measured and epoch in (None, row["epoch"]):
                return measured
        return {}

    def columns(self) -> dict[str, list[float]]:
        """Values of every metric over the epochs, without missing values and values that are no
        numbers.
        """
        columns: dict[str, list[float]] = {}
        for row in self.table.rows:
            for name, value in row.items():
                if value != "" and math.isfinite(float(value)):
                    columns.setdefault(name, []).append(float(value))
        return columns


class WandbRows(Logger):
    """A Lightning logger that writes one row an epoch, under grouped names, to a W&B run.

    The number of a row is its epoch, so a resumed run continues the rows of the interrupted one.
    Every row contains all axes: W&B draws a chart over any column of the row. As a listener of the
    clock it ends a row once a phase of a later epoch begins, so that a kill does not lose it:
    making data may take long before Lightning begins the next epoch.

    Attributes:
        tracked: the run.
        names: the table of names.
    """

    def __init__(self, tracked: TrackedRun, names: MetricTable) -> None:
        super().__init__()
        self.tracked = tracked
        self.names = names
        self._defined: set[str] = set()
        self._epoch: int | None = None
        tracked.define_axes(names.axes)

    @property
    def name(self) -> str:
        return self.tracked.identity.project

    @property
    def version(self) -> str:
        return self.tracked.identity.id

    def log_hyperparams(
        self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any
    ) -> None:
        """Write nothing: the run has the whole configuration from its start."""

    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Add numbers to the row of `metrics["epoch"]`."""
        row: dict[str, Any] = {}
        for name, value in metrics.items():
            row[self._named(dotted(name))] = value
        epoch = int(row[EPOCH])
        row[EPOCH] = epoch
        row[self._named("step")] = step
        self.tracked.log(row, epoch)

    def phase_started(self, phase: Phase) -> None:
        if self._epoch is not None and phase.epoch > self._epoch:
            self.tracked.flush()
        self._epoch = phase.epoch

    def phase_advanced(self, phase: Phase) -> None:
        """Ignored."""

    phase_ended = phase_advanced

    def note_best(self, columns: Mapping[str, Sequence[float]]) -> None:
        """Write the best and the last value of every metric that has a best into the summary of the
        run.

        `columns` have the values of all sessions; W&B itself sees only the rows of this one.
        """
        summary = {}
        for name, values in columns.items():
            best = self.names.best(name)
            if best is not None:
                extreme = max(values) if best == "max" else min(values)
                summary[self.names.grouped(name)] = {best: extreme, "last": values[-1]}
        self.tracked.flush()  # otherwise its last row would come after this
        self.tracked.note(summary=summary)

    def _named(self, name: str) -> str:
        grouped, best = self.names.grouped(name), self.names.best(name)
        if best is not None and grouped not in self._defined:
            self._defined.add(grouped)
            self.tracked.define_best(grouped, best)
        return grouped


class EventFiles(TensorBoardLogger):
    """TensorBoard event files under grouped names."""

    def __init__(self, folder: Path, names: MetricTable) -> None:
        super().__init__(save_dir=folder, name="", version="tensorboard")
        self._names = names

    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Rename, and log as Lightning does."""
        super().log_metrics(
            {self._names.grouped(dotted(name)): value for name, value in metrics.items()}, step
        )


def build_loggers(
    config: LoggerConfig, folder: Path, names: MetricTable, **description: Any
) -> list[Logger]:
    """Loggers of one run whose files lie in `folder`; end them with `close_loggers`.

    `names` is the table of names, `description` that of the run on W&B; see `open_run`. Only rank 0
    opens a run.
    """
    wanted = config.wandb.mode != "disabled" and ranks().writes
    tracked = open_run(config.wandb, folder, **description) if wanted else None
    loggers: list[Logger] = [] if tracked is None else [WandbRows(tracked, names)]
    return [*loggers, EventFiles(folder, names)] if config.tensorboard else loggers


def wandb_rows(loggers: Sequence[Any]) -> WandbRows | None:
    """The logger of W&B, where there is one."""
    return next((logger for logger in loggers if isinstance(logger, WandbRows)), None)


def close_loggers(loggers: Sequence[Logger], failed: bool = False) -> None:
    """Write pending data and end the W&B run, so that the next run of this process gets its own."""
    for logger in loggers:
        if isinstance(logger, WandbRows):
            logger.tracked.finish(failed)
        else:
            logger.finalize("failed" if failed else "success")


def dotted(name: str) -> str:
    """The name of a metric in tables: `train/loss` is `train.loss`."""
    return name.replace("/", ".")


CHECKPOINT = "checkpoint"


def checkpoint_files(path: Path) -> Files:
    """The checkpoint at `path` as an input of a run, under the name of the run that made it."""
    maker = read_identity(path.parent.parent) if path.parent.name == "checkpoints" else None
    name = f"{CHECKPOINT}-{path.stem}" if maker is None else maker.artifact(CHECKPOINT)
    return Files(name, CHECKPOINT, [path])
