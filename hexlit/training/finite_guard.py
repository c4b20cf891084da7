"""The end of a run whose loss or gradients are no numbers."""

import logging
import math
from pathlib import Path
from typing import Any

import lightning as L
import torch
from torch import Tensor

from hexlit.errors import UsageError
from hexlit.training.batches import tensors_of
from hexlit.training.checkpoints import save_whole

log = logging.getLogger(__name__)

ADVICE = "lower optimizer.lr, or use accelerator.precision=32-true"

READ_TOGETHER = 20
"""Number of losses that are read together on a device, which must finish its work for that."""

TOO_MANY_SKIPPED = 10
"""Steps in a row without finite gradients that end a run."""


class FiniteGuard(L.Callback):
    """Ends a run whose loss is NaN or infinite, and saves the batch that caused it in
    `nan_batch.pt`.

    The gradients of such a loss are not finite either, so it has changed no weight (see
    `TrainedModule`). Steps skipped because
    only their gradients were not finite are logged as `steps.skipped`, with a warning. Ten of them
    in a row, over epochs, end the run. With float16 the scaler skips the first steps of a run,
    until its factor is small enough.
    """

    def __init__(self, folder: Path) -> None:
        """The batch is saved in `folder`."""
        self._path = folder / "nan_batch.pt"
        self._unread: list[tuple[Tensor, Any, int]] = []

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Keep the loss with its batch, and check those kept where they are enough."""
        self._unread.append((outputs["loss"].detach(), batch, batch_idx))
        if pl_module.device.type == "cpu" or len(self._unread) == READ_TOGETHER:
            self._check(trainer.current_epoch)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Check the last losses, and count the skipped steps."""
        self._check(trainer.current_epoch)
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

    def _check(self, epoch: int) -> None:
        if not self._unread:
            return
        losses = torch.stack([loss for loss, *_ in self._unread]).tolist()
        for loss, (_, batch, step) in zip(losses, self._unread, strict=True):
            if not math.isfinite(loss):
                tensors = [tensor.cpu() for tensor in tensors_of(batch)]
                saved = {"batch": tensors, "epoch": epoch, "step": step, "loss": loss}
                save_whole(saved, self._path)
                where = f"step {step} of epoch {epoch}; the batch is saved in {self._path}"
                raise UsageError(f"training: the loss is {loss} at {where}; {ADVICE}")
        self._unread.clear()
