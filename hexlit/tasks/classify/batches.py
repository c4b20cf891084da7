"""Batches of texts of similar lengths, each padded to its longest text."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset, Sampler

from hexlit.tasks.classify.tokens import EncodedTexts

POOL = 50
"""Batches whose texts are sorted by length together. A larger pool pads less, and mixes less."""


class TextBatch(NamedTuple):
    """B texts of at most L tokens."""

    tokens: Tensor
    """int64 `[B, L]`."""
    mask: Tensor
    """Whether a token is real and not padding, bool `[B, L]`."""
    label: Tensor
    """Index of the class, int64 `[B]`."""
    row: Tensor
    """Number of the text in its split, int64 `[B]`."""


class PaddedTexts(Dataset[TextBatch]):
    """Texts of one split; an item is a whole batch, given by the numbers of its texts."""

    def __init__(self, encoded: EncodedTexts, labels: NDArray[np.int64], pad: int) -> None:
        """`labels` `[N]` of the `encoded` texts, which are padded with `pad`."""
        self.encoded = encoded
        self.labels = labels
        self._pad = pad

    def __len__(self) -> int:
        """Number of texts, N."""
        return len(self.encoded)

    def __getitem__(self, rows: list[int]) -> TextBatch:
        """The texts number `rows`, each padded to the longest of them."""
        texts = [self.encoded[row] for row in rows]
        lengths = torch.tensor([len(text) for text in texts])
        tokens = torch.full((len(rows), int(lengths.max())), self._pad)
        for place, text in enumerate(texts):
            tokens[place, : len(text)] = torch.from_numpy(text.astype(np.int64))
        mask = torch.arange(tokens.shape[1]) < lengths[:, None]
        return TextBatch(tokens, mask, torch.from_numpy(self.labels[rows]), torch.tensor(rows))


class LengthBuckets(Sampler[list[int]]):
    """Batches of row numbers, in an order that depends only on seed and epoch; every text comes once per epoch.

    Texts are shuffled, sorted by length within pools of `POOL` batches, and the batches are shuffled again. Lightning
    sets the epoch, so that one loader with its processes serves all epochs.
    """

    def __init__(self, lengths: NDArray[np.int64], batch: int, seed: int) -> None:
        """Batches of `batch` texts with `lengths` `[N]` tokens; one may have fewer."""
        self._lengths = lengths
        self._batch = batch
        self._seed = seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Draw the batches of `epoch` from now on."""
        self._epoch = epoch

    def __len__(self) -> int:
        """Number of batches."""
        return -(-len(self._lengths) // self._batch)

    def __iter__(self) -> Iterator[list[int]]:
        """All batches of the epoch."""
        random = np.random.default_rng([self._seed, self._epoch])
        order = random.permutation(len(self._lengths))
        pools = [order[begin : begin + POOL * self._batch] for begin in range(0, len(order), POOL * self._batch)]
        batches = [batch for pool in pools for batch in by_length(pool, self._lengths, self._batch)]
        for place in random.permutation(len(batches)):
            yield batches[place]


def by_length(rows: NDArray[np.int64], lengths: NDArray[np.int64], batch: int) -> list[list[int]]:
    """`rows` in batches of `batch`, the longest texts first, so that memory runs out at once or never."""
    ordered = rows[np.argsort(-lengths[rows], kind="stable")]
    return [ordered[begin : begin + batch].tolist() for begin in range(0, len(ordered), batch)]
