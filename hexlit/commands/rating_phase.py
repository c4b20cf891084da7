"""The callback that rates the network of a run against earlier ones."""

from collections.abc import Callable, Mapping

import lightning as L

from hexlit.accelerate.together import on_writer
from hexlit.training.display import FigureDisplay
from hexlit.training.phases import PhaseClock


class RatingPhase(L.Callback):
    """Rates the network after every `every_epochs` epochs and after the last, and logs the numbers as `rating.*`."""

    def __init__(
        self,
        rate: Callable[[int], Mapping[str, float]],
        clock: PhaseClock,
        display: FigureDisplay,
        *,
        every_epochs: int,
    ) -> None:
        """`rate(epoch)` gives the figures of the network in its state after `epoch`."""
        self._rate = rate
        self._clock = clock
        self._display = display
        self._every_epochs = every_epochs

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Rate, when a rating is due."""
        epoch = trainer.current_epoch
        last = trainer.should_stop or epoch + 1 == trainer.max_epochs
        if not last and (epoch + 1) % self._every_epochs:
            return
        with self._clock.phase("rating", epoch):
            figures = on_writer(lambda: self._rate(epoch))
        pl_module.log_dict({f"rating.{name}": float(value) for name, value in figures.items()})
        self._display.update(epoch=epoch, figures={"elo": figures["elo"]})
