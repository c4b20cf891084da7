"""Loggers of a run: always `metrics.csv`, and Weights & Biases or TensorBoard when configured."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import Logger, TensorBoardLogger
from lightning.pytorch.utilities import rank_zero_only

from hexlit.tracking.metric_names import EPOCH, MetricTable
from hexlit.tracking.opening import open_run
from hexlit.tracking.tracked_run import TrackedRun
from hexlit.training.config import LoggerConfig
from hexlit.training.metrics import MetricsCsv, flattened, plain


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
