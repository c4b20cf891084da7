"""What a run may take, of time and of operations: how much it has taken, and how far what is left will reach."""

import math
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from statistics import fmean
from typing import Any

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


class Budget(L.Callback):
    """Ends training before an epoch that would not fit into what is left, and says how many will have fitted."""

    RECENT = 8
    """Latest epochs whose mean is the pace of the run."""

    @abstractmethod
    def share_spent(self) -> float:
        """Share of the budget that has been spent, 0 to 1."""

    @abstractmethod
    def epochs_in_budget(self) -> float:
        """Epochs that the run will have done in the end, at its pace; infinite where nothing speaks against all."""


class TimeBudget(Budget):
    """A budget of time (the last epoch is the measure of the next).

    Epochs vary, and the first ones of a session are slow while caches fill, so that `epochs_in_budget` is in no hurry:
    the first epoch never counts; until `EARLY` of the time has gone with `LEAST` epochs after the first, or `LATE` of
    it with one, all epochs are expected to fit; and after that as long as they would at the pace of the faster half of
    the latest ones. Before `EARLY` a cosine has hardly begun to fall, so a run that is really short of time loses
    little by the wait, and the less time is left, the less the pace matters: its rate falls to the end.
    """

    EARLY, LATE, LEAST = 0.25, 0.5, 3

    def __init__(self, deadline: float) -> None:
        """`deadline` is a time on `time.monotonic()`."""
        self._deadline = deadline
        self._epochs = math.inf
        self._begun = self._latest = time.monotonic()
        self._seconds: deque[float] = deque(maxlen=self.RECENT)
        self._compiled = False

    def share_spent(self) -> float:
        return (time.monotonic() - self._begun) / max(1e-9, self._deadline - self._begun)

    def epochs_in_budget(self) -> float:
        return self._epochs

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Stop where less is left than this epoch took. Comes before the evaluation, which then is the final one."""
        now = time.monotonic()
        took, self._latest = now - self._latest, now
        if now + took > self._deadline:
            trainer.should_stop = True
        if self._compiled:
            self._seconds.append(took)
            self._epochs = self._expected(trainer, now)
        self._compiled = True  # in the first epoch, which says nothing about the others

    def _expected(self, trainer: L.Trainer, now: float) -> float:
        gone = (now - self._begun) / max(1e-9, self._deadline - self._begun)
        if gone < (self.EARLY if len(self._seconds) >= self.LEAST else self.LATE):
            return math.inf
        left = max(0.0, self._deadline - now)
        done = trainer.current_epoch + 1
        faster_half = sorted(self._seconds)[: max(1, len(self._seconds) // 2)]
        if left >= (_epochs_asked(trainer) - done) * fmean(faster_half):
            return math.inf
        return done + left / max(1e-9, fmean(self._seconds))


class FlopBudget(Budget):
    """A budget of floating-point operations (the last epoch is the measure of the next). No clock is involved.

    Epochs cost about the same from the first one on, so that their mean is believed at once.
    """

    def __init__(self, most: float, flops: Callable[[], float]) -> None:
        """At most `most` operations; `flops()` says how many the run has done by now."""
        self._most = most
        self._flops = flops
        self._ends: deque[float] = deque([0.0], maxlen=self.RECENT + 1)
        self._done = 0

    def share_spent(self) -> float:
        return float(self._flops()) / self._most

    def epochs_in_budget(self) -> float:
        if not self._done:
            return math.inf
        pace = (self._ends[-1] - self._ends[0]) / (len(self._ends) - 1)
        return self._done + max(0.0, self._most - self._ends[-1]) / pace if pace > 0 else math.inf

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Stop a resumed run that has used up its budget."""
        self._stop_in_time(trainer)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Stop where less is left than this epoch took. Comes before the evaluation, which then is the final one."""
        self._ends.append(float(self._flops()))
        self._done = trainer.current_epoch + 1
        self._stop_in_time(trainer)

    def state_dict(self) -> dict[str, Any]:
        return {"ends": list(self._ends), "done": self._done}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._ends = deque(state_dict["ends"], maxlen=self.RECENT + 1)
        self._done = state_dict["done"]

    def _stop_in_time(self, trainer: L.Trainer) -> None:
        if self._done and 2 * self._ends[-1] - self._ends[-2] > self._most:
            trainer.should_stop = True


def spent(trainer: L.Trainer) -> float:
    """Share of its budgets that a run has spent, 0 to 1: of the one that is spent furthest, or of its epochs."""
    shares = [budget.share_spent() for budget in trainer.callbacks if isinstance(budget, Budget)]  # type: ignore[attr-defined]
    return min(1.0, max(shares, default=(trainer.current_epoch + 1) / _epochs_asked(trainer)))


def progress(trainer: L.Trainer) -> float:
    """How far a run is, 0 to 1: the share of its epochs that are done, or of those that its budgets will allow."""
    epochs = _epochs_asked(trainer)
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        if isinstance(callback, Budget):
            epochs = min(epochs, callback.epochs_in_budget())
    return min(1.0, trainer.current_epoch / epochs)


def _epochs_asked(trainer: L.Trainer) -> float:
    limit = trainer.max_epochs
    return float(limit) if limit and limit > 0 else math.inf
