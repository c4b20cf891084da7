"""Texts as tokens, and batches by length: the same for the same seed and epoch, filled up no further than needed."""

import re

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from hexlit import extras
from hexlit.errors import UsageError
from hexlit.extras import install
from hexlit.tasks.classify.config import check_packages
from hexlit.tasks.classify.data import (
    BEGIN,
    EncodedTexts,
    LengthBuckets,
    PaddedTexts,
    TextTokens,
    by_length,
    fit_tokens,
)
from tests.tasks.classify.texts import sentences

TEXTS, _ = sentences(30)


def test_a_tokenizer_is_fitted_to_its_texts_and_comes_back_from_json() -> None:
    tokens = fit_tokens(TEXTS, 400, 64)
    assert tokens == fit_tokens(TEXTS, 400, 64)
    assert tokens.size <= 400
    encoded = tokens.encode(["the Galaxy", ""])
    read = Tokenizer.from_str(tokens.json)
    assert [read.id_to_token(int(token)) for token in encoded[0]] == [BEGIN, "the", "galaxy"]
    assert encoded[1].tolist() == [read.token_to_id(BEGIN)]
    assert encoded.lengths.tolist() == [3, 1]


def test_words_that_only_other_texts_have_are_no_tokens() -> None:
    assert "galaxy" not in Tokenizer.from_str(fit_tokens(["an apple"] * 9, 400, 64).json).get_vocab()


def test_longer_texts_are_cut_and_counted() -> None:
    tokens = fit_tokens(TEXTS, 400, 8)
    encoded = tokens.encode(["the apple", "apple " * 7, "apple " * 8, "apple " * 9])
    assert encoded.lengths.tolist() == [3, 8, 8, 8]
    assert encoded.cut == 2


def test_no_text_is_no_token() -> None:
    encoded = TextTokens(fit_tokens(TEXTS, 400, 8).json, 0, 400, 8).encode([])
    assert (len(encoded), encoded.cut) == (0, 0)


def test_a_missing_package_is_named_with_its_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=re.escape(f"needs the package tokenizers; {install('text')}")) as caught:
        check_packages(False)
    assert "\n" not in str(caught.value)


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
