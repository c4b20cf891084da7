"""A running average of the weights of a network."""

from collections.abc import Iterator
from copy import deepcopy

import torch
from torch import Tensor, nn


class RunningAverage(nn.Module):
    """Exponential moving average of the weights and buffers of a network; the first update copies them.

    No update waits for the device.

    Attributes:
        module: the averaged network.
        n_averaged: number of updates, a tensor, so that a checkpoint has it.
    """

    n_averaged: Tensor

    def __init__(self, net: nn.Module, decay: float) -> None:
        """An update keeps the share `decay` of the average and takes the rest from `net`."""
        super().__init__()
        self.module = deepcopy(net)
        self.register_buffer("n_averaged", torch.tensor(0))
        self._decay = decay
        self._begun: bool | None = None  # None: `n_averaged` tells

    @torch.no_grad()
    def update(self, net: nn.Module) -> None:
        """Add the present weights of `net`."""
        if self._begun is None:
            self._begun = bool(self.n_averaged)
        averaged, current = list(_tensors(self.module)), list(_tensors(net))
        floats = [i for i, tensor in enumerate(averaged) if self._begun and tensor.is_floating_point()]
        if floats:
            torch._foreach_lerp_([averaged[i] for i in floats], [current[i] for i in floats], 1 - self._decay)
        for i in set(range(len(averaged))).difference(floats):
            averaged[i].copy_(current[i])
        self.n_averaged += 1
        self._begun = True


def _tensors(net: nn.Module) -> Iterator[Tensor]:
    yield from net.parameters()
    yield from net.buffers()
