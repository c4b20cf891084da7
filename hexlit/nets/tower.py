"""The network of Hex: heads, tower, how one is made or loaded, and its operations."""

import copy
from collections.abc import Mapping, Sequence
from itertools import accumulate, count, pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from hexlit.accelerate.batch_norm import SizedBatchNorm2d
from hexlit.hex.encoding import PLANES
from hexlit.hex.geometry import LARGEST_BOARD
from hexlit.nets.blocks import (
    ConvNorm,
    GlobalBias,
    ResidualBlock,
    SelfAttention,
    SqueezeExcitation,
    make_activation,
    pool_board,
)
from hexlit.nets.config import BLOCKS, NetConfig
from hexlit.nets.outside_blocks import BlockError, outside_block, require_package


def recomputed(part: nn.Module, x: Tensor) -> Tensor:
    """`part(x)` that keeps only `x` for the backward pass (Chen et al. 2016).

    Gradients, buffers such as batch norm's running statistics, and random draws are those of
    `part(x)` itself.
    """
    if (
        torch.compiler.is_compiling()
    ):  # the compiler recomputes values, never the updates of running statistics
        compiled: Tensor = checkpoint(part, x, use_reentrant=False)
        return compiled
    before = {name: buffer.clone() for name, buffer in part.named_buffers()}
    calls = count()

    def run(x: Tensor) -> Tensor:
        result: Tensor = functional_call(part, before, (x,)) if next(calls) else part(x)
        return result

    result: Tensor = checkpoint(run, x, use_reentrant=False)
    return result


ILLEGAL = -1e9
"""Logit of an illegal action: its probability is exactly 0, and 0 * log-probability stays
finite.
"""

OUTPUT_SCALE = 0.01
"""Standard deviation of the last layers' first weights: an untrained network is near uniform and
near 0.
"""


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
    """Logits of the cells and of the swap action: `[B, C, n, n]`, `[B, 3*V]` → `[B, n*n + 1]`, swap
    last.
    """

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
    """The policy's logits in float32 with `ILLEGAL` for taken cells and for a swap that is not
    allowed.

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


GLOBAL_BIAS_EVERY = 3
"""With `net.global_pooling`, every third block has a bias from the whole board."""


class NetOutput(NamedTuple):
    """Output of the network for B positions, each seen by the player to move."""

    policy_logits: Tensor
    """`[B, n*n + 1]`, unmasked; the swap action is last."""

    value_logit: Tensor
    """`[B]`, unbounded."""

    further: dict[str, Tensor]
    """Outputs of further heads by name, `[B, n*n]` or `[B]`."""

    @property
    def value(self) -> Tensor:
        """`[B]` in [-1, 1]: 1 is a sure win of the player to move."""
        return torch.tanh(self.value_logit)


class HexNet(nn.Module):
    """Policy and value of Hex positions on any board from 2 to 19, in the mover's frame.

    Every layer keeps the board's size and the heads pool over the board, so no weight depends on
    the size. `build_net` makes one.

    Args:
        config: its settings; the heads follow them, too.
        stem: from the planes to the channels of the trunk.
        blocks: the residual blocks of all stages, `[B, C, n, n]` → `[B, C, n, n]`.
        attention: the layer at the end of each stage; empty for a network without.

    Attributes:
        heads: heads of further targets in training, from the last features `[B, C, n, n]`; none in
            a network that is built or loaded for play.
        checkpointing: whether training keeps only the input of each block and computes the rest
            again for the gradients (gradient checkpointing, Chen et al. 2016). It takes less memory
            and about a third more work, with the same results. It may be set at any time; no
            checkpoint records it.
    """

    def __init__(
        self,
        config: NetConfig,
        stem: ConvNorm,
        blocks: list[nn.Module],
        attention: list[SelfAttention],
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
        self.heads = nn.ModuleDict()

    def forward(self, planes: Tensor) -> NetOutput:
        """`[B, 5, n, n]` of floats → logits of policy and value."""
        x = self.activation(self.stem(planes))
        recompute = self.checkpointing and self.training and torch.is_grad_enabled()
        for part in self._trunk():
            x = recomputed(part, x) if recompute else part(x)
        summary = self.summary(x)
        further = {name: head(x) for name, head in self.heads.items()}
        return NetOutput(self.policy(x, summary), self.value(summary), further)

    def _trunk(self) -> list[nn.Module]:
        """The blocks in their order, self-attention at the end of each stage."""
        if not self.attention:
            return list(self.blocks)
        stages = zip(
            pairwise(accumulate(self.config.blocks, initial=0)), self.attention, strict=True
        )
        trunk: list[nn.Module] = []
        for (start, end), attention in stages:
            trunk += [*self.blocks[start:end], attention]
        return trunk


HEADS = "heads."
"""Prefix of the further heads in a network's state."""


