"""The policy/value network as a LightningModule: what is learned from a searched position."""

from dataclasses import asdict
from typing import Any

import lightning as L
import torch
from torch import Tensor
from torch.nn import functional

from hexlit.nets.config import NetConfig
from hexlit.nets.heads import masked_logits
from hexlit.nets.tower import HexNet
from hexlit.training.budget import progress
from hexlit.training.config import OptimizerConfig
from hexlit.training.optimizer import build_optimizer, learning_rate_factor


class HexModule(L.LightningModule):
    """Learns the searched policy (cross-entropy) and the result of the game (cross-entropy of the chance to win).

    A checkpoint's hyperparameters say how to build the network again; see `hexlit.tasks.hex.checkpoint`.
    """

    def __init__(
        self, net: NetConfig, optimizer: OptimizerConfig, *, size: int, swap: bool = False, value_weight: float = 1.0
    ) -> None:
        """A fresh network of the shape `net`, trained on boards of `size`, with or without the swap action.

        `value_weight` weighs the value loss against the policy loss.
        """
        super().__init__()
        self.save_hyperparameters({"net": asdict(net), "size": size, "swap": swap})
        self._first_seed = torch.initial_seed()
        self.net = HexNet(net)
        self.actions = size * size + swap
        self.optimizer_config = optimizer
        self.value_weight = value_weight

    def forward(self, planes: Tensor) -> Any:
        """The network's output for planes `[B, PLANES, size, size]`."""
        return self.net(planes)

    def training_step(self, batch: tuple[Tensor, Tensor, Tensor], batch_idx: int) -> Tensor:
        """Loss of a batch of planes int8 `[B, PLANES, size, size]`, policies `[B, A]` and values `[B]` in [-1, 1]."""
        planes, policy, value = batch
        output = self.net(planes.float())
        logits = masked_logits(output.policy_logits[:, : self.actions].float(), planes)
        policy_loss = functional.cross_entropy(logits, policy)
        # value = tanh(x) is the same as saying that the mover wins with probability sigmoid(2 x).
        value_logit = output.value_logit.float()
        value_loss = functional.binary_cross_entropy_with_logits(2 * value_logit, (value + 1) / 2)
        loss = policy_loss + self.value_weight * value_loss
        losses = {"train.policy_loss": policy_loss, "train.value_loss": value_loss, "train.loss": loss}
        self.log_dict(losses, on_step=False, on_epoch=True, batch_size=len(planes))
        return loss

    def on_train_epoch_start(self) -> None:
        """Tie the draws of dropout to the epoch, so that a resumed run repeats them."""
        torch.manual_seed(self._first_seed + self.current_epoch)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """A checkpoint is saved within the end of its epoch."""
        progress = checkpoint["loops"]["fit_loop"]["epoch_progress"]
        for part in ("current", "total"):
            progress[part]["completed"] = progress[part]["processed"]

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip the norm of the (unscaled) gradient; Lightning's own way refuses fused optimizers."""
        if gradient_clip_val:
            torch.nn.utils.clip_grad_norm_(self.parameters(), gradient_clip_val)

    def configure_optimizers(self) -> Any:
        """The configured optimizer, its learning rate following the progress of the run."""
        optimizer = build_optimizer(self.optimizer_config, self.net, fused=self.trainer.precision != "16-mixed")
        factor = learning_rate_factor(self.optimizer_config, lambda: progress(self.trainer))
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}
