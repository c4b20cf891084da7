"""The budgets of a run, in time and in operations: how much is spent; and the cost of a run."""

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import lightning as L

from hexlit.accelerate.collectives import broadcast
from hexlit.training.batches import whole_size
from hexlit.training.phases import PhaseClock

if TYPE_CHECKING:
    from hexlit.training.task import Task

log = logging.getLogger(__name__)


class Budget(L.Callback):
    """Ends training before an epoch that would exceed the rest of the budget; the last epoch is its measure.

    Says once, after three epochs, if the budget will not reach to the last epoch.

    Attributes:
        setting: key of the configuration that sets the budget.
        share: share of the budget that was spent at the end of the latest epoch.
        ended: whether the budget has ended the run.
    """

    def __init__(self, setting: str, limit: float, used: Callable[[], float]) -> None:
        """`setting` allows `limit` seconds or operations; `used()` gives those so far."""
        self.setting = setting
        self.share = 0.0
        self.ended = False
        self._limit = max(1e-9, limit)
        self._used = used
        self._took = 0.0  # share of the budget that the latest epoch took
        self._epochs = 0

    @property
    def state_key(self) -> str:
        return self.setting

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Stop a resumed run that has used up its budget."""
        self.share = broadcast(self._used()) / self._limit
        self._end_in_time(trainer)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Stop if the rest is less than this epoch took. Runs before the evaluation, which then is the final one."""
        share = broadcast(self._used()) / self._limit
        self._took, self.share = share - self.share, share
        self._end_in_time(trainer)
        self._epochs += 1
        reached = trainer.current_epoch + 1 + (1 - share) / max(1e-9, self._took)
        if self._epochs == 3 and not trainer.should_stop and reached < (trainer.max_epochs or 0):
            message = "%s will end this run after about %d of its %d epochs; null sets no limit"
            log.warning(message, self.setting, reached, trainer.max_epochs)

    def state_dict(self) -> dict[str, Any]:
        return {"took": self._took * self._limit}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._took = state_dict["took"] / self._limit

    def _end_in_time(self, trainer: L.Trainer) -> None:
        if self._took and self.share + self._took > 1:
            self.ended = trainer.should_stop = True


def budgets(trainer: L.Trainer) -> list[Budget]:
    """The budgets of a run."""
    return [callback for callback in trainer.callbacks if isinstance(callback, Budget)]  # type: ignore[attr-defined]


def progress(trainer: L.Trainer, epochs: int) -> float:
    """Progress of a run after `epochs` epochs, 0 to 1: the largest share, of its epochs or of one of its budgets."""
    return min(1.0, max([epochs / (trainer.max_epochs or 1), *(budget.share for budget in budgets(trainer))]))


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

    def __init__(self, task: "Task", clock: PhaseClock, started: float, earlier: float = 0.0) -> None:
        """The cost of `task`.

        This session began at `started` on `time.monotonic()`; the earlier ones took `earlier` seconds or more, for they
        continued after their last checkpoint. The rows of `clock` are up to date whenever a checkpoint has the time.
        """
        self.forward_flops, self.training_flops = task.forward_flops(), task.training_flops()
        self._evaluations = task.forward_passes
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

    def state_dict(self) -> dict[str, Any]:
        self._settle()
        return {"examples": self._examples, "seconds": self.seconds}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._examples = state_dict["examples"]
        self._earlier = max(self._earlier, state_dict.get("seconds", 0.0))  # 0.2 has it elsewhere, and in phases.csv
