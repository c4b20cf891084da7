"""From the trunk's features to policy and value, and the mask of illegal actions."""

import torch
from torch import Tensor, nn

from hexlit.nets.blocks import ConvNorm, make_activation, pool_board
from hexlit.nets.config import NetConfig

ILLEGAL = -1e9
"""Logit of an illegal action: its probability is exactly 0, and 0 * log-probability stays finite."""

OUTPUT_SCALE = 0.01
"""Standard deviation of the last layers' first weights: an untrained network is near uniform and near 0."""


class BoardSummary(nn.Module):
    """Summary of the whole board for both heads: `[B, C, n, n]` → `[B, 3*value_channels]`."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.layer = ConvNorm(config.channels, config.value_channels, 1)
        self.activation = make_activation(config.activation)

    def forward(self, x: Tensor) -> Tensor:
        """Pool the result of one 1x1 convolution."""
        return pool_board(self.activation(self.layer(x)))


class PolicyHead(nn.Module):
    """Logits of the cells and of the swap action: `[B, C, n, n]`, `[B, 3*V]` → `[B, n*n + 1]`, swap last."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.layer = ConvNorm(config.channels, config.policy_channels, 1)
        self.bias = nn.Linear(3 * config.value_channels, config.policy_channels)
        self.activation = make_activation(config.activation)
        self.dropout = nn.Dropout(config.dropout)
        self.cells = nn.Conv2d(config.policy_channels, 1, 1)
        self.swap = nn.Linear(3 * config.value_channels, 1)
        nn.init.zeros_(self.bias.weight)
        nn.init.zeros_(self.bias.bias)
        for last in (self.cells, self.swap):
            nn.init.normal_(last.weight, std=OUTPUT_SCALE)
            nn.init.zeros_(last.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor, summary: Tensor) -> Tensor:
        """Judge every cell by its features and the whole board."""
        features = self.activation(self.layer(x) + self.bias(summary)[:, :, None, None])
        cells = self.cells(self.dropout(features)).flatten(1)
        return torch.cat((cells, self.swap(summary)), dim=1)


class ValueHead(nn.Module):
    """Logit of the value for the mover: `[B, 3*V]` → `[B]`; tanh of it is in [-1, 1]."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.hidden = nn.Linear(3 * config.value_channels, config.value_hidden)
        self.activation = make_activation(config.activation)
        self.dropout = nn.Dropout(config.dropout)
        self.last = nn.Linear(config.value_hidden, 1)
        nn.init.normal_(self.last.weight, std=OUTPUT_SCALE)
        nn.init.zeros_(self.last.bias)

    def forward(self, summary: Tensor) -> Tensor:
        """Judge the whole board."""
        logit: Tensor = self.last(self.dropout(self.activation(self.hidden(summary))))
        return logit.squeeze(1)


def masked_logits(policy_logits: Tensor, planes: Tensor) -> Tensor:
    """The policy's logits in float32 with `ILLEGAL` for taken cells and for a swap that is not allowed.

    Args:
        policy_logits: `[B, n*n + 1]`, swap last; or `[B, n*n]` without the swap rule.
        planes: `[B, 5, n, n]` of any dtype, the input of the network.

    Returns:
        float32, of the shape of `policy_logits`.
    """
    cells = planes.shape[-1] * planes.shape[-2]
    illegal = (planes[:, 0] + planes[:, 1]).flatten(1) != 0
    if policy_logits.shape[1] == cells + 1:
        illegal = torch.cat((illegal, planes[:, 4, 0, :1] == 0), dim=1)
    return policy_logits.float().masked_fill(illegal, ILLEGAL)
