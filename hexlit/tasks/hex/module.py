"""The policy/value network as a LightningModule: learning from a searched position."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.together import joined
from hexlit.errors import UsageError
from hexlit.hex.encoding import PLANES
from hexlit.nets.calibration import calibrate
from hexlit.nets.config import REPLY, NetConfig
from hexlit.nets.tower import HexNet, NetOutput, build_net, masked_logits, playing_state
from hexlit.tasks.hex.auxiliary import reply_loss, soft_loss
from hexlit.training.config import OptimizerConfig, TrainerConfig
from hexlit.training.module import TrainedModule

COMPARABLE_POLICY_WEIGHT = 0.14
COMPARABLE_VALUE_WEIGHT = 0.86
"""Weight of the value loss in `train.comparable_loss`, and with it that of the policy loss. It is the same for every
run, so that runs with different `value_weight` are comparable."""

WEIGHTLESS = ("dropout",)
"""Settings of a network without influence on its weights."""

Positions = tuple[Tensor, Tensor, Tensor] | tuple[Tensor, Tensor, Tensor, Tensor]
"""Planes int8 `[B, PLANES, size, size]`, policies `[B, A]` and values `[B]` in [-1, 1]. If replies are learned, the
replies `[B, A]` come last."""


class HexModule(TrainedModule):
    """Learns the searched policy (cross-entropy) and the result of the game (cross-entropy of the chance to win).

    `train.comparable_loss` has the same weights in every run; it is logged, not optimised. With validation positions,
    the results of `measures` and `on_validation_epoch_end` are logged too.

    A checkpoint's hyperparameters contain all that is needed to build the network; see `hexlit.tasks.hex.checkpoint`.
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
        policy_weight: float = 1.0,
        value_weight: float = 1.0,
        auxiliary: Mapping[str, float] | None = None,
    ) -> None:
        """A fresh network of the shape `net`, trained on boards of `size`, with or without the swap action.

        The loss is `policy_weight` times the policy loss plus `value_weight` times the value loss. The losses of the
        `auxiliary` targets are added with their own weights; see `hexlit.tasks.hex.auxiliary`.
        """
        self.auxiliary = dict(auxiliary or {})
        super().__init__(build_net(net, list(self.auxiliary)), optimizer, trainer, profile)
        learning = {**asdict(optimizer), "ema_decay": trainer.ema_decay, "train_batch": profile.train_batch}
        shape = {"net": asdict(net), "size": size, "swap": swap, "auxiliary": list(self.auxiliary)}
        self.save_hyperparameters(shape | {"learning": learning})
        self.net.checkpointing = profile.checkpoint_gradients
        self.size = size
        self.actions = size * size + swap
        self.policy_weight = policy_weight
        self.value_weight = value_weight
        self._judged: list[tuple[Tensor, Tensor]] = []

    def begin_with(self, net: HexNet) -> None:
        """Take the weights of `net`; board, swap rule, auxiliary heads, optimizer and schedule stay this module's own.

        Raises:
            UsageError: `net` has another shape; the message names the settings that give it.
        """
        own, found = self.hparams["net"], asdict(net.config)
        others = {name: value for name, value in found.items() if own[name] != value and name not in WEIGHTLESS}
        if others:
            wanted = " ".join(f"net.{name}={value}".replace(" ", "") for name, value in others.items())
            raise UsageError(f"init_from: the network there has another shape; add {wanted}")
        for copy in (self.net, self.net_in_use):
            copy.load_state_dict(copy.state_dict() | playing_state(net.state_dict()))

    def forward(self, planes: Tensor) -> Any:
        """The trained network's output for planes `[B, PLANES, size, size]`."""
        return self.net(planes)

    def output(self, batch: Positions) -> NetOutput:
        net = self.net if self.training else self.net_in_use
        result: NetOutput = net(batch[0].to(torch.float32, memory_format=self.layout))
        return result

    def losses(self, output: NetOutput, batch: Positions) -> dict[str, Tensor]:
        planes, policy, value, *replies = batch
        logits = masked_logits(output.policy_logits[:, : self.actions].float(), planes)
        policy_loss = functional.cross_entropy(logits, policy)
        # value = tanh(x) is the same as a winning probability of sigmoid(2 x) for the mover.
        value_logit = output.value_logit.float()
        value_loss = functional.binary_cross_entropy_with_logits(2 * value_logit, (value + 1) / 2)
        loss = self.policy_weight * policy_loss + self.value_weight * value_loss
        comparable = COMPARABLE_POLICY_WEIGHT * policy_loss.detach() + COMPARABLE_VALUE_WEIGHT * value_loss.detach()
        further = {}
        for name, found in output.auxiliary.items():
            judged = found[:, : self.actions]
            target_loss = reply_loss(judged, planes, *replies) if name == REPLY else soft_loss(judged, planes, policy)
            loss = loss + self.auxiliary[name] * target_loss
            further[f"{name}_loss"] = target_loss
        return {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            **further,
            "loss": loss,
            "comparable_loss": comparable,
        }

    def measures(self, output: NetOutput, batch: Positions) -> dict[str, Tensor]:
        """Shares of the positions whose move is the policy's most likely one, and one of its five most likely."""
        planes, policy, value, *_ = batch
        self._judged.append((output.value.float(), value))
        logits = masked_logits(output.policy_logits[:, : self.actions], planes)
        found = logits.topk(min(5, self.actions)).indices == policy.argmax(1, keepdim=True)
        return {"top1_accuracy": found[:, 0].float().mean(), "top5_accuracy": found.any(1).float().mean()}

    def on_validation_epoch_end(self) -> None:
        """Log the calibration of the value: see `hexlit.nets.calibration.Calibration`."""
        values, results = (torch.cat(column).cpu().numpy() for column in zip(*joined(self._judged), strict=True))
        self._judged = []
        found = calibrate(values, results > 0)
        names = ("brier", "log_loss", "calibration_error", "sign_accuracy")
        self.log_dict({f"val.value_{name}": getattr(found, name) for name in names})

    def example_batch(self, count: int) -> Positions:
        """Empty boards."""
        planes = torch.zeros(count, PLANES, self.size, self.size, dtype=torch.int8, device=self.device)
        policy = torch.full((count, self.actions), 1 / self.actions, device=self.device)
        value = torch.zeros(count, device=self.device)
        return (planes, policy, value, policy) if REPLY in self.auxiliary else (planes, policy, value)
