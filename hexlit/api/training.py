"""`hexlit.train`: a run of any task, in this process."""

from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from hexlit.api.arguments import overrides
from hexlit.api.runs import Run
from hexlit.api.status import console_for
from hexlit.commands.application import typed
from hexlit.commands.in_process import call
from hexlit.commands.train import refuse_sweep, refuse_without_effect, train_kept, whole_arguments
from hexlit.errors import UsageError
from hexlit.tasks.run_config import RunConfig


def train(*arguments: str, quiet: bool = False, **settings: Any) -> Run:
    """Train as `hexlit train` does with the same settings, in this process, and return the run.

    The run's folder is the one that the command would make, below `runs` in the working folder. The process stays as it
    was: environment, warning filters, random generators and threads.

    Args:
        arguments: overrides as on the command line, such as `"trainer.max_epochs=10"`.
        quiet: show nothing meanwhile.
        settings: overrides with values of Python, such as `task="forecast"`, `board=4` or
            `**{"trainer.max_epochs": 10}`. A run or a sweep stands for its folder: `resume=run`, `best=sweep`.

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
    for flag in argv:
        if flag.startswith("-"):
            raise UsageError(f"{flag}: hexlit.train takes settings; sweeps and multiruns are for hexlit.sweep")
    with console_for(quiet) as console:

        def task(config: DictConfig) -> Path:
            chosen = typed(config, RunConfig)
            refuse_sweep(chosen, "hexlit.sweep")
            refuse_without_effect(chosen)
            from hydra.core.hydra_config import HydraConfig

            here = Path(HydraConfig.get().runtime.output_dir)
            train_kept(config, chosen, here, console=console)
            return here

        return Run(call(task, "train", argv, prepare=whole_arguments))
