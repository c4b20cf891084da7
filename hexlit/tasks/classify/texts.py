"""Labelled texts: read from a table or a folder per class, and split by class and seed, without copies."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.tasks.classify.config import TextDataConfig
from hexlit.tasks.tables import FORMATS, read_table

SPLITS = ("train", "validation", "test")
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class LabelledTexts:
    """N texts in the order of their source."""

    texts: list[str]
    labels: list[str]
    latin1: int = 0
    """Number of files that are not UTF-8, and were read as Latin-1."""


def read_labelled(config: TextDataConfig) -> LabelledTexts:
    """The texts of `config`.

    Raises:
        UsageError: they cannot be found or read, a column is missing, or a row has no label.
    """
    path = config.file
    if path.is_dir():
        return read_folders(path)
    table = read_columns(path, [config.text, config.label], "data.path")
    labels = table[config.label]
    if labels.null_count:
        raise UsageError(f"data.path={path}: column {config.label} is empty in {labels.null_count} rows; name a class")
    return LabelledTexts([text or "" for text in table[config.text].to_pylist()], labels.to_pylist())


def read_folders(path: Path) -> LabelledTexts:
    """The `.txt` files of every folder in `path`; the folder's name is their class.

    A file is UTF-8, else Latin-1, which can read every file.

    Raises:
        UsageError: there are no such files.
    """
    texts, labels, latin1 = [], [], 0
    for file in sorted(path.glob("*/*.txt")):
        content = file.read_bytes()
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("latin-1")
            latin1 += 1
        texts.append(text)
        labels.append(file.parent.name)
    if not texts:
        raise UsageError(f"data.path={path}: holds no texts; a folder has a folder of .txt files for each class")
    return LabelledTexts(texts, labels, latin1)


def read_columns(path: Path, names: list[str], key: str) -> pa.Table:
    """The columns `names` of a table as texts, null for empty cells; a text of digits, or "NA", is a text.

    Raises:
        UsageError: the table cannot be read; names the setting `key`.
    """
    types = dict.fromkeys(names, pa.string())
    convert = pacsv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True)
    return read_table(path, names, key, convert, (*FORMATS, ".jsonl"))


@dataclass(frozen=True)
class Splits:
    """Rows of `LabelledTexts` by split, each sorted; no text is in two of them."""

    rows: dict[str, Rows]
    dropped: dict[str, int]
    """Numbers of dropped texts: `blank`, `duplicate`, and of these `conflicting` (the first copy has another label)."""
    crossing: int
    """Duplicates that would be in another split than their first copy, if they were kept."""


def split_texts(source: LabelledTexts, config: TextDataConfig) -> Splits:
    """Drop blank texts and copies, then split every class in the same proportions, by `config.split_seed` alone.

    Copies are equal except for white space and case. `config.subset` of the training rows are kept, by class.

    Raises:
        UsageError: there are fewer than two classes, or fewer than three texts of one.
    """
    first: dict[str, int] = {}
    copies: dict[int, int] = {}
    blank = 0
    for row, text in enumerate(source.texts):
        key = " ".join(text.split()).casefold()
        if not key:
            blank += 1
        elif first.setdefault(key, row) != row:
            copies[row] = first[key]
    originals = np.array(sorted(first.values()), np.int64)
    labels = np.array(source.labels)
    counts = Counter(labels[originals].tolist())
    if len(counts) < 2:
        raise UsageError(f"data.label: there must be two classes or more; the texts have {', '.join(counts) or 'none'}")
    rarest = min(counts, key=lambda name: counts[name])
    if counts[rarest] < len(SPLITS):
        raise UsageError(
            f"data: class {rarest} has {counts[rarest]} different texts; each of the {len(SPLITS)} splits needs one"
        )
    rows = _by_class(originals, labels, config)
    # Without the step above, a copy would have been split like any other text.
    everything = np.array(sorted([*first.values(), *copies]), np.int64)
    side = {int(row): name for name, part in _by_class(everything, labels, config).items() for row in part}
    crossing = sum(side[row] != side[original] for row, original in copies.items())
    parts = []
    for own in _classes(rows["train"], labels, config.split_seed, 1):
        parts.append(own[: max(1, round(config.subset * len(own)))])
    rows["train"] = np.sort(np.concatenate(parts))
    conflicting = sum(source.labels[row] != source.labels[original] for row, original in copies.items())
    return Splits(rows, {"blank": blank, "duplicate": len(copies), "conflicting": conflicting}, crossing)


def _by_class(rows: Rows, labels: NDArray[np.str_], config: TextDataConfig) -> dict[str, Rows]:
    parts: dict[str, list[Rows]] = {name: [] for name in SPLITS}
    for own in _classes(rows, labels, config.split_seed, 0):
        test_share = 1 - config.train_share - config.validation_share
        validation = max(1, round(config.validation_share * len(own)))
        test = max(1, min(round(test_share * len(own)), len(own) - validation - 1))
        validation = min(validation, len(own) - test - 1)
        edges = [len(own) - validation - test, len(own) - test]
        for split, part in zip(SPLITS, np.split(own, edges), strict=True):
            parts[split].append(part)
    return {split: np.sort(np.concatenate(own)) for split, own in parts.items()}


def _classes(rows: Rows, labels: NDArray[np.str_], seed: int, purpose: int) -> list[Rows]:
    """The `rows` of each class, shuffled by `seed` and `purpose` alone."""
    return [
        np.random.default_rng([seed, purpose]).permutation(rows[labels[rows] == name])
        for name in np.unique(labels[rows])
    ]
