"""The policy/value network as a LightningModule: what is learned from a searched position."""

from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from hexlit.accelerate.profile import DeviceProfile
from hexlit.hex.encoding import PLANES
from hexlit.nets.config import NetConfig
from hexlit.nets.heads import masked_logits
from hexlit.nets.tower import HexNet, NetOutput
from hexlit.training.config import OptimizerConfig, TrainerConfig
from hexlit.training.module import TrainedModule

STANDARD_POLICY_WEIGHT = 0.14
STANDARD_VALUE_WEIGHT = 0.86
"""Weights of the two losses in `train.standardised_loss`, the same for every run, so that runs of different
`value_weight` can be compared by it."""

Positions = tuple[Tensor, Tensor, Tensor]
"""Planes int8 `[B, PLANES, size, size]`, policies `[B, A]` and values `[B]` in [-1, 1]."""


class HexModule(TrainedModule):
    """Learns the searched policy (cross-entropy) and the result of the game (cross-entropy of the chance to win).

    `train.standardised_loss` weighs both in the same way in every run; it is only looked at.

    A checkpoint's hyperparameters say how to build the network again; see `hexlit.tasks.hex.checkpoint`.
    """

    def __init__(
        self,
        net: NetConfig,
        optimizer: OptimizerConfig,
        trainer: TrainerConfig,
        profile: DeviceProfile,
        *,
        size: int,
        swap: bool = False,
        value_weight: float = 1.0,
    ) -> None:
        """A fresh network of the shape `net`, trained on boards of `size`, with or without the swap action.

        `value_weight` weighs the value loss against the policy loss.
        """
        super().__init__(HexNet(net), optimizer, trainer, profile)
        learning = {**asdict(optimizer), "ema_decay": trainer.ema_decay, "train_batch": profile.train_batch}
        self.save_hyperparameters({"net": asdict(net), "size": size, "swap": swap, "learning": learning})
        self.net.checkpointing = profile.checkpoint_gradients
        self.size = size
        self.actions = size * size + swap
        self.value_weight = value_weight

    def forward(self, planes: Tensor) -> Any:
        """The trained network's output for planes `[B, PLANES, size, size]`."""
        return self.net(planes)

    def output(self, batch: Positions) -> NetOutput:
        result: NetOutput = self.net(batch[0].to(torch.float32, memory_format=self.layout))
        return result

    def losses(self, output: NetOutput, batch: Positions) -> dict[str, Tensor]:
        planes, policy, value = batch
        logits = masked_logits(output.policy_logits[:, : self.actions].float(), planes)
        policy_loss = functional.cross_entropy(logits, policy)
        # value = tanh(x) is the same as saying that the mover wins with probability sigmoid(2 x).
        value_logit = output.value_logit.float()
        value_loss = functional.binary_cross_entropy_with_logits(2 * value_logit, (value + 1) / 2)
        loss = policy_loss + self.value_weight * value_loss
        standardised = STANDARD_POLICY_WEIGHT * policy_loss.detach() + STANDARD_VALUE_WEIGHT * value_loss.detach()
        return {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "loss": loss,
            "standardised_loss": standardised,
        }

    def example_batch(self, count: int) -> Positions:
        """Empty boards."""
        planes = torch.zeros(count, PLANES, self.size, self.size, dtype=torch.int8, device=self.device)
        policy = torch.full((count, self.actions), 1 / self.actions, device=self.device)
        return planes, policy, torch.zeros(count, device=self.device)