def state_for_play(state: Mapping[str, Any]) -> dict[str, Any]:
    """The `state` of a network without its further heads."""
    return {name: value for name, value in state.items() if not name.startswith(HEADS)}


def build_net(config: NetConfig) -> HexNet:
    """An untrained network of `config`, with weights from torch's generator; this alone names the
    kinds apart.

    Raises:
        BlockError: the package that brings its block is missing, or the block is not as it should
            be.
    """
    channels, activation = config.channels, config.activation
    middle = channels // 2 if config.block == "bottleneck" else channels
    stem = ConvNorm(PLANES, channels, 3)
    blocks: list[nn.Module] = []
    for number in range(1, sum(config.blocks) + 1):
        if config.block not in BLOCKS:
            blocks.append(outside_block(config))
            continue
        if config.block == "bottleneck":
            layers = [
                ConvNorm(channels, middle, 1),
                ConvNorm(middle, middle, 3),
                ConvNorm(middle, channels, 1),
            ]
        else:
            layers = [ConvNorm(channels, channels, 3), ConvNorm(channels, channels, 3)]
        has_bias = config.global_pooling and number % GLOBAL_BIAS_EVERY == 0
        bias = GlobalBias(middle, channels) if has_bias else None
        gate = SqueezeExcitation(channels, activation) if config.attention == "se" else None
        blocks.append(ResidualBlock(layers, activation, bias=bias, gate=gate))
    stages = len(config.blocks) if config.attention == "self" else 0
    attention = [SelfAttention(channels, config.attention_heads) for _ in range(stages)]
    net = HexNet(config, stem, blocks, attention)
    if config.norm == "boards":
        for layer in net.modules():
            if isinstance(layer, ConvNorm):
                plain = layer.norm
                layer.norm = SizedBatchNorm2d(layer.conv.out_channels, LARGEST_BOARD)
                layer.norm.weight, layer.norm.bias = plain.weight, plain.bias
    return net


def at_board(net: HexNet, size: int) -> HexNet:
    """`net` itself, or with statistics for each board a copy that has those of `size` alone."""
    if net.config.norm == "batch":
        return net
    net = copy.deepcopy(net)
    for layer in net.modules():
        if isinstance(layer, ConvNorm) and isinstance(layer.norm, SizedBatchNorm2d):
            layer.norm = layer.norm.of_size(size)
    return net


def saved_net(settings: Mapping[str, Any], state: Mapping[str, Tensor]) -> HexNet:
    """The network of the `NetConfig` with `settings`, in evaluation mode, with the weights `state`
    of play.

    Raises:
        BlockError: the package of its block is missing, or has other weights by now.
        Exception: anything else where these are no settings and weights of a network.
    """
    state = state_for_play(state)
    own = settings.get("block", BLOCKS[0]) in BLOCKS
    if not own:
        require_package(settings["block"])
    config = NetConfig(**settings)
    if own:
        refuse_other_shapes(config, {name: tensor.shape for name, tensor in state.items()})
    net = build_net(config)
    try:
        net.load_state_dict(state)
    except RuntimeError as error:
        if own:
            raise
        raise BlockError(
            f"the installed block {settings['block']} has other weights than the file"
        ) from error
    return net.eval()


def refuse_other_shapes(config: NetConfig, shapes: Mapping[str, Sequence[int]]) -> None:
    """Check the `shapes` of tensors against those of the network of `config`, for which no memory
    is taken.

    Raises:
        ValueError: they differ.
    """
    with torch.device("meta"):
        state = build_net(config).state_dict()
    expected = {name: [*tensor.shape] for name, tensor in state.items()}
    shapes = {name: [*shape] for name, shape in shapes.items()}
    differing = [name for name in {**expected, **shapes} if expected.get(name) != shapes.get(name)]
    if differing:
        raise ValueError(f"the network that it describes has other weights: {differing[0]}")


POSITIONS = 2
"""Positions of the pass that is counted: batch norm of pooled features trains on no fewer."""


def forward_flops(config: NetConfig, size: int) -> int:
    """Operations of a forward pass of one position through the network of `config` on a board of
    `size`.

    It counts products of matrices and convolutions, those of attention included; a multiplication
    and its addition are two. Normalising, activations and pooling, about a hundredth, are left out.

    Args:
        config: the network's settings.
        size: board size n.
    """
    # No random draws of the caller's, and no memory for hexlit's own networks. Another package's
    # block need not work on tensors without values, so it computes.
    with (
        torch.random.fork_rng(devices=[]),
        torch.device("meta" if config.block in BLOCKS else "cpu"),
    ):
        net = build_net(config).eval()
        planes = torch.zeros(POSITIONS, PLANES, size, size)
        # The counter does not know all fused kernels of attention, but it knows its two products.
        with (
            torch.no_grad(),
            sdpa_kernel(SDPBackend.MATH),
            FlopCounterMode(display=False) as counter,
        ):
            net(planes)
    return int(counter.get_total_flops()) // POSITIONS
