"""The batches of an epoch for a DataLoader. A loading process imports only this module, so it
starts fast.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.data import Dataset

from hexlit.accelerate.ranks import ALONE, Ranks
from hexlit.selfplay.rebuild import Batch, Epoch
from hexlit.training.batches import PartOf


class PositionBatch(NamedTuple):
    """Positions to learn from, in the mover's frame."""

    planes: Tensor
    """int8 `[B, PLANES, size, size]`."""
    policy: Tensor
    """`[B, A]`."""
    value: Tensor
    """In [-1, 1] for the player to move, `[B]`."""
    further: dict[str, Tensor]
    """Further targets by name, `[B, size*size]` or `[B]`."""


def as_tensors(batch: Batch) -> PositionBatch:
    """The same memory as tensors."""
    planes, policy, value = map(torch.from_numpy, (batch.planes, batch.policy, batch.value))
    further = {name: torch.from_numpy(array) for name, array in batch.further.items()}
    return PositionBatch(planes, policy, value, further)


class EpochDataset(Dataset[PositionBatch | PartOf]):
    """The batches of one epoch, as tensors. With several ranks, each builds only its part of a
    batch.
    """

    def __init__(self, epoch: Epoch, ranks: Ranks = ALONE) -> None:
        """The part of each batch of `epoch` for this one of `ranks`."""
        self._epoch = epoch
        self._ranks = ranks

    def __len__(self) -> int:
        """Number of batches."""
        return len(self._epoch)

    def __getitem__(self, step: int) -> PositionBatch | PartOf:
        """Batch number `step`."""
        if not self._ranks.several:
            return as_tensors(self._epoch[step])
        whole = self._epoch.size(step)
        return PartOf(as_tensors(self._epoch.some(step, self._ranks.part(whole))), whole)
