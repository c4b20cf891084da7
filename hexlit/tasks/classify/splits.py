"""Training, validation and test texts: by class, by seed, and without copies of one another."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.tasks.classify.config import TextDataConfig
from hexlit.tasks.classify.source import LabelledTexts

SPLITS = ("train", "validation", "test")
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Splits:
    """Rows of `LabelledTexts` by split, each sorted; no text is in two of them."""

    rows: dict[str, Rows]
    dropped: dict[str, int]
    """Numbers of dropped texts: `blank`, `duplicate`, and of these `conflicting` (the first copy has another label)."""
    crossing: int
    """Duplicates that would be in another split than their first copy, if they were kept."""

    def to_dict(self) -> dict[str, Any]:
        """Plain containers, for a summary."""
        return {
            "texts": {name: len(rows) for name, rows in self.rows.items()},
            "dropped": self.dropped,
            "crossing": self.crossing,
        }


def split_texts(found: LabelledTexts, config: TextDataConfig) -> Splits:
    """Drop blank texts and copies, then split every class in the same proportions, by `config.split_seed` alone.

    Copies are equal except for white space and case. `config.subset` of the training rows are kept, by class.

    Raises:
        UsageError: there are fewer than two classes, or fewer than three texts of one.
    """
    first: dict[str, int] = {}
    copies: dict[int, int] = {}
    blank = 0
    for row, text in enumerate(found.texts):
        key = " ".join(text.split()).casefold()
        if not key:
            blank += 1
        elif first.setdefault(key, row) != row:
            copies[row] = first[key]
    kept = np.array(sorted(first.values()), np.int64)
    labels = np.array(found.labels)
    counts = Counter(labels[kept].tolist())
    if len(counts) < 2:
        raise UsageError(f"data.label: there must be two classes or more; the texts have {', '.join(counts) or 'none'}")
    rarest = min(counts, key=lambda name: counts[name])
    if counts[rarest] < len(SPLITS):
        raise UsageError(
            f"data: class {rarest} has {counts[rarest]} different texts; each of the {len(SPLITS)} splits needs one"
        )
    rows = _by_class(kept, labels, config)
    # Without the step above, a copy would have been split like any other text.
    everything = np.array(sorted([*first.values(), *copies]), np.int64)
    side = {int(row): name for name, part in _by_class(everything, labels, config).items() for row in part}
    crossing = sum(side[row] != side[original] for row, original in copies.items())
    rows["train"] = share_of_each(rows["train"], labels, config.subset, config.split_seed)
    conflicting = sum(found.labels[row] != found.labels[original] for row, original in copies.items())
    return Splits(rows, {"blank": blank, "duplicate": len(copies), "conflicting": conflicting}, crossing)


def share_of_each(rows: Rows, labels: NDArray[np.str_], share: float, seed: int) -> Rows:
    """`share` of the `rows` of each class, at least one, by `seed` alone; `labels` are those of all texts."""
    parts = []
    for name in np.unique(labels[rows]):
        own = _shuffled(rows[labels[rows] == name], seed, 1)
        parts.append(own[: max(1, round(share * len(own)))])
    return np.sort(np.concatenate(parts))


def _by_class(rows: Rows, labels: NDArray[np.str_], config: TextDataConfig) -> dict[str, Rows]:
    parts: dict[str, list[Rows]] = {name: [] for name in SPLITS}
    for name in np.unique(labels[rows]):
        own = _shuffled(rows[labels[rows] == name], config.split_seed, 0)
        test_share = 1 - config.train_share - config.validation_share
        validation = max(1, round(config.validation_share * len(own)))
        test = max(1, min(round(test_share * len(own)), len(own) - validation - 1))
        validation = min(validation, len(own) - test - 1)
        edges = [len(own) - validation - test, len(own) - test]
        for split, part in zip(SPLITS, np.split(own, edges), strict=True):
            parts[split].append(part)
    return {split: np.sort(np.concatenate(found)) for split, found in parts.items()}


def _shuffled(rows: Rows, seed: int, purpose: int) -> Rows:
    return np.random.default_rng([seed, purpose]).permutation(rows)
