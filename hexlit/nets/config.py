"""The `net` section of the configuration: the shape of the network."""

from dataclasses import dataclass

from hexlit.errors import UsageError
from hexlit.settings import BLOCK_GROUP, Settings, number, one_of

BLOCKS = ("basic", "bottleneck")
"""hexlit's own residual blocks; no package can bring another one of these names."""
ATTENTIONS = ("none", "se", "self")
ACTIVATIONS = ("relu", "gelu", "silu", "mish", "leaky_relu")

MOST_BLOCKS = 1000
"""Most residual blocks of all stages together."""


@dataclass
class NetConfig(Settings, section="net"):
    """A residual tower with a policy and a value head. The same weights play on every board from 2
    to 19.

    `blocks` with `block` give the known layouts: [6] basic is a plain tower, [2, 2, 2, 2] basic is
    ResNet-18, [3, 4, 6, 3] basic ResNet-34 and [3, 4, 6, 3] bottleneck ResNet-50, all without
    striding and of one width.

    Raises:
        UsageError: a value is out of range; the message names the dotted key.
    """

    channels: int = number(64, "[1, inf)")
    """Channels of the trunk."""

    blocks: list[int] = number([6], "[1, inf)")
    """Residual blocks of each stage."""

    block: str = one_of(BLOCKS, "basic", group=BLOCK_GROUP)
    """Kind of residual block: basic (two 3x3 convolutions) or bottleneck (1x1, 3x3, 1x1 at half the
    channels). Other names are blocks of installed packages. Such a block decides itself whether it
    follows net.activation, net.attention=se and net.global_pooling.
    """

    activation: str = one_of(ACTIVATIONS, "relu")
    """Activation. Only relu has the fast backends of the CPU."""

    attention: str = one_of(ATTENTIONS, "none")
    """Attention. With se each residual block weighs its channels by the whole board. With self each
    stage ends with attention of every cell to every other; it has none of the fast backends of the
    CPU.
    """

    attention_heads: int = number(4, "[1, inf)")
    """Heads of attention self; they share the channels evenly."""

    norm: str = one_of(("batch", "boards"), "batch")
    """Batch norm. With batch it plays by one running mean over the latest batches; with boards by
    one for each size of the board, which a network of several boards needs.
    """

    global_pooling: bool = True
    """Whether every third block adds a bias computed from the whole board to each channel."""

    dropout: float = number(0.0, "[0, 1)")
    """Share of the heads' hidden units that is dropped in training."""

    policy_channels: int = number(32, "[1, inf)")
    """Channels of the policy head."""

    value_channels: int = number(32, "[1, inf)")
    """Channels that are pooled over the board for the value, the swap action and the policy's
    bias.
    """

    value_hidden: int = number(64, "[1, inf)")
    """Hidden units of the value head."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.blocks:
            raise UsageError(
                "net.blocks=[]: must be a list of stages of 1 or more blocks, such as [6]"
            )
        if sum(self.blocks) > MOST_BLOCKS:
            raise UsageError(
                f"net.blocks={self.blocks}: must have at most {MOST_BLOCKS} blocks in all"
            )
        if self.block == "bottleneck" and self.channels < 2:
            raise UsageError(
                f"net.channels={self.channels}: must be 2 or more with net.block=bottleneck"
            )
        if self.attention == "self" and self.channels % self.attention_heads:
            raise UsageError(
                f"net.attention_heads={self.attention_heads}: must divide net.channels={self.channels}"
            )


def obstacle_for_plain_parts(config: NetConfig, where: str) -> str:
    """Why a network of `config` cannot be computed by `where`, which has the plain parts alone;
    empty if it can.
    """
    if config.block not in BLOCKS:
        return f"net.block={config.block} is not in {where}, {' and '.join(BLOCKS)} are"
    if config.attention == "self":
        return f"net.attention={config.attention} is not in {where}, none and se are"
    if config.activation != "relu":
        return f"net.activation={config.activation} is not in {where}, relu is"
    return ""
