"""`hexlit.sweep` and `hexlit.load`: trials side by side, and what a folder or a file holds."""

import signal
import subprocess
import sys
import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.api.boards import Picture
from hexlit.api.interface import console_for, frame, overrides
from hexlit.api.records import Match
from hexlit.api.runs import Model, Run
from hexlit.commands.application import INTERRUPTED, MISTAKE
from hexlit.commands.composing import is_sweep
from hexlit.commands.in_process import composed_with_hydra, quiet_imports
from hexlit.commands.report_files import MATCH, SWEEP, kind_of
from hexlit.commands.train import whole_arguments
from hexlit.errors import UsageError
from hexlit.lifeline import Child
from hexlit.reporting.html import notebook
from hexlit.reporting.sweep import sweep_page
from hexlit.tasks.hex.packaged import is_packaged
from hexlit.tuning.result_files import as_document
from hexlit.tuning.results import SweepResults, pruned_trials, read_results
from hexlit.tuning.space import quoted

if TYPE_CHECKING:
    import pandas as pd

LEADING = 10
"""Rows of the leaderboard that a notebook shows."""
GRACE = 60.0
"""Seconds for the trials of an interrupted sweep to end."""
ENDS = ("latest", "epochs", "seconds", "failure")
PRUNED = ("trial", "epochs", "best", "median", "compared", "saved_seconds", "why")


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
    def trials(self) -> "pd.DataFrame":
        """A row a trial, the best first.

        `rank`, `trial`, `state`, the objectives, the parameters, `latest` (the last value that it reported), `epochs`,
        `seconds`, and for those that failed the `failure`.
        """
        names = [objective.name for objective in self.results.objectives]
        return frame(
            {"rank": trial.rank, "trial": trial.number, "state": trial.state}
            | dict(zip(names, trial.values or [None] * len(names), strict=True))
            | dict(trial.params)
            | {name: getattr(trial, name) for name in ENDS}
            for trial in self.results.by_rank()
        )

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
    def pruned(self) -> "pd.DataFrame":
        """The trials that were given up: `trial`, `epochs`, `best`, `median`, `compared`, `why`, and parameters."""
        rows = pruned_trials(self.results)
        return frame(rows, None if rows else PRUNED)

    @property
    def saved_seconds(self) -> float:
        """Estimated time that pruning has saved: the rest of the pruned trials at their own pace."""
        return self.results.pruning["saved_seconds"]

    @cached_property
    def figures(self) -> dict[str, Picture]:
        """The figures of the report by name, such as `history`, `importances`, `slices` and `intermediate`."""
        from hexlit.reporting.figures import draw
        from hexlit.tuning.figures import figures_of

        return {name: Picture(draw(make, data).decode()) for name, _, data, make in figures_of(self.results)}

    def _repr_html_(self) -> str:
        return notebook(sweep_page(as_document(self.results), together=True), rows=LEADING)


def sweep(*arguments: str, quiet: bool = False, **settings: Any) -> Sweep:
    """Run a sweep as `hexlit train --multirun` does with the same settings; its trials are processes of their own.

    Args:
        arguments: overrides as on the command line, such as `"sweep=quick"`, `"hydra.sweeper.n_trials=12"`, or for a
            plain multirun `"seed=1,2,3"`.
        quiet: show nothing meanwhile.
        settings: overrides with values of Python, see `hexlit.train`.

    Raises:
        UsageError: a mistake, in one line that says what would be right; or no trial has succeeded.

    >>> import hexlit
    >>> hexlit.sweep("sweep=nonsense")
    Traceback (most recent call last):
    ...
    hexlit.errors.UsageError: sweep=nonsense: there is no such option; choose from classify, experiments, ...
    """
    argv = overrides(arguments, settings)
    folder = _folder_of(argv)
    own = [argument for argument in argv if not argument.startswith("hydra.sweep.dir=")]
    command = [sys.executable, "-m", "hexlit", "train", "--multirun", *own, f"hydra.sweep.dir={quoted(str(folder))}"]
    with console_for(quiet) as console, tempfile.TemporaryFile() as errors:
        with Child(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors) as process:
            try:
                for line in process.stdout or ():
                    console.file.write(line.decode(errors="replace"))
                    console.file.flush()
                process.wait()
            finally:
                process.end(signal.SIGTERM, GRACE)  # asks it to end its trials
        errors.seek(0)
        message = errors.read().decode(errors="replace").strip()
    if process.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    if process.returncode == MISTAKE:
        raise UsageError(message.rpartition("\n")[2].removeprefix("hexlit train: "))
    if process.returncode:
        raise RuntimeError(f"the sweep ended with code {process.returncode}: {message}")
    return Sweep(folder)


def _folder_of(argv: list[str]) -> Path:
    """The folder of the sweep, as the command would choose it."""
    single = [argument for argument in argv if not is_sweep(argument)]
    hydra = composed_with_hydra("train", single, prepare=whole_arguments).hydra
    folder, study = Path(str(hydra.sweep.dir)).absolute(), hydra.sweeper.get("study_name")
    named = study is None or any(argument.startswith("hydra.sweep.dir=") for argument in argv)
    return folder if named else folder.parent / str(study)


def load(where: str | Path) -> Run | Sweep | Match | Model:
    """The run, the sweep, the match or the trained model at `where`.

    Args:
        where: the folder of a run, a sweep or a match; a checkpoint; or a packaged network such as `hexlit:small`. A
            checkpoint in the folder of a run gives that run with this checkpoint. Any other gives a model alone.

    Raises:
        UsageError: there is nothing of these.

    >>> import hexlit
    >>> run = hexlit.load("runs/hex5/2026-01-31_12-00-00_abcd")  # doctest: +SKIP
    >>> run.search(hexlit.Board(5)).move                         # doctest: +SKIP
    'c3'
    >>> hexlit.load("no/such/folder")
    Traceback (most recent call last):
    ...
    hexlit.errors.UsageError: no/such/folder: there is no such file or folder
    """
    if is_packaged(where):
        return Model(where)
    path = Path(where)
    if path.is_file():
        folder = path.resolve().parent.parent
        return Run(folder, path) if (folder / ".hydra").is_dir() else Model(path)
    if not path.is_dir():
        raise UsageError(f"{path}: there is no such file or folder")
    kind = kind_of(path)
    return Match(path) if kind == MATCH else Sweep(path) if kind == SWEEP else Run(path)
