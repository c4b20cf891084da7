"""The budgets of a run, in time and in operations: how much is spent, and how far the rest will reach."""

import logging
import math
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from statistics import fmean
from typing import Any

import lightning as L

from hexlit.accelerate.collectives import broadcast
from hexlit.training.batches import whole_size
from hexlit.training.phases import PhaseClock

log = logging.getLogger(__name__)


class Budget(L.Callback):
    """Ends training before an epoch that would exceed the rest of the budget, and predicts how many epochs will fit.

    Attributes:
        setting: key of the configuration that sets the budget.
        ended: whether the budget has ended the run.
    """

    RECENT = 8
    """Number of latest epochs whose mean is the pace of the run."""

    setting = ""
    ended = False

    @abstractmethod
    def share_spent(self) -> float:
        """Share of the budget that has been spent, 0 to 1."""

    @abstractmethod
    def epochs_in_budget(self) -> float:
        """Total number of epochs that the run will do at its pace; infinite while all are expected to fit."""

    def end(self, trainer: L.Trainer) -> None:
        """Let this epoch be the last."""
        self.ended = trainer.should_stop = True


class TimeBudget(Budget):
    """A budget of time. The last epoch is the measure of the next.

    Compiling takes part of the time, but belongs to no pace. The first epoch of a session belongs to none either: it
    fills caches. While no other epoch has been done, the next one is expected to take half as long as the first. A slow
    first epoch therefore never ends a run with a third of the time after compiling unused.

    Epochs vary in length, so `epochs_in_budget` decides late. It expects all epochs to fit until `EARLY` of the time
    has passed with `LEAST` epochs after the first, or `LATE` of it with one. Later it still expects them to fit while
    they would at the pace of the faster half of the latest ones. A cosine has hardly begun to fall before `EARLY`, so
    the wait costs a run with too little time almost nothing. The less time is left, the less the pace matters: the
    rate of the cosine falls to the end.

    A run that will not finish all its epochs says so once, after `LEAST` epochs at its pace.
    """

    EARLY, LATE, LEAST = 0.25, 0.5, 3
    FIRST = 0.5
    """Share of a session's first epoch that its second one is expected to take."""

    setting = "trainer.max_time"

    def __init__(self, deadline: float, compiling: Callable[[], float] = lambda: 0.0) -> None:
        """`deadline` is a time on `time.monotonic()`; `compiling()` gives the seconds of compiling so far."""
        self._deadline = deadline
        self._compiling = compiling
        self._epochs = math.inf
        self._seconds: deque[float] = deque(maxlen=self.RECENT)
        self._is_first = True
        self._told = False
        self._begun = self._latest = time.monotonic()
        self._compiled = compiling()

    def share_spent(self) -> float:
        return (time.monotonic() - self._begun) / max(1e-9, self._deadline - self._begun)

    def epochs_in_budget(self) -> float:
        return self._epochs

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The first epoch is next; everything before was preparation."""
        self._begun = self._latest = time.monotonic()
        self._compiled = self._compiling()

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Stop if the rest is shorter than this epoch. Runs before the evaluation, which then is the final one."""
        now, compiled = time.monotonic(), self._compiling()
        took = max(0.0, now - self._latest - (compiled - self._compiled))
        self._latest, self._compiled = now, compiled
        left = self._deadline - now
        if broadcast((self.FIRST * took if self._is_first else took) > left):
            self.end(trainer)
        if not self._is_first:
            self._seconds.append(took)
            reached = self._reached(trainer, max(0.0, left))
            early = self.share_spent() < (self.EARLY if len(self._seconds) >= self.LEAST else self.LATE)
            self._epochs = broadcast(math.inf if early else reached)
            self._tell(trainer, reached, max(0.0, left))
        self._is_first = False

    def _reached(self, trainer: L.Trainer, left: float) -> float:
        """Total epochs at the pace of the latest ones; infinite if all fit at the pace of the faster half."""
        done = trainer.current_epoch + 1
        faster_half = sorted(self._seconds)[: max(1, len(self._seconds) // 2)]
        if left >= (_epochs_asked(trainer) - done) * fmean(faster_half):
            return math.inf
        return done + left / max(1e-9, fmean(self._seconds))

    def _tell(self, trainer: L.Trainer, reached: float, left: float) -> None:
        """Say once, and early, how far the time will reach if it will not reach the end."""
        asked = _epochs_asked(trainer)
        if self._told or trainer.should_stop or len(self._seconds) < self.LEAST or not math.isfinite(asked + reached):
            return
        self._told = True
        missing = (asked - trainer.current_epoch - 1) * fmean(self._seconds) - left
        log.warning(
            "trainer.max_time will end this run after about %d of its %d epochs; all of them would take about %s more "
            "(trainer.max_time=null sets no limit)",
            int(reached),
            int(asked),
            f"{missing:.0f} seconds" if missing < 90 else f"{math.ceil(missing / 60)} minutes",
        )


class FlopBudget(Budget):
    """A budget of floating-point operations. The last epoch is the measure of the next. No clock is involved.

    Epochs cost about the same from the first one on, so their mean counts at once.
    """

    setting = "trainer.max_flops"

    def __init__(self, most: float, flops: Callable[[], float]) -> None:
        """At most `most` operations; `flops()` gives the operations so far."""
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
        """Stop if the rest is less than this epoch took. Runs before the evaluation, which then is the final one."""
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
            self.end(trainer)


def budgets(trainer: L.Trainer) -> list[Budget]:
    """The budgets of a run."""
    return [callback for callback in trainer.callbacks if isinstance(callback, Budget)]  # type: ignore[attr-defined]


def spent(trainer: L.Trainer) -> float:
    """Spent share of the run's budgets, 0 to 1: that of the most spent one; without a budget, that of its epochs."""
    shares = [budget.share_spent() for budget in budgets(trainer)]
    return min(1.0, max(shares, default=(trainer.current_epoch + 1) / _epochs_asked(trainer)))


def progress(trainer: L.Trainer) -> float:
    """Progress of a run, 0 to 1: the epochs done as a share of all, or of those that its budgets will allow."""
    epochs = [budget.epochs_in_budget() for budget in budgets(trainer)]
    return min(1.0, trainer.current_epoch / min([_epochs_asked(trainer), *epochs]))


def _epochs_asked(trainer: L.Trainer) -> float:
    limit = trainer.max_epochs
    return float(limit) if limit and limit > 0 else math.inf


TRAINING_PASSES = 3
"""Cost of a training step per example, in forward passes: one forward, two backward. Every product of matrices in the
forward pass has two of the same size in the backward pass, for its input and for its weights."""


class Cost(L.Callback):
    """Counts the floating-point operations of a run over all its sessions, and logs them after every epoch.

    An example that goes through the network while data is made costs one forward pass; an example of a training step
    costs `TRAINING_PASSES`. These are the operations of the method, however they are computed. Not counted: padding of
    a batch, activations computed again to save memory, steps repeated after memory ran out, and the optimizer (well
    below a hundredth). Validation, evaluation, and data made ahead for an epoch that never came do not count either.
    The same run has the same count on every machine that makes the same data.

    It also keeps the wall time over all sessions, as far as checkpoints record it. Logs `cost.flops` and
    `cost.seconds`; loggers get them in single precision (7 digits), `flops` is exact.
    """

    def __init__(
        self,
        forward_flops: int,
        training_flops: int,
        evaluations: Callable[[], int],
        clock: PhaseClock,
        started: float,
        earlier: float = 0.0,
    ) -> None:
        """A forward pass of one example takes `forward_flops`, in training `training_flops`.

        `evaluations()` gives the forward passes for making data so far, those of the earlier sessions included. This
        session began at `started` on `time.monotonic()`; the earlier ones took `earlier` seconds or more, for they
        continued after their last checkpoint. The rows of `clock` are up to date whenever a checkpoint has the time.
        """
        self.forward_flops = forward_flops
        self.training_flops = training_flops
        self._evaluations = evaluations
        self._settle = clock.settle
        self._started = started
        self._earlier = earlier
        self._examples = 0

    @property
    def seconds(self) -> float:
        """Wall time of the earlier sessions and this one."""
        return self._earlier + time.monotonic() - self._started

    @property
    def flops(self) -> int:
        """Operations so far."""
        return self.forward_flops * self._evaluations() + self.training_flops * TRAINING_PASSES * self._examples

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """A step is done."""
        self._examples += whole_size(pl_module, batch)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Log what the run has cost so far."""
        pl_module.log_dict({"cost.flops": float(self.flops), "cost.seconds": self.seconds})

    def summary(self) -> dict[str, float]:
        """Entries for `summary.json`."""
        return {"flops": self.flops, "wall_seconds": self.seconds}

    def state_dict(self) -> dict[str, Any]:
        self._settle()
        return {"examples": self._examples, "seconds": self.seconds}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._examples = state_dict["examples"]
        self._earlier = max(self._earlier, state_dict.get("seconds", 0.0))  # 0.2 has it elsewhere, and in phases.csv
