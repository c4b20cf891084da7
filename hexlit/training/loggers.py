"""Loggers of a run: always `metrics.csv`, and Weights & Biases or TensorBoard when configured."""

import csv
import io
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import lightning as L
from lightning.pytorch.loggers import Logger, TensorBoardLogger
from lightning.pytorch.utilities import rank_zero_only

from hexlit.errors import UsageError
from hexlit.files import write_text_atomic
from hexlit.tracking.identity import Identity, read_identity
from hexlit.tracking.metric_names import EPOCH, MetricTable
from hexlit.tracking.opening import open_run
from hexlit.tracking.tracked_run import Files, TrackedRun
from hexlit.training.config import LoggerConfig
from hexlit.training.phases import PER_SECOND, Phase, PhaseClock
from hexlit.training.steps import PARTS, StepClock


class WandbRows(Logger):
    """A Lightning logger that writes one row an epoch, under grouped names, to a W&B run.

    The number of a row is its epoch, so a resumed run continues the rows of the interrupted one. Every row contains all
    axes: W&B draws a chart over any column of the row.

    Attributes:
        tracked: the run.
        names: the table of names.
    """

    def __init__(self, tracked: TrackedRun, names: MetricTable) -> None:
        super().__init__()
        self.tracked = tracked
        self.names = names
        self._waiting: dict[str, float] = {}
        self._defined: set[str] = set()
        tracked.define_axes(names.axes)

    @property
    def name(self) -> str:
        return self.tracked.identity.project

    @property
    def version(self) -> str:
        return self.tracked.identity.id

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        """Write nothing: the run has the whole configuration from its start."""

    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Add numbers, possibly nested, to the row of `metrics["epoch"]`; without one they wait for the next."""
        self._waiting |= {name: plain(value) for name, value in flattened(metrics) if value is not None}
        if EPOCH not in self._waiting:
            return
        if step is not None:
            self._waiting["step"] = step
        row = {self._named(name): value for name, value in self._waiting.items()}
        self._waiting = {}
        row[EPOCH] = epoch = int(row[EPOCH])
        self.tracked.log(row, epoch)

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
        super().log_metrics({self._names.grouped(name): value for name, value in flattened(metrics)}, step)


def build_loggers(
    config: LoggerConfig,
    folder: Path,
    run_name: str,
    names: MetricTable | None = None,
    *,
    facts: Mapping[str, Any] | None = None,
    tags: Sequence[str] = (),
    resumed: bool = False,
    trial: bool = False,
) -> list[Logger]:
    """Loggers of one run whose files lie in `folder`, `MetricsCsv` first; end them with `close_loggers`.

    `names` is the table of names, None for the one that all tasks share. `facts`, `tags` and `resumed` are for W&B, see
    `hexlit.tracking.opening.open_run`; only the process of rank 0 opens a run. A `trial` of a sweep keeps `run_name`.
    """
    names = names or MetricTable()
    loggers: list[Logger] = [MetricsCsv(folder)]
    if config.wandb.mode != "disabled" and _is_rank_zero():
        tracked = open_run(
            config.wandb,
            folder,
            name=run_name,
            kind="trial" if trial else "train",
            tags=tags,
            facts=facts,
            resumed=resumed,
            own_name=trial,
        )
        loggers += [] if tracked is None else [WandbRows(tracked, names)]
    if config.tensorboard:
        loggers.append(EventFiles(folder, names))
    return loggers


def tracked_run(loggers: Sequence[Any]) -> TrackedRun | None:
    """The W&B run among `loggers`, where there is one."""
    return next((logger.tracked for logger in loggers if isinstance(logger, WandbRows)), None)


def note_best(loggers: Sequence[Logger]) -> None:
    """Write the best and the last value of every metric that has a best into the summary of the W&B run.

    W&B itself sees only the rows of this session; `metrics.csv` also has those before a run was resumed.
    """
    rows = next((logger for logger in loggers if isinstance(logger, WandbRows)), None)
    table = next((logger for logger in loggers if isinstance(logger, MetricsCsv)), None)
    if rows is None or table is None:
        return
    found = {}
    for name, values in table.columns().items():
        best = rows.names.best(name)
        if best is not None and values:
            found[rows.names.grouped(name)] = {best: (max if best == "max" else min)(values), "last": values[-1]}
    rows.tracked.flush()  # otherwise its last row would come after this
    rows.tracked.note(summary=found)


def note_in_wandb(
    loggers: Sequence[Logger], *, config: Mapping[str, Any] | None = None, summary: Mapping[str, Any] | None = None
) -> None:
    """Write entries into the configuration and the summary of the W&B run, if there is one among `loggers`.

    Existing entries of the same name are replaced, the others stay. Call it before `close_loggers`.
    """
    tracked = tracked_run(loggers)
    if tracked is not None:
        tracked.note(config=config, summary=summary)


def close_loggers(loggers: Sequence[Logger], failed: bool = False) -> None:
    """Write pending data and end the W&B run, so that the next run of this process gets its own."""
    for logger in loggers:
        if isinstance(logger, WandbRows):
            logger.tracked.finish(failed)
        else:
            logger.finalize("failed" if failed else "success")


def _is_rank_zero() -> bool:
    return getattr(rank_zero_only, "rank", 0) == 0  # Lightning keeps the rank on the function


_LEAST_SECONDS_BETWEEN_WRITES = 10.0


class MetricsCsv(Logger):
    """A Lightning logger that keeps one row per epoch, and a whole file on disk at every instant.

    All metrics of an epoch share one row; the last value of each counts. Names are flattened with dots: `train/loss`
    and `{"train": {"loss": 1.0}}` are both `train.loss`. Columns stay in the order of their first appearance, `epoch`
    and `step` first; a value that was not logged is empty. Metrics logged without an epoch belong to the next epoch.
    Existing rows of the file are kept; see `resume`.

    A new metric of an epoch is on disk when the logging call returns. New values of a metric that the row already has
    (a loss logged every few steps) are written at most every ten seconds, so that logging stays cheap.
    """

    def __init__(self, folder: Path, filename: str = "metrics.csv") -> None:
        super().__init__()
        self.path = Path(folder) / filename
        self._columns: dict[str, None] = {"epoch": None, "step": None}  # a set that keeps its order
        self._rows: dict[int, dict[str, str]] = {}
        self._waiting: dict[str, str] = {}
        self._urgent = False
        self._changed = False
        self._written = -_LEAST_SECONDS_BETWEEN_WRITES
        if self.path.exists():
            self._read()

    @property
    def name(self) -> str:
        return "metrics"

    @property
    def version(self) -> str:
        return ""

    @property
    def save_dir(self) -> str:
        return str(self.path.parent)

    @property
    def root_dir(self) -> str:
        return self.save_dir

    @property
    def log_dir(self) -> str:
        return self.save_dir

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        """Write nothing: the run's folder holds the whole configuration in `.hydra/`."""

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Add numbers, possibly nested, to the row of `metrics["epoch"]`."""
        values = {name: _format(value) for name, value in flattened(metrics) if value is not None}
        epoch = values.pop("epoch", None)
        if epoch is None:
            self._waiting.update(values)
            return
        values = {**self._waiting, **values}
        self._waiting = {}
        row = self._rows.setdefault(int(float(epoch)), {"epoch": str(int(float(epoch)))})
        if step is not None:
            row["step"] = str(step)
        self._urgent |= any(name not in row for name in values)
        self._changed = True
        row.update(values)
        self._columns.update(dict.fromkeys(values))

    @rank_zero_only
    def save(self) -> None:
        """Bring the file up to date; Lightning calls it after every `log_metrics`."""
        now = time.monotonic()
        if self._changed and (self._urgent or now - self._written >= _LEAST_SECONDS_BETWEEN_WRITES):
            self._write()

    @rank_zero_only
    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        """Bring the file up to date, so that a run resumed from this checkpoint has every row before it."""
        if self._changed:
            self._write()

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """Write pending data at the end of the fit, whatever its `status`."""
        if self._waiting and self._rows:
            row = self._rows[max(self._rows)]
            row.update(self._waiting)
            self._columns.update(dict.fromkeys(self._waiting))
            self._waiting = {}
            self._changed = True
        if self._changed:
            self._write()

    @rank_zero_only
    def resume(self, epoch: int) -> None:
        """Drop the rows of `epoch` and later, which the run repeats; the columns stay."""
        self._rows = {number: row for number, row in self._rows.items() if number < epoch}
        self._waiting = {}
        self._write()

    def columns(self) -> dict[str, list[float]]:
        """Values of every metric over the epochs, without missing values and values that are no numbers."""
        return {
            name: [value for row in self._in_order() if isfinite(value := float(row.get(name) or "nan"))]
            for name in self._columns
        }

    def _in_order(self) -> list[dict[str, str]]:
        return [self._rows[epoch] for epoch in sorted(self._rows)]

    def _write(self) -> None:
        text = io.StringIO()
        table = csv.DictWriter(text, list(self._columns), restval="", lineterminator="\n")
        table.writeheader()
        table.writerows(self._in_order())
        write_text_atomic(self.path, text.getvalue())
        self._written = time.monotonic()
        self._urgent = self._changed = False

    def _read(self) -> None:
        with self.path.open(newline="", encoding="utf-8") as file:
            table = csv.DictReader(file)
            try:
                self._rows = {int(row["epoch"]): {k: v for k, v in row.items() if v} for row in table}
            except (KeyError, TypeError, ValueError, csv.Error) as error:
                raise UsageError(
                    f"{self.path} line {table.line_num}: not a table of metrics with a whole number as epoch; "
                    "move the file away or restore it"
                ) from error
            self._columns.update(dict.fromkeys(table.fieldnames or ()))


class LatestRow(L.Callback):
    """Keeps the metrics of the latest epoch in the checkpoint.

    Lightning logs an epoch after its checkpoint is written; a run killed between the two would lose that row. This
    callback comes after everything that logs, and before the checkpoints.
    """

    def __init__(self, table: MetricsCsv) -> None:
        """Missing parts of the row are put into `table`."""
        self._table = table
        self._row: dict[str, float] = {}

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Forget the previous epoch; Lightning would keep values that this one does not log."""
        trainer.logged_metrics.clear()

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Note the logged values of this epoch."""
        logged = {name: float(value) for name, value in trainer.logged_metrics.items()}
        self._row = logged | {"epoch": trainer.current_epoch, "step": trainer.global_step - 1}

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Put the checkpoint's row into the table, as far as it is missing there; even with no epoch left to do."""
        if self._row:
            step = int(self._row["step"])
            self._table.log_metrics({name: value for name, value in self._row.items() if name != "step"}, step)
            self._table.save()

    def state_dict(self) -> dict[str, Any]:
        return {"row": self._row}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._row = state_dict["row"]


