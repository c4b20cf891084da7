"""Callbacks that make an epoch's phases visible: optimisation and evaluation, timed and shown."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import lightning as L
from torch import Tensor

from hexlit.training.phases import PhaseClock

Figures = Mapping[str, Any]

MEASURED = "strength."
"""Names of what `EvaluationPhase` logs begin so."""


class Display(Protocol):
    """What shows the run's figures."""

    def update(
        self, *, epoch: int, losses: Mapping[str, float] | None = None, strength: Mapping[str, object] | None = None
    ) -> None:
        """Show the figures of `epoch`."""
        ...


class OptimisationPhase(L.Callback):
    """Times the optimisation steps of each epoch as the phase `training`, and shows the mean losses."""

    def __init__(self, clock: PhaseClock, display: Display) -> None:
        """Rows go to `clock`, losses to `display`."""
        self._clock = clock
        self._display = display
        self._open = contextlib.ExitStack()
        self._phase: Any = None

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The first step is next."""
        phase = self._clock.phase("training", trainer.current_epoch, goal=float(trainer.num_training_batches))
        self._phase = self._open.enter_context(phase)

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """A step is done."""
        self._phase.add(positions=len(batch[0]))
        self._phase.advance(batch_idx + 1)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The last step is done."""
        self._open.close()
        losses = {
            name.removeprefix("train."): float(value)
            for name, value in trainer.callback_metrics.items()
            if name.startswith("train.") and name.endswith("loss") and isinstance(value, Tensor)
        }
        self._display.update(epoch=trainer.current_epoch, losses=losses)

    def on_exception(self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException) -> None:
        """Close the phase; it leaves no row."""
        self._open.__exit__(type(exception), exception, exception.__traceback__)


class EvaluationPhase(L.Callback):
    """Measures strength after every `every_epochs` epochs and after the last, and logs its numbers as `strength.*`."""

    def __init__(
        self, measure: Callable[[bool], Figures], clock: PhaseClock, display: Display, *, every_epochs: int = 1
    ) -> None:
        """`measure(final)` gives the figures of the network as it is, `final` after the last epoch."""
        self._measure = measure
        self._clock = clock
        self._display = display
        self._every_epochs = every_epochs
        self.latest: Figures = {}

    def state_dict(self) -> dict[str, Any]:
        return {"latest": dict(self.latest)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.latest = state_dict["latest"]

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Measure, where it is time to."""
        epoch = trainer.current_epoch
        final = trainer.should_stop or epoch + 1 == trainer.max_epochs
        if not final and (epoch + 1) % self._every_epochs:
            return
        self.evaluate(epoch, final=final)
        numbers = {name: float(value) for name, value in self.latest.items() if isinstance(value, int | float)}
        pl_module.log_dict({f"{MEASURED}{name}": value for name, value in numbers.items()})

    def evaluate(self, epoch: int, *, final: bool) -> None:
        """Measure the network as it is after `epoch`, and show the figures."""
        with self._clock.phase("evaluation", epoch):
            self.latest = self._measure(final)
        self._display.update(epoch=epoch, strength=self.latest)


class LogFigures(L.Callback):
    """Logs numbers that some part of the run keeps, after every epoch."""

    def __init__(self, prefix: str, figures: Callable[[], Mapping[str, float]]) -> None:
        """`figures()` are logged as `prefix.name`."""
        self._prefix = prefix
        self._figures = figures

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Log them."""
        pl_module.log_dict({f"{self._prefix}.{name}": float(value) for name, value in self._figures().items()})
