"""The Trainer's callbacks that report to the study, and end a training that the pruner rejects."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import lightning as L
from lightning.pytorch.callbacks import EarlyStopping

from hexlit.errors import UsageError
from hexlit.tuning.job import trial_of_process

if TYPE_CHECKING:
    from hexlit.tuning.trial import RunningTrial


class Pruning(EarlyStopping):
    """Reports a metric after each epoch that measured it, and stops the Trainer softly.

    A pruned trial ends its epoch as usual: loggers are flushed and checkpoints written. With
    several processes, the one of rank 0 reports, and all stop together. Only the type is
    Lightning's `EarlyStopping`: the Trainer calls it after everything that logs, the module's own
    hooks included.

    Attributes:
        metrics: the latest value of everything logged.
        epochs: the epochs that have ended.
    """

    def __init__(
        self,
        trial: "RunningTrial | None",
        monitor: str,
        *,
        first_step: int = 0,
        step_of: Callable[[L.Trainer], int] | None = None,
    ) -> None:
        """Report `monitor` to `trial`; None: there is none, and nothing is reported.

        The steps of the study begin with `first_step`. `step_of` gives the step of a training
        instead of its epoch.
        """
        super().__init__(monitor)
        self._trial = trial
        self._monitor = monitor
        self._first_step = first_step
        self._step_of = step_of
        self._old: Any = None
        self._latest_step = -1
        self.metrics: dict[str, float] = {}
        self.epochs = 0

    def state_dict(self) -> dict[str, Any]:
        return {}  # the study has the reported values

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Do nothing: an epoch ends later."""

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Note the old values: one that is the same object after this epoch was not measured in
        it.
        """
        self._old = trainer.callback_metrics.get(self._monitor)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Report the metric of this epoch."""
        self.epochs = trainer.current_epoch + 1
        step = trainer.current_epoch if self._step_of is None else self._step_of(trainer)
        value = trainer.callback_metrics.get(self._monitor)
        if value is not None and value is not self._old and step > self._latest_step:
            self._latest_step = step
            self._decide(trainer, step, float(value))
        self.metrics.update(
            {name: float(value) for name, value in trainer.callback_metrics.items()}
        )

    def _decide(self, trainer: L.Trainer, step: int, value: float) -> None:
        if self._trial is None:
            return
        give_up = trainer.is_global_zero and self._trial.report(self._first_step + step, value)
        give_up = trainer.strategy.broadcast(give_up)
        ends_anyway = trainer.should_stop or trainer.current_epoch + 1 == trainer.max_epochs
        if give_up and not ends_anyway:
            self._trial.pruned = True
            trainer.should_stop = True


class PruningCallback(Pruning):
    """Prunes the trial of a program that trains with Lightning; outside of a sweep it does nothing.

        trainer = lightning.Trainer(callbacks=[PruningCallback(monitor="val_loss")])

    It reports the logged metric `monitor` after each epoch that measured it. A pruned training ends
    its epoch as usual, on all ranks together; the program goes on after `fit`, and what it returns
    then does not count.

    Raises:
        UsageError: at the end of a training that never logged `monitor`.
    """

    def __init__(self, monitor: str) -> None:
        """Report `monitor` to the trial of this process."""
        super().__init__(trial_of_process(), monitor)

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Refuse a metric that was never logged."""
        if self._trial is not None and self.epochs and self._monitor not in self.metrics:
            logged = ", ".join(sorted(self.metrics))
            raise UsageError(
                f"PruningCallback(monitor={self._monitor!r}): no such metric; logged is {logged}"
            )
