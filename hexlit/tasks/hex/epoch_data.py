"""The batches of an epoch for a DataLoader. A loading process imports only this module, so it
starts fast.
"""

import torch
from torch.utils.data import Dataset

from hexlit.accelerate.ranks import ALONE, Ranks
from hexlit.selfplay.rebuild import Batch, Epoch
from hexlit.training.batches import PartOf


class EpochDataset(Dataset[Batch | PartOf]):
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

    def __getitem__(self, step: int) -> Batch | PartOf:
        """Batch number `step`."""
        if not self._ranks.several:
            return _tensors(self._epoch[step])
        whole = self._epoch.size(step)
        return PartOf(_tensors(self._epoch.some(step, self._ranks.part(whole))), whole)


def _tensors(batch: Batch) -> Batch:
    return Batch(*(torch.from_numpy(array) for array in batch))  # type: ignore[arg-type]
