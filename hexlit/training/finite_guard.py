"""The end of a run whose loss or gradients are no numbers."""

import logging
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import lightning as L

from hexlit.accelerate.events import async_item
from hexlit.errors import UsageError
from hexlit.training.batches import tensors_of
from hexlit.training.checkpoints import save_whole

log = logging.getLogger(__name__)

ADVICE = "lower optimizer.lr, or use accelerator.precision=32-true"

TOO_MANY_SKIPPED = 10
"""Steps in a row without finite gradients that end a run."""


class FiniteGuard(L.Callback):
    """Ends a run whose loss is NaN or infinite, and saves the batch that caused it in
    `nan_batch.pt`.

    A loss is read one step later: cuda has finished it by then, so there is no wait. Its gradients
    are not finite either, so it has changed no weight (see `TrainedModule`). Steps skipped because
    only their gradients were not finite are logged as `steps.skipped`, with a warning. Ten of them
    in a row, over epochs, end the run. With float16 the scaler skips the first steps of a run,
    until its factor is small enough.
    """

    def __init__(self, folder: Path) -> None:
        """The batch is saved in `folder`."""
        self._path = folder / "nan_batch.pt"
        self._check_step: Callable[[], None] = lambda: None

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Check the loss of the step before."""
        self._check_step()
        self._check_step = partial(
            self._check, async_item(outputs["loss"]), batch, trainer.current_epoch, batch_idx
        )

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Check the loss of the last step, and count the skipped steps."""
        self._check_step()
        self._check_step = lambda: None
        epoch, steps = trainer.current_epoch, trainer.num_training_batches
        skipped, in_a_row = (
            int(getattr(pl_module, name, 0)) for name in ("skipped_steps", "skipped_in_a_row")
        )
        pl_module.log("steps.skipped", float(skipped))
        if in_a_row >= TOO_MANY_SKIPPED:
            missed = f"none of the latest {in_a_row} steps had finite gradients (epoch {epoch})"
            raise UsageError(f"training: {missed}; {ADVICE}")
        if skipped:
            what = f"{skipped} of {steps} steps had gradients that were not finite, and changed no weight"
            log.warning("epoch %d: %s", epoch, what)

    def _check(self, arriving: Callable[[], float], batch: Any, epoch: int, step: int) -> None:
        loss = arriving()
        if math.isfinite(loss):
            return
        tensors = [tensor.cpu() for tensor in tensors_of(batch)]
        save_whole({"batch": tensors, "epoch": epoch, "step": step, "loss": loss}, self._path)
        where = f"step {step} of epoch {epoch}; the batch is saved in {self._path}"
        raise UsageError(f"training: the loss is {loss} at {where}; {ADVICE}")
