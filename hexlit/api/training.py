"""The parts of a run for a program of one's own: module, data module, and positions as tensors."""

import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.api.interface import overrides
from hexlit.commands.in_process import settings_of, untouched_process
from hexlit.commands.tasks import known_tasks
from hexlit.commands.train import whole_arguments
from hexlit.files import cache_folder
from hexlit.tasks.run_config import RunConfig

if TYPE_CHECKING:
    from lightning import LightningDataModule

    from hexlit.tasks.hex.epoch_data import PositionBatch
    from hexlit.training.module import TrainedModule
    from hexlit.training.task import Task


def module(*arguments: str, **settings: Any) -> "TrainedModule":
    """The `LightningModule` that `hexlit.train` with the same settings would train, with its first
    weights; a plain `lightning.Trainer` trains it, too.

    Args:
        arguments: overrides as on the command line, such as `"experiment=quick"`.
        settings: overrides with values of Python, such as `board=4`.

    Raises:
        UsageError: a mistake, in one line that says what would be right.

    >>> import hexlit
    >>> hexlit.module("experiment=quick", board=4, **{"net.channels": 8}).net.config.channels
    8
    """
    with tempfile.TemporaryDirectory(prefix="hexlit-") as folder:
        task = _task_of(arguments, settings, Path(folder))
        task.close()
        return task.module


def datamodule(
    *arguments: str, folder: str | Path | None = None, **settings: Any
) -> "LightningDataModule":
    """The `LightningDataModule` of `hexlit.train` with the same settings; that of self-play plays
    with the module that the Trainer trains, whenever it is asked for an epoch's data.

    Args:
        arguments: overrides as on the command line.
        folder: where self-play keeps its games, in `games`. None: in a temporary folder, which is
            removed with the data module.
        settings: overrides with values of Python.

    Raises:
        UsageError: a mistake, in one line that says what would be right.

    >>> import hexlit
    >>> data = hexlit.datamodule("experiment=quick", board=4)
    >>> data.close()
    """
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        return _task_of(arguments, settings, Path(folder)).data
    temporary = tempfile.TemporaryDirectory(prefix="hexlit-")
    data = _task_of(arguments, settings, Path(temporary.name)).data
    data.temporary = temporary  # type: ignore[attr-defined]  # removed with it
    return data


def _task_of(arguments: tuple[str, ...], settings: dict[str, Any], folder: Path) -> "Task":
    """The task of a run with these overrides, its parts made."""
    config = settings_of(
        "train", overrides(arguments, settings), RunConfig, prepare=whole_arguments
    )
    config.check_installed()
    entry = known_tasks()[config.task]
    warmup = entry.make_warmup(config)
    import torch
    from rich.console import Console

    from hexlit.accelerate.profile import build_profile
    from hexlit.reporting.progress import TrainingProgress
    from hexlit.training.phases import PhaseClock
    from hexlit.training.task import Session

    console = Console(file=io.StringIO())
    profile = build_profile(config.hardware, config.device_defaults)
    with untouched_process():
        warmup.start(profile)
        task: Task = entry.make_task(config, console, warmup)
        torch.manual_seed(config.seed)
        clock = PhaseClock(None, units=task.units)
        display = TrainingProgress(config.trainer.max_epochs, console=console)
        task.set_up(Session(folder, profile, clock, display, 0, False, None))
    return task


def positions(
    store: str | Path,
    board: int,
    *,
    swap: bool = False,
    targets: str = "searched",
    most: int = 100_000,
    seed: int = 0,
) -> "PositionBatch":
    """Positions of a store of games as tensors: `planes` int8 `[P, 5, n, n]`, `policy` `[P, A]` and
    `value` `[P]`, in the mover's frame.

    Args:
        store: the folder of the store; that of a run's games is `run.games`.
        board: rows of the board; games on others are left out.
        swap: whether the policy has the swap as its last action.
        targets: as `data.targets`.
        most: most positions; more are drawn from by `seed`, and stay in their order.
        seed: seed of the draw.

    Raises:
        UsageError: there is no store, or nothing in it on this board.

    >>> import tempfile, pathlib, hexlit
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "one.trmph").write_text("#3,b2a1b1a2b3")
    >>> _ = hexlit.games(folder / "one.trmph").store(folder / "store")
    >>> planes, policy, value, _ = hexlit.positions(folder / "store", 3)
    >>> tuple(planes.shape), tuple(policy.shape), value.tolist()
    ((5, 5, 3, 3), (5, 9), [1.0, -1.0, 1.0, -1.0, 1.0])
    """
    import numpy as np

    from hexlit.selfplay.dataset import GamePositions
    from hexlit.selfplay.flat_games import ReadOptions
    from hexlit.settings import check_word
    from hexlit.tasks.hex.epoch_data import as_tensors

    check_word("targets", targets, ("searched", "played"))
    options = ReadOptions(board, swap, targets=targets)
    games = GamePositions.open(Path(store), options, cache_folder() / "games")
    rows = np.sort(np.random.default_rng(seed).permutation(len(games))[:most])
    return as_tensors(games.batch(rows, np.zeros(len(rows), np.bool_)))
