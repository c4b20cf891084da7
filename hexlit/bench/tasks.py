"""Any task in training: its own module on the first batches of its own data."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import lightning as L

from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.optimisation import BATCHES, Trainee
from hexlit.errors import UsageError
from hexlit.training.batches import batch_size
from hexlit.training.module import TrainedModule
from hexlit.training.phases import Display, PhaseClock
from hexlit.training.task import Session, Task


@contextmanager
def task_trainee(name: str, make: Callable[[], Task], display: Display) -> Iterator[Trainee]:
    """The task from `make`, new at every call; all of them are closed in the end."""
    with TemporaryDirectory() as folder, ExitStack() as stack:

        def made() -> Task:
            task = make()
            stack.callback(task.close)
            return task

        def set_up(profile: DeviceProfile) -> tuple[TrainedModule, list[Any]]:
            task = made()
            clock = PhaseClock(None, units=task.units)
            task.set_up(Session(Path(folder), profile, clock, display, first_epoch=0, trial=False, deadline=None))
            return task.module, first_batches(task, profile.train_batch)

        yield Trainee(name, made().unit, set_up)


def first_batches(task: Task, size: int) -> list[Any]:
    """The first whole batches of training data.

    Raises:
        UsageError: there is none.
    """
    data = task.data
    data.trainer = L.Trainer(logger=False, enable_checkpointing=False, accelerator="cpu")  # some ask it for the epoch
    data.prepare_data()
    data.setup("fit")
    result = list(islice((batch for batch in data.train_dataloader() if batch_size(batch) == size), BATCHES))
    if not result:
        raise UsageError(
            f"accelerator.train_batch={size}: the training data has no batch of as many {task.unit}; choose fewer"
        )
    return result
