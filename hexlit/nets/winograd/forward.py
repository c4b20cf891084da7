"""The network on a CPU by Winograd's convolutions in float32: fewer products than any plain convolution takes."""

import numpy as np
import torch
from numba.core.errors import NumbaError
from torch import Tensor

from hexlit.hex.encoding import PLANES
from hexlit.hex.slices import over_slices
from hexlit.nets.tower import HexNet
from hexlit.nets.winograd.maps import Part
from hexlit.nets.winograd.network import PackedNet
from hexlit.nets.winograd.obstacle import winograd_obstacle


class WinogradForward:
    """The network in compiled kernels, one slice of the positions a thread.

    A position's answers depend neither on the threads nor on the other positions.

    Args:
        net: the network; a snapshot is taken.
        size: board size n.
        batch: positions B in a call.
        threads: CPU threads of a call.

    Raises:
        RuntimeError: this network has a part without a kernel, or Numba cannot compile one here.
    """

    def __init__(self, net: HexNet, size: int, batch: int, threads: int) -> None:
        obstacle = winograd_obstacle(net)
        if obstacle:
            raise RuntimeError(obstacle)
        self.size = size
        self.batch = batch
        self.threads = threads
        self.parts: dict[tuple[int, int], Part] = {}
        self.refresh(net)
        try:  # compiles what is not in the cache
            self(torch.from_numpy(np.zeros((batch, PLANES, size, size), np.int8)))
        except NumbaError as error:
            raise RuntimeError(f"Numba: {error}") from error

    def __call__(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """As `Forward`."""
        seen = planes.numpy().reshape(self.batch, PLANES, -1)
        logits, value = torch.empty(self.batch, self.size**2 + 1), torch.empty(self.batch)
        filled, judged = logits.numpy(), value.numpy()

        def work(first: int, last: int) -> None:
            if (first, last) not in self.parts:
                self.parts[first, last] = Part(self.size, last - first)
            self.packed.evaluate(self.parts[first, last], seen[first:last], filled[first:last], judged[first:last])

        over_slices(work, self.batch, self.threads)
        return logits, value

    def refresh(self, net: HexNet) -> None:
        """Transform and pack the weights: milliseconds."""
        self.packed = PackedNet(net, self.size)
