"""Runs, sweeps and models: training, data frames of figures and examples, predictions, searches."""

import io
import signal
import sys
from functools import cached_property
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT
from typing import Any

from omegaconf import OmegaConf

from hexlit.api.boards import Picture
from hexlit.api.interface import DataFrame, console_for, frame, overrides, pandas_here
from hexlit.api.searches import Model
from hexlit.cluster.lifeline import Child
from hexlit.commands.application import INTERRUPTED, MISTAKE
from hexlit.commands.composing import is_sweep
from hexlit.commands.in_process import (
    called,
    composed_with_hydra,
    quiet_imports,
    settings_of,
    untouched_process,
)
from hexlit.commands.tasks import part_of
from hexlit.commands.train import refuse_sweep, refuse_unfit, train_in_folder, whole_arguments
from hexlit.errors import UsageError
from hexlit.files import read_json
from hexlit.reporting.html import notebook
from hexlit.reporting.sweep import sweep_page
from hexlit.settings import check_word
from hexlit.tasks.run_config import RunConfig
from hexlit.tuning.results import SweepResults, as_document, leaderboard, read_results
from hexlit.tuning.space import quoted

SPLITS = ("train", "validation", "test")
LEADING = 10
"""Rows of the leaderboard that a notebook shows."""
GRACE = 60.0
"""Seconds for the trials of an interrupted sweep to end."""


def data(*arguments: str, **settings: Any) -> DataFrame:
    """The data that `hexlit.train` with the same settings would read: a row for each example, with
    its `split`.

    The other columns are named as in the source, so `predict` of a trained model takes the table.

    Args:
        arguments: overrides as on the command line, such as `"data.path=mine.csv"`.
        settings: overrides with values of Python, such as `task="forecast"`.

    Raises:
        UsageError: a mistake, in one line; or the task makes its own data.

    >>> import hexlit
    >>> hexlit.data(task="hex")
    Traceback (most recent call last):
    ...
    hexlit.errors.UsageError: task=hex: has no data_table; the tasks with one are classify, forecast
    """
    pandas_here()
    chosen = settings_of(
        "train", overrides(arguments, settings), RunConfig, prepare=whole_arguments
    )
    table_of = part_of(chosen.task, "data_table")
    with untouched_process():
        return table_of(chosen).to_pandas()


class Run(Model):
    """A run: its settings, its figures as data frames, and its model.

    Attributes:
        folder: the folder of the run.
        checkpoint: the checkpoint of its model, the best one unless another was named.
        task: `hex`, `forecast`, `classify` or another.
    """

    def __init__(self, folder: str | Path, checkpoint: str | Path | None = None) -> None:
        """The run in `folder`, with the model of `checkpoint`, None for its best one.

        Raises:
            UsageError: there is no checkpoint yet.
        """
        self.folder = Path(folder)
        super().__init__(self.folder if checkpoint is None else checkpoint)

    @cached_property
    def config(self) -> dict[str, Any]:
        """All settings of the run, as plain values."""
        result: Any = OmegaConf.to_container(
            OmegaConf.load(self.folder / ".hydra" / "config.yaml"), resolve=True
        )
        return dict(result)

    @property
    def summary(self) -> dict[str, Any]:
        """The content of `summary.json`: the results of a run that has ended; empty before."""
        return read_json(self.folder / "summary.json")

    @property
    def metrics(self) -> DataFrame:
        """Losses and figures, a row an epoch; empty cells where something was not measured."""
        return self._table_of("metrics")

    @property
    def phases(self) -> DataFrame:
        """Time and work of each phase of each epoch."""
        return self._table_of("phases")

    @property
    def steps(self) -> DataFrame:
        """Time of each part of the training steps, a row an epoch."""
        return self._table_of("steps")

    @property
    def resources(self) -> DataFrame:
        """Processors, memory and device, a row a second."""
        return self._table_of("resources")

    def _table_of(self, name: str) -> DataFrame:
        path = self.folder / f"{name}.csv"
        return pandas_here().read_csv(path) if path.is_file() else frame([])

    def judged(self, split: str = "test") -> DataFrame:
        """Every example of `split` as the network judges it, next to the truth; of `forecast` and
        `classify`.

        A text has `truth`, `predicted`, `confidence` and the probability `p_CLASS` of each class. A
        forecast has `steps_ahead`, `target`, `truth`, `model`, and the references `persistence`,
        `seasonal` and `ridge`.

        Args:
            split: train, validation or test.

        Raises:
            UsageError: the task has no such table, or the data of the run cannot be read any more.
        """
        pandas_here()
        table_of, schema = part_of(self.task, "judged_table"), part_of(self.task, "settings")
        check_word("split", split, SPLITS)
        with untouched_process():
            settings = OmegaConf.to_object(
                OmegaConf.merge(OmegaConf.structured(schema), self.config)
            )
            return table_of(settings, self.checkpoint, split).to_pandas()

    @property
    def games(self) -> Path:
        """The store of the games that a run of Hex played; see `hexlit.games`."""
        return self.folder / "games"

    def _repr_html_(self) -> str:
        from hexlit.commands.report_files import run_report
        from hexlit.reporting.run_files import read_run

        return notebook(run_report(read_run(self.folder), self.folder))


