"""Equal positions of a window: those that the network cannot tell apart, up to a turn by 180 degrees.

Early positions come in many games. Each has the result of its own game and the policy of its own search; the mean over
all of them is a less noisy target.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.geometry import geometry
from hexlit.selfplay.rebuild import Histories, with_policy


class Groups(NamedTuple):
    """P positions in G groups of equal ones."""

    group: NDArray[np.int64]
    """Number of each position's group, `[P]`."""
    turned: NDArray[np.bool_]
    """Whether the position is turned by 180 degrees in its group's frame, `[P]`."""
    first: NDArray[np.int64]
    """The first position of each group, `[G]`."""

    @classmethod
    def of(cls, histories: Histories, size: int) -> "Groups":
        """The groups of the positions `histories` on boards of `size`."""
        keys, keys_turned = (_keys(histories, size, turned) for turned in (False, True))
        turned = keys_turned < keys
        _, first, group = np.unique(np.where(turned, keys_turned, keys), return_index=True, return_inverse=True)
        return cls(group, turned, first)

    def mean(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """For each position the mean of `values` `[P, ...]` over its group, `[P, ...]`."""
        order = np.argsort(self.group, kind="stable")
        starts = np.searchsorted(self.group[order], np.arange(len(self.first)))
        sums = np.add.reduceat(values[order].astype(np.float64), starts)
        counts = np.bincount(self.group).reshape(-1, *[1] * (values.ndim - 1))
        means: NDArray[np.float32] = (sums / counts).astype(np.float32)[self.group]
        return means

    def mean_policy(self, policy: NDArray[np.float32], ply: NDArray[np.int16], size: int) -> NDArray[np.float32]:
        """As `mean`, for policies over the board's actions `[P, A]`; each is returned in the frame of its own board."""
        return self._exchanged(self.mean(self._exchanged(policy, ply, size)), ply, size)

    def _exchanged(self, policy: NDArray[np.float32], ply: NDArray[np.int16], size: int) -> NDArray[np.float32]:
        """Policies moved from the board's frame to the group's, or back: both maps are their own inverse."""
        table, actions = geometry(size), policy.shape[1]
        found = policy.copy()
        for rows, other in ((ply % 2 == 1, table.transposed), (self.turned, table.rotated)):
            found[rows] = found[rows][:, other[:actions]]
        return found


def _keys(histories: Histories, size: int, turned: bool) -> NDArray[np.bytes_]:
    """The planes of each position as one string of bits, `[P]`."""
    count = len(histories.ply)
    planes, _ = with_policy(histories, size, np.zeros((count, 0), np.float32), np.full(count, turned))
    bits = np.packbits(planes.reshape(count, -1).astype(np.uint8), axis=1)
    keys: NDArray[np.bytes_] = bits.view(f"S{bits.shape[1]}").ravel()
    return keys