def flattened(metrics: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Dotted name and value of every metric: `train/loss` and `{"train": {"loss": 1.0}}` are both `train.loss`."""
    pairs: list[tuple[str, Any]] = []
    for name, value in metrics.items():
        full = prefix + str(name).replace("/", ".")
        pairs += flattened(value, full + ".") if isinstance(value, Mapping) else [(full, value)]
    return pairs


def plain(value: Any) -> Any:
    """The number in a tensor or a NumPy scalar; other values unchanged."""
    return value.item() if hasattr(value, "item") else value


def _format(value: Any) -> str:
    number = plain(value)
    return f"{number:.9g}" if isinstance(number, float) else str(number)


class EpochTimes(L.Callback):
    """Logs `time.*`, `device.*` and `throughput.*` of every epoch; `metrics.csv` does not get them.

    It covers the phases that have ended by then: all but `saving` and the rest of `between`. This callback comes after
    the evaluation.
    """

    def __init__(self, clock: PhaseClock, steps: StepClock) -> None:
        """`clock` has timed the phases, `steps` the parts of the optimisation."""
        self._clock = clock
        self._steps = steps

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Log the times of the epoch."""
        charts = [logger for logger in trainer.loggers if not isinstance(logger, MetricsCsv)]
        if not charts:
            return
        row = dict([*self._phases(trainer.current_epoch), *self._parts(), (EPOCH, float(trainer.current_epoch))])
        for logger in charts:
            logger.log_metrics(row, trainer.global_step - 1)

    def _phases(self, epoch: int) -> Iterator[tuple[str, float]]:
        for name, row in self._clock.epoch_rows(epoch).items():
            yield f"time.{name}_seconds", row.wall_seconds
            if row.cpu_seconds is not None:
                yield f"time.{name}_cpu_seconds", row.cpu_seconds
            if row.device_utilisation is not None:
                yield f"device.{name}_utilisation", row.device_utilisation
            if row.peak_device_bytes is not None:
                yield f"device.{name}_peak_bytes", row.peak_device_bytes
            for unit in row.counts:
                if (rate := row.rate(unit)) is not None:
                    yield f"throughput.{name}_{unit}{PER_SECOND}", rate

    def _parts(self) -> Iterator[tuple[str, float]]:
        row = self._steps.latest
        for part in PARTS:
            for clock in ("seconds", "cpu_seconds"):
                if row.get(f"{part}_{clock}"):
                    yield f"time.steps_{part}_{clock}", float(row[f"{part}_{clock}"])
        for name in ("wall_seconds", "load_share"):
            if row.get(name):
                yield f"time.steps_{name}", float(row[name])
        if row.get("device_utilisation"):
            yield "device.steps_utilisation", float(row["device_utilisation"])


class RowsAreWhole:
    """Ends the row of an epoch once a phase of a later one begins, so that a kill does not lose it.

    It listens to the clock, since making data may take long before Lightning begins the next epoch.
    """

    def __init__(self, tracked: TrackedRun) -> None:
        """The rows of `tracked`."""
        self._tracked = tracked
        self._epoch: int | None = None

    def phase_started(self, name: str, epoch: int, goal: float | None) -> None:
        """End the row if this is another epoch."""
        if self._epoch is not None and epoch > self._epoch:
            self._tracked.flush()
        self._epoch = epoch

    def phase_advanced(self, phase: Phase) -> None:
        """Ignored."""

    def phase_ended(self, phase: Phase) -> None:
        """Ignored."""


CHECKPOINT = "checkpoint"


def checkpoint_files(path: Path) -> Files:
    """The checkpoint at `path` as an input of a run, under the name of the run that made it."""
    maker: Identity | None = None
    if path.parent.name == "checkpoints":
        maker = read_identity(path.parent.parent)
    name = f"{CHECKPOINT}-{path.stem}" if maker is None else maker.artifact(CHECKPOINT)
    return Files(name, CHECKPOINT, [path])


def without_doubles(files: Sequence[Files]) -> list[Files]:
    """`files` without repetitions: two players may share a checkpoint."""
    return list({(one.name, tuple(one.paths)): one for one in files}.values())
