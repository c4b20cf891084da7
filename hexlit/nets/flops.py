"""Floating-point operations of the network."""

from collections.abc import Sequence

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from hexlit.hex.encoding import PLANES
from hexlit.nets.config import NetConfig
from hexlit.nets.tower import HexNet, build_net


def forward_flops(config: NetConfig, size: int) -> int:
    """Operations of a forward pass of one position through the network of `config` on a board of `size`.

    It counts products of matrices and convolutions, those of attention included; a multiplication and its addition are
    two. Normalising, activations and pooling, about a hundredth, are left out. Nothing is computed.
    """
    with torch.device("meta"):  # shapes only: no memory and no random draws are used
        return _counted(build_net(config).eval(), size)


def training_flops(config: NetConfig, size: int, auxiliary: Sequence[str]) -> int:
    """As `forward_flops`, of a forward pass in training: with the `auxiliary` heads."""
    with torch.device("meta"):
        return _counted(build_net(config, auxiliary).train(), size)


def _counted(net: HexNet, size: int) -> int:
    planes = torch.zeros(1, PLANES, size, size)
    # The counter does not know all fused kernels of attention, but it knows its two products.
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        net(planes)
    return int(counter.get_total_flops())
