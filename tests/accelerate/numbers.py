"""A dataset that a loading process finds without the imports of a test."""

import os

import torch
from torch import Tensor
from torch.utils.data import Dataset


class Numbers(Dataset[Tensor]):
    """Sixteen numbers, each beside the process that loaded it."""

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> Tensor:
        return torch.tensor([index, os.getpid()])
