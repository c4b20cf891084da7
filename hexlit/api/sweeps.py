"""`hexlit.sweep`: trials side by side, and what they came to."""

import subprocess
import sys
import tempfile
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from hexlit.api.boards import Picture
from hexlit.api.interface import console_for, frame, overrides
from hexlit.api.runs import Run
from hexlit.commands.application import INTERRUPTED, MISTAKE
from hexlit.commands.composing import is_sweep
from hexlit.commands.in_process import composed_with_hydra, quiet_imports
from hexlit.commands.train import whole_arguments
from hexlit.errors import UsageError
from hexlit.tuning.results import SweepResults, pruned_trials, read_results
from hexlit.tuning.space import quoted

if TYPE_CHECKING:
    import pandas as pd

LEADING = 10
"""Rows of the leaderboard that a notebook shows."""
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
        rows = []
        names = [objective.name for objective in self.results.objectives]
        for trial in self.results.by_rank():
            values = dict(zip(names, trial.values or [None] * len(names), strict=True))
            facts = {"rank": trial.rank, "trial": trial.number, "state": trial.state, **values, **trial.params}
            rows.append({**facts, **{name: getattr(trial, name) for name in ENDS}})
        return frame(rows)

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
        return Run(next(path for path in (named, self.folder / named.name, self.folder / named) if path.is_dir()))

    @property
    def pruned(self) -> "pd.DataFrame":
        """The trials that were given up: `trial`, `epochs`, `best`, `median`, `compared`, `why`, and parameters."""
        rows = pruned_trials(self.results)
        return frame(rows) if rows else frame([], PRUNED)

    @property
    def saved_seconds(self) -> float:
        """Estimated time that pruning has saved: the rest of the pruned trials at their own pace."""
        return self.results.pruning["saved_seconds"]

    @cached_property
    def figures(self) -> dict[str, Picture]:
        """The figures of the report by name, such as `history`, `importances`, `slices` and `intermediate`."""
        from hexlit.reporting.figures import draw
        from hexlit.tuning.figures import figures_of

        return {one.name: Picture(draw(one.make, one.data).decode()) for one in figures_of(self.results)}

    def _repr_html_(self) -> str:
        from hexlit.reporting.html import notebook
        from hexlit.reporting.sweep import sweep_page
        from hexlit.tuning.result_files import as_document

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
    with console_for(quiet) as console, tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        code = _run(command, console.file, errors)
        errors.seek(0)
        message = errors.read().strip()
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if code == MISTAKE:
        raise UsageError(message.rpartition("\n")[2].removeprefix("hexlit train: "))
    if code:
        raise RuntimeError(f"the sweep ended with code {code}: {message}")
    return Sweep(folder)


def _folder_of(argv: list[str]) -> Path:
    """The folder of the sweep, as the command would choose it."""
    single = [argument for argument in argv if not is_sweep(argument)]
    config = composed_with_hydra("train", single, prepare=whole_arguments)
    folder = Path(str(config.hydra.sweep.dir)).absolute()
    named = any(argument.startswith("hydra.sweep.dir=") for argument in argv)
    study = config.hydra.sweeper.get("study_name")
    if config.sweep.resume and not named and study is None:
        raise UsageError("sweep.resume=true: name the sweep to continue with hydra.sweep.dir=FOLDER")
    return folder if named or study is None else folder.parent / str(study)


def _run(command: list[str], shown: IO[str], errors: IO[str]) -> int:
    """Run a sweep's process, what it says goes to `shown`; returns its exit code.

    Ctrl-C, and the interrupt of a notebook, go to the whole group of processes, so that it hears them itself.
    """
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                shown.write(line)
                shown.flush()
            return process.wait()
        except BaseException:
            process.terminate()  # asks it to end its trials, as does the interrupt
            process.wait()
            raise
