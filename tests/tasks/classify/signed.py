"""Texts that say which process read them;
a module without Lightning, which such a process would import.
"""

import os

import torch

from hexlit.tasks.classify.data import PaddedTexts, TextBatch


class SignedTexts(PaddedTexts):
    """Every batch says which process made it."""

    def __getitem__(self, rows: list[int]) -> TextBatch:
        return super().__getitem__(rows)._replace(row=torch.full((len(rows),), os.getpid()))
