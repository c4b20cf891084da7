"""Floating-point operations of the network."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from hexlit.hex.encoding import PLANES
from hexlit.nets.config import BLOCKS, NetConfig
from hexlit.nets.tower import HexNet, build_net

POSITIONS = 2
"""Positions of the pass that is counted: batch norm of pooled features trains on no fewer."""


def forward_flops(config: NetConfig, size: int) -> int:
    """Operations of a forward pass of one position through the network of `config` on a board of `size`.

    It counts products of matrices and convolutions, those of attention included; a multiplication and its addition are
    two. Normalising, activations and pooling, about a hundredth, are left out.
    """
    with _apart(config):
        return _counted(build_net(config).eval(), size)


def training_flops(config: NetConfig, size: int, auxiliary: Sequence[str]) -> int:
    """As `forward_flops`, of a forward pass in training: with the `auxiliary` heads."""
    with _apart(config):
        return _counted(build_net(config, auxiliary).train(), size)


@contextmanager
def _apart(config: NetConfig) -> Iterator[None]:
    """Networks made inside the block take no random draws of the caller's, and no memory if they are hexlit's own.

    Another package's block need not work on tensors without values, so it computes.
    """
    with torch.random.fork_rng(devices=[]), torch.device("meta" if config.block in BLOCKS else "cpu"):
        yield


def _counted(net: HexNet, size: int) -> int:
    planes = torch.zeros(POSITIONS, PLANES, size, size)
    # The counter does not know all fused kernels of attention, but it knows its two products.
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        net(planes)
    return int(counter.get_total_flops()) // POSITIONS
