"""The cost of a run: floating-point operations and wall time."""

from collections.abc import Callable
from typing import Any

import lightning as L

from hexlit.training.batches import whole_size

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

    Logs `cost.flops` and `cost.seconds`; loggers get them in single precision (7 digits), `flops` is exact.
    """

    def __init__(
        self,
        forward_flops: int,
        *,
        evaluations: Callable[[], int],
        training_flops: int | None = None,
        seconds: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """A forward pass of one example takes `forward_flops`, in training `training_flops` where that is more.

        `evaluations()` gives the forward passes for making data so far, `seconds()` the wall time; both include the
        earlier sessions.
        """
        self.forward_flops = forward_flops
        self.training_flops = forward_flops if training_flops is None else training_flops
        self._evaluations = evaluations
        self._seconds = seconds
        self._examples = 0

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
        pl_module.log_dict({"cost.flops": float(self.flops), "cost.seconds": self._seconds()})

    def summary(self) -> dict[str, float]:
        """Entries for `summary.json`."""
        return {"flops": self.flops, "wall_seconds": self._seconds()}

    def state_dict(self) -> dict[str, Any]:
        return {"examples": self._examples}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._examples = state_dict["examples"]
