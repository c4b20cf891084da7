"""A network of Hex in training, on positions without a game; and its loss, to compare devices."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils.data import DataLoader

from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.evaluation import net_name
from hexlit.bench.optimisation import BATCHES, Trainee, fit
from hexlit.nets.evaluator import random_planes
from hexlit.nets.tower import HexNet
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.hex.module import HexModule, Positions
from hexlit.training.batches import parts_of
from hexlit.training.config import OptimizerConfig, TrainerConfig


@dataclass(frozen=True)
class Recipe:
    """Settings of the training, without the network."""

    size: int
    optimizer: OptimizerConfig
    trainer: TrainerConfig


def positions_trainee(net: HexNet, recipe: Recipe, data: Iterable[Any] | None = None) -> Trainee:
    """Copies of `net`, trained on the batches of `data`, or on random positions."""

    def set_up(profile: DeviceProfile) -> tuple[HexModule, Iterable[Any]]:
        return copy_of(net, recipe, profile), batches_of(recipe.size, profile.train_batch) if data is None else data

    return Trainee(net_name(net), "positions", set_up)


def copy_of(net: HexNet, recipe: Recipe, profile: DeviceProfile) -> HexModule:
    """A module that trains the weights of `net`, and leaves `net` unchanged."""
    trainer = replace(recipe.trainer, monitor="train.loss")  # nothing is monitored here
    settings = HexTrainConfig(board=recipe.size, net=net.config, optimizer=recipe.optimizer, trainer=trainer)
    module = HexModule(settings, profile)
    module.net.load_state_dict(net.state_dict())
    return module


def loss_after(net: HexNet, recipe: Recipe, profile: DeviceProfile, batches: list[Positions]) -> float:
    """Mean loss over `batches` in float32 after one step on each, to compare devices.

    Batch norm normalises by the batch, as in training: its running statistics need more than a few steps.
    """
    torch.manual_seed(0)
    module = copy_of(net, recipe, profile)
    fit(module, DataLoader(batches, batch_size=None), profile, [])  # type: ignore[arg-type]
    module.to("cpu").train()
    with torch.no_grad():
        return sum(float(module.losses(module.output(batch), batch)["loss"]) for batch in batches) / len(batches)


def batches_of(size: int, batch: int) -> list[Positions]:
    """A few batches, the same on every device: random stones, equal policies over free cells, random values."""
    planes = torch.from_numpy(random_planes(BATCHES * batch, size))
    free = (planes[:, 0] + planes[:, 1] == 0).flatten(1).float() + 1e-6
    value = torch.rand(BATCHES * batch, generator=torch.Generator().manual_seed(0)) * 2 - 1
    whole = (planes, free / free.sum(1, keepdim=True), value)
    return list(parts_of(whole, batch))
