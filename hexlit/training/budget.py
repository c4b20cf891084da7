"""The budgets of a run, in time and in operations: how much is spent."""

import logging
from collections.abc import Callable
from typing import Any

import lightning as L

from hexlit.accelerate.collectives import broadcast
from hexlit.training.config import TrainerConfig

log = logging.getLogger(__name__)


class Budget(L.Callback):
    """Ends training before an epoch that would exceed the rest of the budget; the last epoch is its
    measure.

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
        """Stop if the rest is less than this epoch took. Runs before the evaluation, which then is
        the final one.
        """
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

    def is_spent(self) -> bool:
        """Whether the rest of the budget is less than the latest epoch took."""
        return self._took > 0 and self._used() / self._limit + self._took > 1

    def _end_in_time(self, trainer: L.Trainer) -> None:
        if self._took and self.share + self._took > 1:
            self.ended = trainer.should_stop = True


def budgets_of(
    config: TrainerConfig, seconds: Callable[[], float], flops: Callable[[], float]
) -> list[Budget]:
    """The budgets that `config` sets; `seconds()` of this session and `flops()` of the run are
    spent so far.
    """
    time = (
        None
        if config.max_seconds is None
        else Budget("trainer.max_time", config.max_seconds, seconds)
    )
    operations = (
        None if config.max_flops is None else Budget("trainer.max_flops", config.max_flops, flops)
    )
    return [budget for budget in (time, operations) if budget is not None]


def budgets(trainer: L.Trainer) -> list[Budget]:
    """The budgets of a run."""
    return [callback for callback in trainer.callbacks if isinstance(callback, Budget)]  # type: ignore[attr-defined]


def progress(trainer: L.Trainer, epochs: int) -> float:
    """Progress of a run after `epochs` epochs, 0 to 1: the largest share, of its epochs or of one
    of its budgets.
    """
    return min(
        1.0,
        max([epochs / (trainer.max_epochs or 1), *(budget.share for budget in budgets(trainer))]),
    )
