"""Heads and losses of further targets; see `hexlit.selfplay.targets`."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from hexlit.errors import UsageError
from hexlit.nets.blocks import ConvNorm, make_activation, pool_board
from hexlit.nets.config import NetConfig
from hexlit.nets.tower import masked_logits
from hexlit.selfplay.targets import Target


class CellsHead(nn.Module):
    """A number for each cell: `[B, C, n, n]` → `[B, n*n]`."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.layer = ConvNorm(config.channels, config.policy_channels, 1)
        self.activation = make_activation(config.activation)
        self.last = nn.Conv2d(config.policy_channels, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Judge every cell by its features."""
        result: Tensor = self.last(self.activation(self.layer(x))).flatten(1)
        return result


class BoardHead(nn.Module):
    """A number for the whole board: `[B, C, n, n]` → `[B]`."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.layer = ConvNorm(config.channels, config.value_channels, 1)
        self.activation = make_activation(config.activation)
        self.last = nn.Linear(3 * config.value_channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Judge the pooled features."""
        result: Tensor = self.last(pool_board(self.activation(self.layer(x)))).squeeze(1)
        return result


def make_heads(targets: Sequence[Target], config: NetConfig) -> nn.ModuleDict:
    """A head for each of `targets`, its module's own where it has one.

    Raises:
        UsageError: one is no module of torch.
    """
    heads = {}
    for target in targets:
        usual = BoardHead if target.module.KIND == "value" else CellsHead
        head = getattr(target.module, "head", usual)(config)
        if not isinstance(head, nn.Module):
            raise UsageError(
                f"targets.{target.name}: head returned {type(head).__name__}, no module"
            )
        heads[target.name] = head
    return nn.ModuleDict(heads)


def target_loss(target: Target, output: Tensor, wanted: Tensor, planes: Tensor) -> Tensor:
    """The mean loss of a head's `output` `[B, ...]`, 0 for positions and cells whose `wanted` value
    is NaN.

    Without a loss of its own, `cells` have the cross-entropy of each cell, `policy` that of the
    distribution over the free cells, and `value` the squared error of the output's tanh.

    Raises:
        UsageError: the output has another shape, or the module's own loss is no scalar.
    """
    if output.shape != wanted.shape:
        raise UsageError(
            f"targets.{target.name}: head returned shape {tuple(output.shape)}, "
            f"not {tuple(wanted.shape)}"
        )
    output = output.float()
    if hasattr(target.module, "loss"):
        result: Any = target.module.loss(output, wanted)
        if not isinstance(result, Tensor) or result.dim():
            raise UsageError(f"targets.{target.name}: loss returned no scalar tensor")
        return result
    known = ~wanted.isnan()
    wanted = wanted.nan_to_num()
    if target.module.KIND == "cells":
        losses = functional.binary_cross_entropy_with_logits(output, wanted, reduction="none")
    elif target.module.KIND == "policy":
        known = known.all(1)
        losses = functional.cross_entropy(masked_logits(output, planes), wanted, reduction="none")
    else:
        losses = functional.mse_loss(torch.tanh(output), wanted, reduction="none")
    return (losses * known).mean()  # over all, so that parts of a batch add up to the whole
