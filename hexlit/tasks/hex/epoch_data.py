"""The batches of an epoch for a DataLoader. A process that loads imports no more than this, so it starts soon."""

import torch
from torch.utils.data import Dataset

from hexlit.selfplay.rebuild import Batch, Epoch, ReplyBatch


class EpochDataset(Dataset[Batch | ReplyBatch]):
    """The batches of one epoch, as tensors."""

    def __init__(self, epoch: Epoch) -> None:
        """The batches of `epoch`."""
        self._epoch = epoch

    def __len__(self) -> int:
        """Number of batches."""
        return len(self._epoch)

    def __getitem__(self, step: int) -> Batch | ReplyBatch:
        """Batch number `step`."""
        batch = self._epoch[step]
        return type(batch)(*(torch.from_numpy(array) for array in batch))  # type: ignore[arg-type]
