"""The `net` section of the configuration: the shape of the network."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hexlit.choices import check_words, one_of
from hexlit.errors import UsageError
from hexlit.outside import BLOCK_GROUP

BLOCKS = ("basic", "bottleneck")
"""hexlit's own residual blocks; no package can bring another one of these names."""
ATTENTIONS = ("none", "se", "self")
AUXILIARY = REPLY, SOFT = "reply", "soft"
"""Policy heads that only training computes: the opponent's reply, and a softened searched policy."""
ACTIVATIONS = ("relu", "gelu", "silu", "mish", "leaky_relu")


@dataclass
class NetConfig:
    """A residual tower with a policy and a value head. The same weights play on every board from 2 to 19.

    `blocks` with `block` give the known layouts: [6] basic is a plain tower, [2, 2, 2, 2] basic is ResNet-18,
    [3, 4, 6, 3] basic ResNet-34 and [3, 4, 6, 3] bottleneck ResNet-50, all without striding and of one width.

    Raises:
        UsageError: a value is out of range; the message names the dotted key.
    """

    channels: int = 64
    """Channels of the trunk."""

    blocks: list[int] = field(default_factory=lambda: [6])
    """Residual blocks of each stage."""

    block: str = one_of(BLOCKS, "basic", group=BLOCK_GROUP)
    """Kind of residual block: basic (two 3x3 convolutions) or bottleneck (1x1, 3x3, 1x1 at half the channels).
    Other names are blocks of installed packages. Such a block decides itself whether it follows
    net.activation, net.attention=se and net.global_pooling."""

    activation: str = one_of(ACTIVATIONS, "relu")
    """Activation. Only relu has the fast backends of the CPU."""

    attention: str = one_of(ATTENTIONS, "none")
    """Attention. With se each residual block weighs its channels by the whole board. With self each
    stage ends with attention of every cell to every other; it has none of the fast backends of the CPU."""

    attention_heads: int = 4
    """Heads of attention self; they share the channels evenly."""

    global_pooling: bool = True
    """Whether every third block adds a bias computed from the whole board to each channel."""

    dropout: float = 0.0
    """Share of the heads' hidden units that is dropped in training, in [0, 1)."""

    policy_channels: int = 32
    """Channels of the policy head."""

    value_channels: int = 32
    """Channels that are pooled over the board for the value, the swap action and the policy's bias."""

    value_hidden: int = 64
    """Hidden units of the value head."""

    def __post_init__(self) -> None:
        check_words(self, "net")
        for key in ("channels", "attention_heads", "policy_channels", "value_channels", "value_hidden"):
            if getattr(self, key) < 1:
                raise UsageError(f"net.{key}={getattr(self, key)}: must be 1 or more")
        if not self.blocks or min(self.blocks) < 1:
            raise UsageError(f"net.blocks={list(self.blocks)}: must be a list of stages of 1 or more blocks, e.g. [6]")
        if self.block == "bottleneck" and self.channels < 2:
            raise UsageError(f"net.channels={self.channels}: must be 2 or more with net.block=bottleneck")
        if self.attention == "self" and self.channels % self.attention_heads:
            near = next(heads for heads in range(self.attention_heads, 0, -1) if self.channels % heads == 0)
            raise UsageError(
                f"net.attention_heads={self.attention_heads}: must divide net.channels={self.channels}, such as {near}"
            )
        if not 0.0 <= self.dropout < 1.0:
            raise UsageError(f"net.dropout={self.dropout}: must be at least 0 and below 1")


def saved_config(settings: Mapping[str, Any]) -> NetConfig:
    """The settings of a network as a file has them. Files of 0.2 also have `kernel`, which the weights imply."""
    return NetConfig(**{name: value for name, value in settings.items() if name != "kernel"})
