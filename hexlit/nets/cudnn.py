"""Evaluation on a CUDA device by cuDNN's operators that add bias, shortcut and ReLU to a convolution:
one kernel where torch's own operators launch two or three.
"""

from typing import Any

import torch
from torch import Tensor, nn

from hexlit.nets.backends import TwinForward
from hexlit.nets.blocks import ConvNorm, ResidualBlock
from hexlit.nets.config import obstacle_for_plain_parts
from hexlit.nets.tower import HexNet

ONE = [1, 1]
"""Stride and dilation."""


class CudnnForward(TwinForward):
    """The folded network whose trunk is computed by these operators."""

    def __init__(
        self, net: HexNet, device: torch.device, dtype: torch.dtype, channels_last: bool
    ) -> None:
        """As `TwinForward`.

        Raises:
            RuntimeError: the network has parts that these operators do not compute.
        """
        if obstacle := obstacle_for_plain_parts(net.config, "cuDNN's fused operators"):
            raise RuntimeError(obstacle)
        super().__init__(net, device, dtype, channels_last)
        self.twin.stem.__class__ = CudnnConvolution
        for block in self.twin.blocks:
            block.__class__ = CudnnBlock


class CudnnConvolution(ConvNorm):
    """A folded convolution with its ReLU."""

    def forward(self, x: Tensor) -> Tensor:
        """`[B, inputs, n, n]` → `[B, outputs, n, n]`."""
        return convolved(self, x)


class CudnnBlock(ResidualBlock):
    """A block of folded convolutions."""

    def forward(self, x: Tensor) -> Tensor:
        """`[B, C, n, n]` → `[B, C, n, n]`."""
        if self.gate is not None or self.bias is not None:
            return super().forward(x)
        inner = x
        for layer in self.layers[:-1]:
            inner = convolved(layer, inner)
        last: Any = self.layers[-1].conv
        result: Tensor = torch.cudnn_convolution_add_relu(
            inner, last.weight, x, 1.0, last.bias, ONE, last.padding, ONE, 1
        )
        return result


def convolved(layer: nn.Module, x: Tensor) -> Tensor:
    """`relu(convolution(x))` of a folded layer."""
    conv: Any = layer.conv
    result: Tensor = torch.cudnn_convolution_relu(
        x, conv.weight, conv.bias, ONE, conv.padding, ONE, 1
    )
    return result
