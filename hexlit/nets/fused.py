"""The network on a CPU through oneDNN's fused operators: convolution, bias, addition and relu in
one call each.

Batch norm is folded into the convolutions and the weights are packed once per refresh, which takes
milliseconds. Nothing is compiled. The operators are private to torch, so `fused_obstacle` checks
that they exist, and the evaluator compares the results with the plain network before it uses them.
"""

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from hexlit.nets.blocks import ConvNorm, ResidualBlock, size_scale
from hexlit.nets.config import obstacle_for_plain_parts
from hexlit.nets.tower import HexNet

OPERATORS = ("_reorder_convolution_weight", "_convolution_pointwise", "_convolution_pointwise_")


def fused_obstacle(net: HexNet) -> str:
    """Why `net` cannot take the fused backend here; empty if it can."""
    if obstacle := obstacle_for_plain_parts(net.config, "the fused operators"):
        return obstacle
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return "this torch is built without oneDNN"
    missing = [name for name in OPERATORS if not hasattr(torch.ops.mkldnn, name)]
    return f"this torch lacks the operators {', '.join(missing)}" if missing else ""


class PackedConv(NamedTuple):
    """A convolution and its batch norm, packed for oneDNN."""

    weight: Tensor
    bias: Tensor
    padding: list[int]

    def __call__(self, x: Tensor, activation: str) -> Tensor:
        """A new tensor, `activation(convolution(x))`; activation is "relu" or "none"."""
        y: Tensor = torch.ops.mkldnn._convolution_pointwise(
            x, self.weight, self.bias, self.padding, [1, 1], [1, 1], 1, activation, [], None
        )
        return y

    def add_relu(self, x: Tensor, total: Tensor) -> Tensor:
        """`relu(convolution(x) + total)`, written into `total`."""
        y: Tensor = torch.ops.mkldnn._convolution_pointwise_.binary(
            total,
            x,
            self.weight,
            self.bias,
            self.padding,
            [1, 1],
            [1, 1],
            1,
            "add",
            1.0,
            "relu",
            [],
            None,
        )
        return y


class PackedLinear(NamedTuple):
    """Weights `[inputs, outputs]` and bias `[outputs]` of a linear layer, float32."""

    weight: Tensor
    bias: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """`[B, inputs]` → `[B, outputs]`."""
        return torch.addmm(self.bias, x, self.weight)


class FusedBlock(NamedTuple):
    """A residual block."""

    convs: list[PackedConv]
    bias: PackedLinear | None
    gate: tuple[PackedLinear, PackedLinear] | None


class FusedForward:
    """The weights of a `HexNet`, packed for one board size and batch size; a snapshot that does not
    follow the net.

    Args:
        net: the network.
        dtype: float32 or bfloat16, for everything up to the pooled features; the small layers after
            them are float32.
        size: board size n.
        batch: positions B in a call.

    Raises:
        RuntimeError: it has a `fused_obstacle`.
    """

    def __init__(self, net: HexNet, dtype: torch.dtype, size: int, batch: int) -> None:
        if obstacle := fused_obstacle(net):
            raise RuntimeError(obstacle)
        self.dtype = dtype
        self.size = size
        self.batch = batch
        self.scale = size_scale(size)
        self.refresh(net)

    def refresh(self, net: HexNet) -> None:
        """Pack the current weights of `net`."""
        self.stem = self._conv(net.stem)
        self.blocks = [self._block(cast(ResidualBlock, block)) for block in net.blocks]
        self.summary = self._conv(net.summary.layer)
        self.policy = self._conv(net.policy.layer)
        self.cells = net.policy.cells.weight.detach().to(self.dtype).reshape(-1, 1).clone()
        self.cells_bias = (
            float(net.policy.cells.bias.detach()) if net.policy.cells.bias is not None else 0.0
        )
        self.from_summary = _linears([net.policy.bias, net.policy.swap, net.value.hidden])
        self.value_last = _linears([net.value.last])

    def __call__(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """int8 `[B, 5, n, n]` → float32 policy logits `[B, n*n + 1]` and value logits `[B]`."""
        x = self.stem(planes.to(self.dtype).contiguous(memory_format=torch.channels_last), "relu")
        for block in self.blocks:
            x = self._apply_block(block, x)
        summary = self.from_summary(self._pool(self.summary(x, "relu")))
        features = self._rows(self.policy(x, "none"))
        width = features.shape[2]
        features.add_(summary[:, None, :width].to(self.dtype)).relu_()
        logits = torch.empty(self.batch, self.size**2 + 1)
        logits[:, :-1] = (features.view(-1, width) @ self.cells).view(self.batch, -1)
        logits[:, :-1] += self.cells_bias
        logits[:, -1] = summary[:, width]
        value = self.value_last(summary[:, width + 1 :].relu())
        return logits, value.squeeze(1)

    def _apply_block(self, block: FusedBlock, x: Tensor) -> Tensor:
        inner = x
        for conv in block.convs[:-1]:
            inner = conv(inner, "relu")
        if block.bias is not None:
            self._rows(x).add_(block.bias(self._pool(inner))[:, None].to(self.dtype))
        if block.gate is None:
            return block.convs[-1].add_relu(inner, x)
        squeeze, excite = block.gate
        result = block.convs[-1](inner, "none")
        weights = torch.sigmoid(excite(squeeze(self._mean(result)).relu_()))
        self._rows(x).addcmul_(self._rows(result), weights[:, None].to(self.dtype)).relu_()
        return x

    def _rows(self, x: Tensor) -> Tensor:
        """The channels_last tensor `[B, C, n, n]` seen as `[B, n*n, C]`."""
        return x.permute(0, 2, 3, 1).view(self.batch, self.size**2, -1)

    def _pool(self, x: Tensor) -> Tensor:
        """As `pool_board`, in float32: `[B, C, n, n]` → `[B, 3*C]`."""
        mean = self._mean(x)
        return torch.cat(
            (mean, mean * self.scale, functional.max_pool2d(x, self.size).flatten(1).float()), dim=1
        )

    def _mean(self, x: Tensor) -> Tensor:
        """Mean of each channel over the board, in float32: `[B, C, n, n]` → `[B, C]`."""
        return functional.avg_pool2d(x, self.size).flatten(1).float()

    def _conv(self, layer: ConvNorm) -> PackedConv:
        weight, bias = layer.folded()
        padding = [weight.shape[2] // 2] * 2
        weight, shape = weight.to(self.dtype), [self.batch, weight.shape[1], self.size, self.size]
        packed = torch.ops.mkldnn._reorder_convolution_weight(
            weight, padding, [1, 1], [1, 1], 1, shape
        )
        return PackedConv(packed, bias.to(self.dtype), padding)

    def _block(self, block: ResidualBlock) -> FusedBlock:
        convs = [self._conv(cast(ConvNorm, layer)) for layer in block.layers]
        bias = _linears([block.bias.linear]) if block.bias is not None else None
        if block.gate is None:
            return FusedBlock(convs, bias, None)
        return FusedBlock(
            convs, bias, (_linears([block.gate.squeeze]), _linears([block.gate.excite]))
        )


def _linears(layers: list[nn.Linear]) -> PackedLinear:
    """Linear layers of the same input, concatenated."""
    weight = torch.cat([layer.weight.detach().float() for layer in layers])
    return PackedLinear(
        weight.t().contiguous(), torch.cat([layer.bias.detach().float() for layer in layers])
    )
