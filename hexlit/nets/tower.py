"""The network: a stem, a tower of residual blocks, and two heads."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from hexlit.hex.encoding import PLANES
from hexlit.nets.blocks import ConvNorm, GlobalBias, ResidualBlock, SelfAttention, SqueezeExcitation, make_activation
from hexlit.nets.checkpointing import recomputed
from hexlit.nets.config import BLOCKS, NetConfig
from hexlit.nets.heads import BoardSummary, PolicyHead, ValueHead
from hexlit.nets.outside_blocks import outside_block

T = TypeVar("T")

GLOBAL_BIAS_EVERY = 3
"""With `net.global_pooling`, every third block has a bias from the whole board."""


class NetOutput(NamedTuple):
    """Output of the network for B positions, each seen by the player to move."""

    policy_logits: Tensor
    """`[B, n*n + 1]`, unmasked; the swap action is last."""

    value_logit: Tensor
    """`[B]`, unbounded."""

    auxiliary: dict[str, Tensor]
    """Logits `[B, n*n + 1]` of each auxiliary head by its name; empty in evaluation."""

    @property
    def value(self) -> Tensor:
        """`[B]` in [-1, 1]: 1 is a sure win of the player to move."""
        return torch.tanh(self.value_logit)


class HexNet(nn.Module):
    """Policy and value of Hex positions on any board from 2 to 19, in the mover's frame.

    Every layer keeps the board's size and the heads pool over the board, so no weight depends on the size. `build_net`
    makes one.

    Args:
        config: its settings; the heads follow them, too.
        stem: from the planes to the channels of the trunk.
        blocks: the residual blocks of all stages, `[B, C, n, n]` → `[B, C, n, n]`.
        attention: the layer at the end of each stage; empty for a network without.
        auxiliary: names of further policy heads, which only training computes; see `playing_state`.

    Attributes:
        checkpointing: whether training keeps only the input of each block and computes the rest again for the gradients
            (gradient checkpointing, Chen et al. 2016). It takes less memory and about a third more work, with the same
            results. It may be set at any time; no checkpoint records it.
    """

    def __init__(
        self,
        config: NetConfig,
        stem: ConvNorm,
        blocks: list[nn.Module],
        attention: list[SelfAttention],
        auxiliary: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.config = config
        self.checkpointing = False
        self.stem = stem
        self.activation = make_activation(config.activation)
        self.blocks = nn.ModuleList(blocks)
        self.attention = nn.ModuleList(attention)
        self.summary = BoardSummary(config)
        self.policy = PolicyHead(config)
        self.value = ValueHead(config)
        self.auxiliary = nn.ModuleDict({name: PolicyHead(config) for name in auxiliary})

    def forward(self, planes: Tensor) -> NetOutput:
        """`[B, 5, n, n]` of floats → logits of policy and value, in training those of the auxiliary heads as well."""
        x = self.activation(self.stem(planes))
        recompute = self.checkpointing and self.training and torch.is_grad_enabled()
        for part in self._trunk():
            x = recomputed(part, x) if recompute else part(x)
        summary = self.summary(x)
        heads = self.auxiliary.items() if self.training else ()
        return NetOutput(self.policy(x, summary), self.value(summary), {name: head(x, summary) for name, head in heads})

    def _trunk(self) -> list[nn.Module]:
        """The blocks in their order, self-attention at the end of each stage."""
        if not self.attention:
            return list(self.blocks)
        stages = zip(pairwise(accumulate(self.config.blocks, initial=0)), self.attention, strict=True)
        return [part for (start, end), attention in stages for part in (*self.blocks[start:end], attention)]


def playing_state(state: Mapping[str, T]) -> dict[str, T]:
    """The part of a network's `state` that play needs: without the auxiliary heads."""
    return {name: value for name, value in state.items() if not name.startswith("auxiliary.")}


def build_net(config: NetConfig, auxiliary: Sequence[str] = ()) -> HexNet:
    """An untrained network of `config`, with weights from torch's generator; this alone tells the kinds apart.

    It has an `auxiliary` policy head of each name; its other weights do not depend on them.

    Raises:
        BlockError: the package that brings its block is missing, or the block is not as it should be.
    """
    channels, activation = config.channels, config.activation
    middle = channels // 2 if config.block == "bottleneck" else channels
    conv = partial(ConvNorm, hexagonal=config.kernel == "hex")
    stem = conv(PLANES, channels, 3)
    blocks: list[nn.Module] = []
    for number in range(1, sum(config.blocks) + 1):
        if config.block not in BLOCKS:
            blocks.append(outside_block(config))
            continue
        if config.block == "bottleneck":
            layers = [conv(channels, middle, 1), conv(middle, middle, 3), conv(middle, channels, 1)]
        else:
            layers = [conv(channels, channels, 3), conv(channels, channels, 3)]
        has_bias = config.global_pooling and number % GLOBAL_BIAS_EVERY == 0
        bias = GlobalBias(middle, channels) if has_bias else None
        gate = SqueezeExcitation(channels, activation) if config.attention == "se" else None
        blocks.append(ResidualBlock(layers, activation, bias=bias, gate=gate))
    stages = len(config.blocks) if config.attention == "self" else 0
    attention = [SelfAttention(channels, config.attention_heads) for _ in range(stages)]
    return HexNet(config, stem, blocks, attention, auxiliary)
