"""The parts of a tower: convolution with batch norm, pooling of a whole board, attention, residual
blocks.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

SQUEEZE = 4
"""Channels for each hidden unit of a squeeze-and-excitation."""


class ConvNorm(nn.Module):
    """A convolution that keeps the board's size, followed by batch norm. `[B, inputs, n, n]` → `[B,
    outputs, n, n]`.
    """

    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)
        nn.init.kaiming_normal_(self.conv.weight, mode="fan_in", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        """Convolve and normalise."""
        result: Tensor = self.norm(self.conv(x))
        return result

    def folded(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of the one convolution that equals this layer in evaluation, float32 and
        detached.
        """
        if self.norm.running_mean is None or self.norm.running_var is None:
            raise ValueError("batch norm without running statistics cannot be folded")
        scale = self.norm.weight.detach().float() * torch.rsqrt(
            self.norm.running_var.float() + self.norm.eps
        )
        bias = self.norm.bias.detach().float() - self.norm.running_mean.float() * scale
        return self.conv.weight.detach().float() * scale[:, None, None, None], bias


_ACTIVATIONS: dict[str, type[nn.Module]]
_ACTIVATIONS = {
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "mish": nn.Mish,
    "leaky_relu": nn.LeakyReLU,
}


def make_activation(name: str) -> nn.Module:
    """The activation of that name; `NetConfig` has already refused unknown names."""
    return _ACTIVATIONS[name]()


def pool_board(x: Tensor) -> Tensor:
    """A whole board in one vector: per channel the mean, the mean scaled by the board's size, and
    the maximum.

    `[B, C, n, n]` → `[B, 3*C]`. The scaled mean lets the next layers depend on the size (KataGo, Wu
    2019, section 4).
    """
    mean = x.mean(dim=(2, 3))
    return torch.cat((mean, mean * size_scale(x.shape[-1]), x.amax(dim=(2, 3))), dim=1)


def size_scale(size: int) -> float:
    """The factor of the scaled mean for a board of `size`: from -0.8 on 2x2 to 0.9 on 19x19."""
    return (size - 10) / 10


class GlobalBias(nn.Module):
    """One bias per channel from features of the whole board: `[B, inputs, n, n]` → `[B, outputs, 1,
    1]`.

    Connection in Hex is global; this carries information across the board in one step. It starts at
    zero.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(3 * inputs, outputs)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Pool the board and map it to one bias per channel."""
        bias: Tensor = self.linear(pool_board(x))
        return bias[:, :, None, None]


class SqueezeExcitation(nn.Module):
    """`x` with each channel weighed by the whole board, `[B, C, n, n]` → `[B, C, n, n]` (Hu et al.
    2018).

    The weights are in (0, 1): the mean of every channel goes through a hidden layer of C/4 units
    and a sigmoid.
    """

    def __init__(self, channels: int, activation: str) -> None:
        super().__init__()
        self.squeeze = nn.Linear(channels, max(1, channels // SQUEEZE))
        self.activation = make_activation(activation)
        self.excite = nn.Linear(self.squeeze.out_features, channels)

    def forward(self, x: Tensor) -> Tensor:
        """Weigh the channels."""
        hidden = self.activation(self.squeeze(x.mean(dim=(2, 3))))
        return x * torch.sigmoid(self.excite(hidden))[:, :, None, None]


class SelfAttention(nn.Module):
    """`x + attention(norm(x))` over the cells of a board, `[B, C, n, n]` → `[B, C, n, n]` (Vaswani
    et al. 2017).

    Every cell attends to every other in `heads` heads of C/heads channels. No weight depends on the
    board's size, and cells have no coordinates: the convolutions below put a cell's place into its
    features. The last layer starts at zero, so that an untrained block passes its input on.
    """

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(channels)
        self.queries_keys_values = nn.Linear(channels, 3 * channels)
        self.last = nn.Linear(channels, channels)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Add the result of attention to every cell."""
        cells = self.norm(x.flatten(2).transpose(1, 2))  # [B, n*n, C]
        parts = self.queries_keys_values(cells).unflatten(
            2, (3, self.heads, -1)
        )  # [B, n*n, 3, heads, C/heads]
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        result = functional.scaled_dot_product_attention(
            queries, keys, values
        )  # [B, heads, n*n, C/heads]
        y: Tensor = self.last(result.transpose(1, 2).flatten(2))
        return x + y.transpose(1, 2).reshape(x.shape)


class ResidualBlock(nn.Module):
    """`activation(x + convolutions(x))`, `[B, C, n, n]` → `[B, C, n, n]` (He et al. 2016).

    The last batch norm starts at zero, so that an untrained block passes its input on.

    Args:
        layers: the convolutions, from C channels back to C, with an activation between each two.
        activation: its name, see `make_activation`.
        bias: maps the features before the last convolution to one bias a channel, or None.
        gate: weighs the channels of the convolutions before they are added, or None.
    """

    def __init__(
        self,
        layers: list[ConvNorm],
        activation: str,
        *,
        bias: GlobalBias | None = None,
        gate: SqueezeExcitation | None = None,
    ) -> None:
        super().__init__()
        nn.init.zeros_(layers[-1].norm.weight)
        self.layers = nn.ModuleList(layers)
        self.activation = make_activation(activation)
        self.bias = bias
        self.gate = gate

    def forward(self, x: Tensor) -> Tensor:
        """Add the result of the convolutions to `x`."""
        inner = x
        for layer in self.layers[:-1]:
            inner = self.activation(layer(inner))
        found = self.layers[-1](inner)
        if self.gate is not None:
            found = self.gate(found)
        y: Tensor = found + x
        if self.bias is not None:
            y = y + self.bias(inner)
        result: Tensor = self.activation(y)
        return result
