"""Examples of a task as data frames: the data that a run reads, and what its network says of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.api.arguments import overrides
from hexlit.api.frames import pandas_here
from hexlit.commands.in_process import settings_of, untouched_process
from hexlit.commands.tasks import found, known_tasks
from hexlit.commands.train import whole_arguments
from hexlit.errors import UsageError
from hexlit.settings import check_word
from hexlit.tasks.run_config import RunConfig

if TYPE_CHECKING:
    import pandas as pd

SPLITS = ("train", "validation", "test")


def data(*arguments: str, **settings: Any) -> "pd.DataFrame":
    """The data that `hexlit.train` with the same settings would read: a row for each example, with its `split`.

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
    hexlit.errors.UsageError: task=hex: its data are games, see hexlit.games; tables have classify, forecast
    """
    pandas_here()
    chosen = settings_of("train", overrides(arguments, settings), RunConfig, prepare=whole_arguments)
    entry = known_tasks()[chosen.task]
    if entry.data_table is None:
        raise UsageError(
            f"task={chosen.task}: its data are games, see hexlit.games; tables have {_tasks_with_tables()}"
        )
    with untouched_process():
        return found(entry.data_table)(chosen).to_pandas()


def judged(run_settings: dict[str, Any], task: str, checkpoint: Path, split: str) -> "pd.DataFrame":
    """The examples of `split` as the network of `checkpoint` judges them; see `Run.judged`."""
    pandas_here()
    entry = known_tasks().get(task)
    if entry is None or entry.judged_table is None:
        raise UsageError(f"judged: a run of task {task} has no table of examples; {_tasks_with_tables()} have")
    check_word("split", split, SPLITS)
    from omegaconf import OmegaConf

    with untouched_process():
        schema = OmegaConf.structured(found(entry.settings))
        chosen = OmegaConf.to_object(OmegaConf.merge(schema, run_settings))
        return found(entry.judged_table)(chosen, checkpoint, split).to_pandas()


def _tasks_with_tables() -> str:
    return ", ".join(sorted(name for name, entry in known_tasks().items() if entry.data_table is not None))