def train(*arguments: str, quiet: bool = False, **settings: Any) -> Run:
    """Train as `hexlit train` does with the same settings, in this process, and return the run.

    The run's folder is the one that the command would make, below `runs` in the working folder. The
    process stays as it was: environment, warning filters, random generators and threads.

    Args:
        arguments: overrides as on the command line, such as `"trainer.max_epochs=10"`.
        quiet: show nothing meanwhile.
        settings: overrides with values of Python, such as `task="forecast"`, `board=4` or
            `**{"trainer.max_epochs": 10}`. A run or a sweep stands for its folder: `resume=run`,
            `best=sweep`.

    Raises:
        UsageError: a mistake, in one line that says what would be right.

    >>> import hexlit
    >>> run = hexlit.train("trainer.max_epochs=10", board=4)  # doctest: +SKIP
    >>> run.metrics["train.loss"].plot()                      # doctest: +SKIP
    >>> hexlit.train("board=99")
    Traceback (most recent call last):
    ...
    hexlit.errors.UsageError: board=99: must be from 2 to 19
    """
    argv = overrides(arguments, settings)
    with (
        console_for(quiet) as console,
        called("train", RunConfig, argv, prepare=whole_arguments) as (chosen, command),
    ):
        refuse_sweep(chosen, command, "hexlit.sweep")
        refuse_unfit(chosen, command)
        train_in_folder(chosen, command, console=console)
        return Run(command.folder)


class Sweep:
    """A sweep, read from its folder; a notebook shows the leaderboard.

    Attributes:
        folder: the folder of the sweep.
        results: everything that is known of it.
    """

    def __init__(self, folder: str | Path) -> None:
        """The sweep in `folder`, as it is now; raises `UsageError` where there is none."""
        self.folder = Path(folder)
        with quiet_imports():
            self.results: SweepResults = read_results(self.folder)

    @property
    def trials(self) -> DataFrame:
        """A row a trial, the best first, with the columns of `leaderboard.csv`.

        `rank`, `trial`, `state`, the objectives, `latest` (the last value that it reported),
        `epochs`, `seconds`, for those that failed the `failure`, and the parameters, among others.
        """
        return pandas_here().read_csv(io.StringIO(leaderboard(self.results)))

    @property
    def best(self) -> dict[str, Any]:
        """The parameters of the best trial; empty where no trial has succeeded."""
        return {} if self.results.best is None else dict(self.results.best.params)

    @cached_property
    def best_run(self) -> Run:
        """The run of the best trial; raises `UsageError` where no trial has succeeded."""
        best = self.results.best
        if best is None or best.folder is None:
            raise UsageError(f"{self.folder}: no trial of the sweep has succeeded")
        named = Path(best.folder)
        return Run(named if named.is_dir() else self.folder / named.name)

    @property
    def saved_seconds(self) -> float:
        """Estimated time that pruning has saved: the rest of the pruned trials at their own
        pace.
        """
        return self.results.pruning["saved_seconds"]

    @cached_property
    def figures(self) -> dict[str, Picture]:
        """The figures of the report by name, such as `history`, `importances`, `slices` and
        `intermediate`.
        """
        from hexlit.reporting.figures import draw
        from hexlit.tuning.figures import figures_of

        return {
            name: Picture(draw(make, data).decode())
            for name, _, data, make in figures_of(self.results)
        }

    def _repr_html_(self) -> str:
        return notebook(sweep_page(as_document(self.results), together=True), rows=LEADING)


def sweep(*arguments: str, quiet: bool = False, **settings: Any) -> Sweep:
    """Run a sweep as `hexlit train --multirun` does with the same settings; its trials are
    processes of their own.

    Args:
        arguments: overrides as on the command line, such as `"sweep=quick"`,
            `"hydra.sweeper.n_trials=12"`.
        quiet: show nothing meanwhile.
        settings: overrides with values of Python, see `hexlit.train`.

    Raises:
        UsageError: a mistake, in one line that says what would be right; or no trial has succeeded.

    >>> import hexlit
    >>> hexlit.sweep("sweep=nonsense")
    Traceback (most recent call last):
    ...
    hexlit.errors.UsageError: sweep=nonsense: there is no such option; choose from classify,
    experiments, ...
    """
    argv = overrides(arguments, settings)
    folder = _folder_of(argv)
    command = [
        sys.executable,
        "-m",
        "hexlit",
        "train",
        "--multirun",
        *argv,
        f"hydra.sweep.dir={quoted(str(folder))}",
    ]
    line = ""
    with (
        console_for(quiet) as console,
        Child(command, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT) as process,
    ):
        try:
            for output in process.stdout or ():
                line = output.decode(errors="replace")
                print(line, file=console.file, end="", flush=True)
            process.wait()
        finally:
            process.end(signal.SIGTERM, GRACE)  # asks it to end its trials
    if process.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    if process.returncode:
        message = line.strip().removeprefix("hexlit train: ")
        raise (
            UsageError(message)
            if process.returncode == MISTAKE
            else RuntimeError(f"{process.how}: {message}")
        )
    return Sweep(folder)


def _folder_of(argv: list[str]) -> Path:
    """The folder of the sweep, as the command would choose it."""
    single = [argument for argument in argv if not is_sweep(argument)]
    hydra = composed_with_hydra("train", single, prepare=whole_arguments).hydra
    folder = Path(str(hydra.sweep.dir)).absolute()
    if "study_name" not in hydra.sweeper:
        raise UsageError("hydra/sweeper=basic: a sweep has a study; add sweep=NAME")
    study = hydra.sweeper.study_name
    is_named = any(argument.startswith("hydra.sweep.dir=") for argument in argv)
    return folder if is_named or study is None else folder.parent / str(study)
