"""The time of a run: what it has taken, and how far what is left will reach."""

import math
import time
from collections import deque

import lightning as L


class WallTime(L.Callback):
    """The wall time of a run over all its sessions, as far as checkpoints reach."""

    def __init__(self, started: float) -> None:
        """This session began at `started` on `time.monotonic()`."""
        self._started = started
        self._earlier = 0.0

    @property
    def seconds(self) -> float:
        """Seconds of the earlier sessions and of this one."""
        return self._earlier + time.monotonic() - self._started

    def state_dict(self) -> dict[str, float]:
        return {"seconds": self.seconds}

    def load_state_dict(self, state_dict: dict[str, float]) -> None:
        self._earlier = state_dict["seconds"]


class TimeBudget(L.Callback):
    """Ends training before an epoch that would not fit into the time left (the last epoch is the measure)."""

    RECENT = 8
    """Latest epochs whose mean is the pace of the run."""

    def __init__(self, deadline: float) -> None:
        """`deadline` is a time on `time.monotonic()`."""
        self._deadline = deadline
        self._epochs = math.inf
        self._ends: deque[float] = deque([time.monotonic()], maxlen=self.RECENT + 1)
        self._compiled = False

    def epochs_in_time(self) -> float:
        """Epochs that the run will have done when its time is up, at its pace; infinite before that is known."""
        return self._epochs

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Stop where less is left than this epoch took. Comes before the evaluation, which then is the final one."""
        now = time.monotonic()
        if now + (now - self._ends[-1]) > self._deadline:
            trainer.should_stop = True
        if not self._compiled:  # the first epoch, which says nothing about the others
            self._compiled = True
            self._ends.clear()
        self._ends.append(now)
        if len(self._ends) > 1:
            pace = (now - self._ends[0]) / (len(self._ends) - 1)
            self._epochs = trainer.current_epoch + 1 + max(0.0, self._deadline - now) / pace


def progress(trainer: L.Trainer) -> float:
    """How far a run is, 0 to 1: the share of its epochs that are done, or of those that its time will allow."""
    limit = trainer.max_epochs
    epochs = float(limit) if limit and limit > 0 else math.inf
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        if isinstance(callback, TimeBudget):
            epochs = min(epochs, callback.epochs_in_time())
    return min(1.0, trainer.current_epoch / epochs)
