"""Callbacks that make an epoch's phases visible: optimisation and evaluation, timed and shown."""

import contextlib
from collections.abc import Callable, Collection, Mapping
from typing import Any

import lightning as L
from torch import Tensor

from hexlit.accelerate.collectives import on_writer
from hexlit.training.batches import whole_size
from hexlit.training.phases import SAVING, FigureDisplay, PhaseClock
from hexlit.training.stopping import StopAtTarget
from hexlit.training.task import Evaluation

Figures = Mapping[str, Any]


class OptimisationPhase(L.Callback):
    """Times the optimisation steps of each epoch as the phase `training`, and shows the mean losses."""

    def __init__(self, clock: PhaseClock, display: FigureDisplay, unit: str = "examples") -> None:
        """Rows go to `clock`, losses to `display`; one example counts as one `unit`."""
        self._clock = clock
        self._display = display
        self._unit = unit
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
        self._phase.add(**{self._unit: whole_size(pl_module, batch)})
        self._phase.advance(batch_idx + 1)

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The last step is done; another phase follows."""
        self._open.close()

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The last step is done."""
        self._open.close()
        losses = {name: value for name, value in logged(trainer, "train.").items() if name.endswith("loss")}
        self._display.update(epoch=trainer.current_epoch, losses=losses)

    def on_exception(self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException) -> None:
        """Close the phase; it leaves no row."""
        self._open.__exit__(type(exception), exception, exception.__traceback__)


class ValidationPhase(L.Callback):
    """Times the validation of each epoch as the phase `validation`, shows its results, and keeps them.

    Attributes:
        rows: the logged `val.*`, by epoch.
    """

    def __init__(
        self, clock: PhaseClock, display: FigureDisplay, unit: str = "examples", shown: Collection[str] = ("loss",)
    ) -> None:
        """Rows go to `clock`, the figures named in `shown` to `display`; one example counts as one `unit`."""
        self._clock = clock
        self._display = display
        self._unit = unit
        self._shown = shown
        self._open = contextlib.ExitStack()
        self._phase: Any = None
        self.rows: dict[int, dict[str, float]] = {}

    def state_dict(self) -> dict[str, Any]:
        return {"rows": dict(self.rows)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.rows = state_dict["rows"]

    def of(self, epoch: int | None) -> dict[str, float]:
        """Results after `epoch`, None for the latest; empty without validation."""
        return self.rows.get(max(self.rows, default=0) if epoch is None else epoch, {})

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The first batch is next."""
        goal = float(sum(trainer.num_val_batches))
        self._phase = self._open.enter_context(self._clock.phase("validation", trainer.current_epoch, goal=goal))

    def on_validation_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """A batch is done."""
        self._phase.add(**{self._unit: whole_size(pl_module, batch)})
        self._phase.advance(batch_idx + 1)

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The last batch is done."""
        self._open.close()

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Show the figures and keep them."""
        found = logged(trainer, "val.")
        if found:
            self.rows[trainer.current_epoch] = found
            losses = {f"val {name}": value for name, value in found.items() if name in self._shown}
            self._display.update(epoch=trainer.current_epoch, losses=losses)

    def on_exception(self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException) -> None:
        """Close the phase; it leaves no row."""
        self._open.__exit__(type(exception), exception, exception.__traceback__)


class EvaluationPhase(L.Callback):
    """Measures the network as its task asks, and logs the numbers as `prefix.*`.

    With a `target` the last epoch is measured twice: for the target, and finally.

    Attributes:
        prefix: see `Evaluation`.
        latest: figures of the latest measurement.
        measured_after: epochs done at the latest measurement; None before.
    """

    def __init__(
        self, measured: Evaluation, clock: PhaseClock, display: FigureDisplay, target: StopAtTarget | None = None
    ) -> None:
        """Figures that are not final go to `target`, which may end the run."""
        self._measure = measured.measure
        self.prefix = measured.prefix
        self._clock = clock
        self._display = display
        self._every_epochs = measured.every_epochs
        self._target = target
        self.latest: Figures = {}
        self.measured_after: int | None = None

    def state_dict(self) -> dict[str, Any]:
        return {"latest": dict(self.latest), "measured_after": self.measured_after}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.latest = state_dict["latest"]
        self.measured_after = state_dict.get("measured_after")

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Measure, when a measurement is due."""
        if not self.is_due(trainer):
            return
        epoch, final = trainer.current_epoch, _is_last(trainer)
        if self._target is not None or not final:
            self.evaluate(epoch, final=False)
        if self._target is not None and self._target.judge(epoch + 1, self.latest):
            final = trainer.should_stop = True
        if final:
            self.evaluate(epoch, final=True)
        numbers = {name: float(value) for name, value in self.latest.items() if isinstance(value, int | float)}
        pl_module.log_dict({f"{self.prefix}.{name}": value for name, value in numbers.items()})

    def is_due(self, trainer: L.Trainer) -> bool:
        """Whether the epoch that ends now is measured."""
        every = self._every_epochs
        return every > 0 and (_is_last(trainer) or (trainer.current_epoch + 1) % every == 0)

    def finish(self, epochs: int, *, restored: bool) -> None:
        """Measure the result of a fit of `epochs` epochs: after weights were restored, or after an untimely kill."""
        if self._every_epochs and restored:  # counted as a further epoch, so that repeating it replaces it
            self.evaluate(epochs, final=True)
        elif self._every_epochs and not self.latest:  # killed between the last epoch and the summary
            self.evaluate(epochs - 1, final=True)

    def evaluate(self, epoch: int, *, final: bool) -> None:
        """Measure the network in its present state after `epoch`, and show the figures."""
        with self._clock.phase("evaluation", epoch):
            self.latest = on_writer(lambda: self._measure(final))
        self.measured_after = epoch + 1
        self._display.update(epoch=epoch, figures=self.latest)


class Saving(L.Callback):
    """Names the time from the end of an epoch to the next phase: checkpoints and logs are written.

    This callback comes right before the checkpoints.
    """

    def __init__(self, clock: PhaseClock) -> None:
        """`clock` keeps the time."""
        self._clock = clock

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """The epoch has been measured."""
        self._clock.outside(SAVING, trainer.current_epoch)


def _is_last(trainer: L.Trainer) -> bool:
    return trainer.should_stop or trainer.current_epoch + 1 == trainer.max_epochs


class LogFigures(L.Callback):
    """Logs numbers that a part of the run keeps, after every epoch."""

    def __init__(self, figures: Callable[[], Mapping[str, Mapping[str, float]]]) -> None:
        """`figures()` gives numbers by prefix and name; they are logged as `prefix.name`."""
        self._figures = figures

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Log them."""
        for prefix, figures in self._figures().items():
            pl_module.log_dict({f"{prefix}.{name}": float(value) for name, value in figures.items()})


def logged(trainer: L.Trainer, prefix: str) -> dict[str, float]:
    """The metrics of this epoch whose names begin with `prefix`, without it."""
    return {
        name.removeprefix(prefix): float(value)
        for name, value in trainer.callback_metrics.items()
        if name.startswith(prefix) and isinstance(value, Tensor)
    }
