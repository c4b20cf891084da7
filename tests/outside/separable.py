"""A block for `hexlit train net.block=separable`."""

from torch import Tensor, nn

from hexlit.nets.config import NetConfig


class Separable(nn.Module):
    """A depthwise and a pointwise convolution,
    added to the input. `[B, C, n, n]` → `[B, C, n, n]`.
    """

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(
            config.channels, config.channels, 3, padding=1, groups=config.channels
        )
        self.pointwise = nn.Conv2d(config.channels, config.channels, 1)
        self.norm = nn.BatchNorm2d(config.channels)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.norm(self.pointwise(self.depthwise(x))).relu()
