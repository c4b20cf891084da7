"""Guards of a run: against losses that are no numbers, and against full memory."""

import logging
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import lightning as L
import torch

from hexlit.accelerate.events import on_its_way
from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.training.batches import tensors_of

log = logging.getLogger(__name__)

MB = 10**6

TOO_MANY_SKIPPED = 10
"""Steps in a row without finite gradients that end a run."""


class FiniteGuard(L.Callback):
    """Ends a run whose loss is NaN or infinite, and saves the batch that caused it in `nan_batch.pt`.

    A loss is read one step later: cuda has finished it by then, so there is no wait. Its gradients are not finite
    either, so it has changed no weight (see `TrainedModule`). Steps skipped because only their gradients were not
    finite are logged as `steps.skipped`, with a warning. Ten of them in a row, over epochs, end the run. With float16
    the scaler skips the first steps of a run, until its factor is small enough.
    """

    def __init__(self, folder: Path) -> None:
        """The batch is saved in `folder`."""
        self._path = folder / "nan_batch.pt"
        self._unseen: tuple[Callable[[], float], Any, int] | None = None

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Check the loss of the step before."""
        self._look(trainer)
        self._unseen = (on_its_way(outputs["loss"]), batch, batch_idx)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Check the loss of the last step, and count the skipped steps."""
        self._look(trainer)
        self._unseen = None
        skipped, steps = int(getattr(pl_module, "skipped_steps", 0)), int(trainer.num_training_batches)
        pl_module.log("steps.skipped", float(skipped))
        in_a_row = int(getattr(pl_module, "skipped_in_a_row", 0))
        if in_a_row >= TOO_MANY_SKIPPED:
            raise UsageError(
                f"training: none of the latest {in_a_row} steps had finite gradients (epoch {trainer.current_epoch}); "
                "lower optimizer.lr, or use accelerator.precision=32-true"
            )
        if skipped:
            log.warning(
                "epoch %d: %d of %d steps had gradients that were not finite, and changed no weight",
                trainer.current_epoch,
                skipped,
                steps,
            )

    def _look(self, trainer: L.Trainer) -> None:
        if self._unseen is None:
            return
        arriving, batch, step = self._unseen
        loss = arriving()
        if math.isfinite(loss):
            return
        with replacing(self._path) as part:
            torch.save(
                {
                    "batch": [tensor.cpu() for tensor in tensors_of(batch)],
                    "epoch": trainer.current_epoch,
                    "step": step,
                    "loss": loss,
                },
                part,
            )
        raise UsageError(
            f"training: the loss is {loss} at step {step} of epoch {trainer.current_epoch}; the batch is saved "
            f"in {self._path}; lower optimizer.lr, or use accelerator.precision=32-true"
        )


class MemoryWatch(L.Callback):
    """Logs the memory of each epoch in MB (10^6 bytes) as `memory.*`, and warns once above a threshold.

    Values that cannot be read are not logged.
    """

    def __init__(self, warning_mb: float, peaks: Callable[[int], Mapping[str, int | None]]) -> None:
        """Warn above `warning_mb`; `peaks(epoch)` gives the most bytes held in it, by place."""
        self._warning_mb = warning_mb
        self._peaks = peaks
        self._warned = False

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Log the memory, and warn."""
        found = self._peaks(trainer.current_epoch)
        figures = {f"{place}_mb": value / MB for place, value in found.items() if value is not None}
        pl_module.log_dict({f"memory.{name}": value for name, value in figures.items()})
        if not figures:
            return
        name = max(figures, key=lambda name: figures[name])
        if figures[name] > self._warning_mb and not self._warned:
            self._warned = True
            log.warning(
                "epoch %d: %s is %.0f, above accelerator.memory_warning=%g; a smaller accelerator.micro_batch or "
                "accelerator.checkpoint_gradients=true takes less of a device, fewer processes less of the host",
                trainer.current_epoch,
                name,
                figures[name],
                self._warning_mb,
            )
