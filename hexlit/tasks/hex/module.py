"""The policy/value network as a LightningModule: learning from a searched position."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn import functional

from hexlit.accelerate.collectives import all_gather_rows
from hexlit.accelerate.profile import DeviceProfile
from hexlit.errors import UsageError
from hexlit.hex.encoding import PLANES
from hexlit.nets.calibration import calibrate
from hexlit.nets.config import NetConfig
from hexlit.nets.tower import HexNet, NetOutput, build_net, masked_logits
from hexlit.selfplay.targets import load_targets
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.hex.epoch_data import PositionBatch
from hexlit.tasks.hex.heads import make_heads, target_loss
from hexlit.training.module import Learning, TrainedModule

COMPARABLE_POLICY_WEIGHT = 0.14
COMPARABLE_VALUE_WEIGHT = 0.86
"""Weight of the value loss in `train.comparable_loss`, and with it that of the policy loss. It is
the same for every run, so that runs with different `value_weight` are comparable.
"""

WEIGHTLESS = ("dropout",)
"""Settings of a network without influence on its weights."""


class HexModule(TrainedModule):
    """Learns the searched policy (cross-entropy) and the result of the game (cross-entropy of the
    chance to win).

    `train.comparable_loss` has the same weights in every run; it is logged, not optimised. With
    validation positions, the results of `measures` and `on_validation_epoch_end` are logged too.

    A checkpoint's hyperparameters contain all that is needed to build the network; see
    `hexlit.tasks.hex.checkpoint`.
    """

    def __init__(self, config: HexTrainConfig, profile: DeviceProfile) -> None:
        """A fresh network; the losses are added with the weights of `config`."""
        facts = {
            "net": asdict(config.net),
            "size": config.board,
            "swap": config.swap,
            "policy_weight": config.policy_weight,
            "value_weight": config.value_weight,
            "targets": config.targets,
        }
        targets = load_targets(config.targets)
        net = build_net(config.net)
        net.heads = make_heads(targets, config.net)
        super().__init__(net, config.optimizer, config.trainer, profile, facts)
        self.net.checkpointing = profile.config.checkpoint_gradients
        self._targets = targets
        # For the summary of a plain Trainer.
        self.example_input_array = torch.zeros(1, PLANES, config.board, config.board)
        self.kernels = ("torch", "winograd")
        self.size = config.board
        self.swap = config.swap
        self.policy_weight = config.policy_weight
        self.value_weight = config.value_weight
        self._judged: list[tuple[Tensor, Tensor]] = []

    @classmethod
    def from_hyperparameters(
        cls, settings: Mapping[str, Any], learning: Learning, profile: DeviceProfile
    ) -> Self:
        config = HexTrainConfig(
            board=settings["size"],
            swap=settings["swap"],
            policy_weight=settings["policy_weight"],
            value_weight=settings["value_weight"],
            targets=settings["targets"],
            net=NetConfig(**settings["net"]),
            **learning._asdict(),
        )
        return cls(config, profile)

    def begin_with(self, net: HexNet) -> None:
        """Take the weights of `net`; board, swap rule, optimizer and schedule stay this module's
        own.

        Raises:
            UsageError: `net` has another shape; the message names the settings that give it.
        """
        own = self.hparams["net"]
        given = asdict(net.config)
        others = {
            name: value
            for name, value in given.items()
            if own[name] != value and name not in WEIGHTLESS
        }
        if others:
            wanted = " ".join(
                f"net.{name}={value}".replace(" ", "") for name, value in others.items()
            )
            raise UsageError(f"init_from: the network there has another shape; add {wanted}")
        for copy in (self.net, self.net_in_use):
            copy.load_state_dict(net.state_dict(), strict=False)  # further heads stay fresh

    def forward(self, planes: Tensor) -> NetOutput:
        """The network's output for positions `[B, PLANES, n, n]` of floats."""
        result: NetOutput = self.net_of_mode(planes)
        return result

    def use_kernels(self, name: str) -> None:
        from hexlit.nets.winograd.training import train_by_winograd

        train_by_winograd(self.net, on=name == "winograd")

    def output(self, batch: PositionBatch) -> NetOutput:
        return self.forward(batch.planes.to(torch.float32, memory_format=self.layout))

    def losses(self, output: NetOutput, batch: PositionBatch) -> dict[str, Tensor]:
        planes, policy, value, further = batch
        actions = policy.shape[1]
        logits = masked_logits(output.policy_logits[:, :actions].float(), planes)
        policy_loss = functional.cross_entropy(logits, policy)
        # value = tanh(x) is the same as a winning probability of sigmoid(2 x) for the mover.
        value_logit = output.value_logit.float()
        value_loss = functional.binary_cross_entropy_with_logits(2 * value_logit, (value + 1) / 2)
        loss = self.policy_weight * policy_loss + self.value_weight * value_loss
        comparable = (
            COMPARABLE_POLICY_WEIGHT * policy_loss.detach()
            + COMPARABLE_VALUE_WEIGHT * value_loss.detach()
        )
        terms = {"policy_loss": policy_loss, "value_loss": value_loss}
        for target in self._targets:
            name = target.name
            target_term = target_loss(target, output.further[name], further[name], planes)
            terms[f"{name}_loss"] = target_term
            loss = loss + target.weight * target_term
        return {**terms, "loss": loss, "comparable_loss": comparable}

    def measures(self, output: NetOutput, batch: PositionBatch) -> dict[str, Tensor]:
        """Shares of the positions whose move is the policy's most likely one, and one of its five
        most likely.
        """
        planes, policy, value, _ = batch
        self._judged.append((output.value.float(), value))
        logits = masked_logits(output.policy_logits[:, : policy.shape[1]], planes)
        hits = logits.topk(min(5, policy.shape[1])).indices == policy.argmax(1, keepdim=True)
        return {
            "top1_accuracy": hits[:, 0].float().mean(),
            "top5_accuracy": hits.any(1).float().mean(),
        }

    def on_validation_epoch_end(self) -> None:
        """Log the calibration of the value: see `hexlit.nets.calibration.Calibration`."""
        columns = zip(*all_gather_rows(self._judged), strict=True)
        values, results = (torch.cat(column).cpu().numpy() for column in columns)
        self._judged = []
        calibration = calibrate(values, results > 0)
        names = ("brier", "log_loss", "calibration_error", "sign_accuracy")
        self.log_dict({f"val.value_{name}": getattr(calibration, name) for name in names})

    def example_batch(self, count: int) -> PositionBatch:
        """Empty boards."""
        planes = torch.zeros(
            count, PLANES, self.size, self.size, dtype=torch.int8, device=self.device
        )
        cells = self.size**2
        actions = cells + self.swap
        policy = torch.full((count, actions), 1 / actions, device=self.device)
        value = torch.zeros(count, device=self.device)
        further = {}
        for target in self._targets:
            shape = (count,) if target.module.KIND == "value" else (count, cells)
            further[target.name] = torch.full(shape, 1 / cells, device=self.device)
        return PositionBatch(planes, policy, value, further)
