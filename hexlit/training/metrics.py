"""`metrics.csv`: one row per epoch with everything that was logged in it."""

import csv
import io
import time
from argparse import Namespace
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import lightning as L
from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities import rank_zero_only

from hexlit.errors import UsageError
from hexlit.files import write_text_atomic

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
