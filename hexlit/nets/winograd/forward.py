"""The network on a CPU by Winograd's convolutions in float32: fewer products than a plain convolution."""

import numpy as np
import torch
from numba.core.errors import NumbaError
from torch import Tensor

from hexlit.hex.encoding import PLANES
from hexlit.hex.slices import over_slices
from hexlit.nets.tower import HexNet
from hexlit.nets.winograd.maps import Part
from hexlit.nets.winograd.network import Evaluate, PackedNet
from hexlit.nets.winograd.obstacle import winograd_obstacle

NEAR_FLOATS = 2**18
"""Size of a map that stays in a near cache until the next layer reads it; more positions go in several groups."""


class WinogradForward:
    """The network in compiled kernels, one slice of the positions per thread.

    A position's answers depend neither on the threads nor on the other positions. The batch decides the size of tiles,
    and with it the rounding.

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
        self.together = max(1, NEAR_FLOATS // (net.config.channels * size**2))
        self.parts: dict[tuple[int, int], Part] = {}
        """Parts by first position and number of positions."""
        self.refresh(net)
        try:  # compiles the kernels that are not in the cache
            self(torch.from_numpy(np.zeros((batch, PLANES, size, size), np.int8)))
        except NumbaError as error:
            raise RuntimeError(f"Numba: {error}") from error

    def __call__(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """As `Forward`."""
        seen = planes.numpy().reshape(self.batch, PLANES, -1)
        logits, value = torch.empty(self.batch, self.size**2 + 1), torch.empty(self.batch)
        filled, judged = logits.numpy(), value.numpy()

        def work(first: int, last: int) -> None:
            groups = -(-(last - first) // self.together)
            for group in range(groups):
                begin, end = (first + (last - first) * edge // groups for edge in (group, group + 1))
                self._evaluator(first, end - begin)(seen[begin:end], filled[begin:end], judged[begin:end])

        over_slices(work, self.batch, self.threads)
        return logits, value

    def refresh(self, net: HexNet) -> None:
        """Transform and pack the weights: milliseconds, tens of them for large networks."""
        self.packed = PackedNet(net, self.size, self.batch)
        self.evaluators: dict[tuple[int, int], Evaluate] = {}

    def _evaluator(self, first: int, positions: int) -> Evaluate:
        """The evaluator of the thread whose slice begins at `first`; it keeps its maps when the weights change."""
        key = first, positions
        if key not in self.evaluators:
            part = self.parts.setdefault(key, Part(self.size, positions))
            self.evaluators[key] = self.packed.evaluator(part)
        return self.evaluators[key]
