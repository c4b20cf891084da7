"""Splits by class and seed, without copies."""

import numpy as np
import pytest

from hexlit.errors import UsageError
from hexlit.tasks.classify.config import TextDataConfig
from hexlit.tasks.classify.source import LabelledTexts
from hexlit.tasks.classify.splits import SPLITS, split_texts
from tests.tasks.classify.texts import sentences


def found(count: int = 60) -> LabelledTexts:
    return LabelledTexts(*sentences(count))


def test_every_text_is_in_one_split_and_every_class_has_its_share_of_each() -> None:
    texts = found(100)
    splits = split_texts(texts, TextDataConfig())
    assert sorted(np.concatenate(list(splits.rows.values())).tolist()) == list(range(300))
    for name, share in zip(SPLITS, (70, 15, 15), strict=True):
        labels = [texts.labels[row] for row in splits.rows[name]]
        assert {label: labels.count(label) for label in set(labels)} == dict.fromkeys(
            ("fruit", "stars", "tools"), share
        )


def test_the_seed_of_the_split_alone_decides_it() -> None:
    first, again, other = (split_texts(found(), TextDataConfig(split_seed=seed)).rows for seed in (1, 1, 2))
    assert all(np.array_equal(first[name], again[name]) for name in SPLITS)
    assert not np.array_equal(first["test"], other["test"])


def test_copies_are_dropped_and_counted_so_that_no_text_is_in_two_splits() -> None:
    texts, labels = sentences(40)
    copies = [text.upper().replace(" ", "  ") for text in texts[:60]]
    wrong = [*labels[:59], "tools" if labels[59] != "tools" else "fruit"]
    splits = split_texts(LabelledTexts([*texts, *copies, " \n"], [*labels, *wrong, "fruit"]), TextDataConfig())
    assert splits.dropped == {"blank": 1, "duplicate": 60, "conflicting": 1}
    assert sorted(np.concatenate(list(splits.rows.values())).tolist()) == list(range(120))
    assert 10 < splits.crossing < 50  # about 1 - 0.7² - 0.15² - 0.15² of them


@pytest.mark.row("B7")
def test_a_subset_is_seeded_by_class_and_apart_from_validation() -> None:
    texts = found(100)
    whole, part, again = (split_texts(texts, TextDataConfig(subset=subset)).rows for subset in (1.0, 0.3, 0.3))
    assert np.array_equal(part["train"], again["train"])
    assert set(part["train"]) < set(whole["train"])
    labels = [texts.labels[row] for row in part["train"]]
    assert {label: labels.count(label) for label in set(labels)} == dict.fromkeys(("fruit", "stars", "tools"), 21)
    for name in ("validation", "test"):
        assert np.array_equal(part[name], whole[name])
        assert not set(part["train"]) & set(part[name])


def test_a_class_of_three_texts_has_one_in_each_split() -> None:
    texts, labels = sentences(20)
    splits = split_texts(LabelledTexts([*texts, "x1", "x2", "x3"], [*labels, *["rare"] * 3]), TextDataConfig())
    assert all(sum(row >= 60 for row in rows) == 1 for rows in splits.rows.values())


@pytest.mark.parametrize(
    ("texts", "labels", "said"),
    [
        (["a", "b", "c"], ["x"] * 3, "there must be two classes or more; the texts have x"),
        (["a", "b", "c", "d", "D"], ["x", "x", "x", "y", "y"], "class y has 1 different texts"),
        ([" "], ["x"], "the texts have none"),
    ],
)
def test_too_few_texts_are_refused(texts: list[str], labels: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        split_texts(LabelledTexts(texts, labels), TextDataConfig())
