"""Batches by length: the same for the same seed and epoch, and filled up no further than needed."""

import numpy as np
import pytest
import torch

from hexlit.tasks.classify.batches import LengthBuckets, PaddedTexts, by_length
from hexlit.tasks.classify.tokens import EncodedTexts

LENGTHS = np.random.default_rng(0).integers(1, 200, 1003)


def drawn(epoch: int = 0, seed: int = 0) -> list[list[int]]:
    order = LengthBuckets(LENGTHS, 16, seed)
    order.set_epoch(epoch)
    batches = list(order)
    assert len(batches) == len(order) == 63
    return batches


def test_every_text_comes_once_an_epoch() -> None:
    batches = drawn()
    assert sorted(row for batch in batches for row in batch) == list(range(1003))
    assert sorted(len(batch) for batch in batches) == [11, *[16] * 62]


def test_seed_and_epoch_alone_decide_the_batches() -> None:
    first = drawn()
    assert drawn() == first
    assert drawn(epoch=1) != first
    assert drawn(seed=1) != first


@pytest.mark.row("B11")
def test_batches_by_length_fill_up_far_less_than_random_ones_and_those_less_than_the_maximum() -> None:

    def filled(batches: list[list[int]]) -> int:
        return sum(len(batch) * int(LENGTHS[batch].max()) for batch in batches)

    order = np.random.default_rng(1).permutation(1003)
    random = [order[begin : begin + 16].tolist() for begin in range(0, 1003, 16)]
    assert LENGTHS.sum() <= filled(drawn()) < 1.1 * LENGTHS.sum()
    assert filled(drawn()) < 0.6 * filled(random) < 0.6 * 1003 * 199


def test_batches_come_in_no_order_of_length() -> None:
    longest = [int(LENGTHS[batch].max()) for batch in drawn()]
    assert abs(np.corrcoef(longest, np.arange(63))[0, 1]) < 0.4


def test_validation_begins_with_the_longest() -> None:
    batches = by_length(np.arange(1003), LENGTHS, 16)
    longest = [int(LENGTHS[batch].max()) for batch in batches]
    assert longest == sorted(longest, reverse=True)
    assert sorted(row for batch in batches for row in batch) == list(range(1003))


@pytest.mark.row("B11")
def test_a_batch_is_filled_up_to_its_longest_text() -> None:
    encoded = EncodedTexts(np.array([5, 6, 7, 8, 9, 4], np.int32), np.array([0, 2, 3, 6]), 0)
    data = PaddedTexts(encoded, np.array([1, 0, 1]), pad=0)
    batch = data[[1, 0]]
    assert batch.tokens.tolist() == [[7, 0], [5, 6]]
    assert batch.mask.tolist() == [[True, False], [True, True]]
    assert (batch.label.tolist(), batch.row.tolist()) == ([0, 1], [1, 0])
    assert batch.tokens.dtype == torch.int64
