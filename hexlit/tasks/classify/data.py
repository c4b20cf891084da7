"""Labelled texts: reading, split without copies, tokens, batches. No Lightning: loading processes
import this.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, Sampler

from hexlit.errors import UsageError
from hexlit.files import read_regular
from hexlit.tasks.classify.config import TextDataConfig
from hexlit.tasks.tables import FORMATS, SPLITS, read_table

Rows = NDArray[np.int64]
Tokens = NDArray[np.int32]
"""The tokens of a text, `[L]`. No tensors: a loading process would get each of them by a file
descriptor.
"""


PAD, UNKNOWN, BEGIN = "[PAD]", "[UNK]", "[CLS]"
CHUNK = 1000
"""Number of texts that are tokenized at once."""
POOL = 50
"""Batches whose texts are sorted by length together. A larger pool pads less, and mixes less."""


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
        raise UsageError(
            f"data.path={path}: column {config.label} is empty in {labels.null_count} rows; name a class"
        )
    return LabelledTexts(
        [text or "" for text in table[config.text].to_pylist()], labels.to_pylist()
    )


def read_folders(path: Path) -> LabelledTexts:
    """The `.txt` files of every folder in `path`; the folder's name is their class.

    A file is UTF-8, else Latin-1, which can read every file.

    Raises:
        UsageError: there are no such files.
    """
    texts, labels, latin1 = [], [], 0
    for file in sorted(path.glob("*/*.txt")):
        content = read_regular(file)
        try:
            texts.append(content.decode("utf-8-sig"))
        except UnicodeDecodeError:
            texts.append(content.decode("latin-1"))
            latin1 += 1
        labels.append(file.parent.name)
    if not texts:
        raise UsageError(
            f"data.path={path}: holds no texts; a folder has a folder of .txt files for each class"
        )
    return LabelledTexts(texts, labels, latin1)


def read_columns(path: Path, names: list[str], key: str) -> pa.Table:
    """The columns `names` of a table as texts, null for empty cells; a text of digits, or "NA", is
    a text.

    Raises:
        UsageError: the table cannot be read; names the setting `key`.
    """
    return read_table(path, names, key, names, (*FORMATS, ".jsonl"))


@dataclass(frozen=True)
class Splits:
    """Rows of `LabelledTexts` by split, each sorted; no text is in two of them."""

    rows: dict[str, Rows]
    dropped: dict[str, int]
    """Numbers of dropped texts: `blank`, `duplicate`, and of these `conflicting` (the first copy
    has another label).
    """


def split_texts(source: LabelledTexts, config: TextDataConfig) -> Splits:
    """Drop blank texts and copies, then split every class in the same proportions, by
    `config.split_seed` alone.

    Copies are equal except for white space and case. `config.subset` of the training rows are kept,
    by class.

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
        raise UsageError(
            f"data.label: there must be two classes or more; the texts have {', '.join(counts) or 'none'}"
        )
    rarest = min(counts, key=lambda name: counts[name])
    if counts[rarest] < len(SPLITS):
        raise UsageError(
            f"data: class {rarest} has {counts[rarest]} different texts; each of the {len(SPLITS)} splits needs one"
        )
    rows = _by_class(originals, labels, config)
    own = _classes(rows["train"], labels, config.split_seed, 1)
    rows["train"] = np.sort(
        np.concatenate([part[: max(1, round(config.subset * len(part)))] for part in own])
    )
    conflicting = sum(
        source.labels[row] != source.labels[original] for row, original in copies.items()
    )
    return Splits(rows, {"blank": blank, "duplicate": len(copies), "conflicting": conflicting})


def _by_class(rows: Rows, labels: NDArray[np.str_], config: TextDataConfig) -> dict[str, Rows]:
    """Each split's share of every class, at least one text of it."""
    test_share = 1 - config.train_share - config.validation_share
    parts: dict[str, list[Rows]] = {name: [] for name in SPLITS}
    for of_class in _classes(rows, labels, config.split_seed, 0):
        count = len(of_class)
        validation = max(1, round(config.validation_share * count))
        test = max(1, min(round(test_share * count), count - validation - 1))
        validation = min(validation, count - test - 1)
        edges = [count - validation - test, count - test]
        for split, part in zip(SPLITS, np.split(of_class, edges), strict=True):
            parts[split].append(part)
    return {split: np.sort(np.concatenate(classes)) for split, classes in parts.items()}


def _classes(rows: Rows, labels: NDArray[np.str_], seed: int, purpose: int) -> list[Rows]:
    """The `rows` of each class, shuffled by `seed` and `purpose` alone."""
    own = labels[rows]
    return [
        np.random.default_rng([seed, purpose]).permutation(rows[own == name])
        for name in np.unique(own)
    ]


@dataclass(frozen=True)
class TextTokens:
    """The conversion of texts to tokens; a checkpoint keeps all of it, as text and numbers."""

    json: str
    """The tokenizer as JSON of the library `tokenizers`."""
    pad: int
    """The padding token."""
    size: int
    """Number of different tokens, `pad` included."""
    max_length: int
    """Most tokens of a text; the rest is cut off."""

    def encode(self, texts: Sequence[str]) -> tuple[list[Tokens], int]:
        """The tokens of `texts`, int32 `[L]` each and special ones included, and the number of
        texts that were cut.

        A text without any other token becomes one `pad`.
        """
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_str(self.json)
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.max_length)
        chunks = (
            tokenizer.encode_batch(list(texts[begin : begin + CHUNK]))
            for begin in range(0, len(texts), CHUNK)
        )
        tokens: list[Tokens] = []
        cut = 0
        for one in chain.from_iterable(chunks):
            tokens.append(np.array(one.ids or [self.pad], np.int32))
            cut += bool(one.overflowing)
        return tokens, cut


def fit_tokens(texts: Sequence[str], vocabulary: int, max_length: int) -> TextTokens:
    """A tokenizer of byte pairs (BPE) with at most `vocabulary` tokens, fitted only to `texts`.

    Case and accents are dropped, and every text begins with `[CLS]`. The same texts give the same
    tokens; that is not so with the library's trainer of WordPiece.
    """
    import tokenizers as library

    special = [PAD, UNKNOWN, BEGIN]
    tokenizer = library.Tokenizer(library.models.BPE(unk_token=UNKNOWN))
    tokenizer.normalizer = library.normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    trainer = library.trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    begin = (BEGIN, special.index(BEGIN))  # special tokens come first
    tokenizer.post_processor = library.processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[begin]
    )
    return TextTokens(
        tokenizer.to_str(), special.index(PAD), tokenizer.get_vocab_size(), max_length
    )


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

    def __init__(self, texts: list[Tokens], labels: NDArray[np.int64], pad: int) -> None:
        """`labels` `[N]` of the `texts`, tokens `[L]` each, which are padded with `pad`."""
        self.texts = texts
        self.labels = labels
        self.lengths = np.array([len(text) for text in texts], np.int64)
        self._pad = pad

    def __len__(self) -> int:
        """Number of texts, N."""
        return len(self.texts)

    def __getitem__(self, rows: list[int]) -> TextBatch:
        """The texts number `rows`, each padded to the longest of them."""
        texts = [torch.from_numpy(self.texts[row]) for row in rows]
        tokens = pad_sequence(texts, batch_first=True, padding_value=self._pad).long()
        lengths = torch.from_numpy(self.lengths[rows])
        mask = torch.arange(tokens.shape[1]) < lengths[:, None]
        labels = torch.from_numpy(self.labels[rows])
        return TextBatch(tokens, mask, labels, torch.tensor(rows))

    def in_order(self, batch: int) -> list[list[int]]:
        """The numbers of all texts in batches of `batch`, the longest texts first."""
        return by_length(np.arange(len(self)), self.lengths, batch)


class LengthBuckets(Sampler[list[int]]):
    """Batches of row numbers, in an order that depends only on seed and epoch; every text comes
    once per epoch.

    Texts are shuffled, sorted by length within pools of `POOL` batches, and the batches are
    shuffled again. Lightning sets the epoch, so that one loader with its processes serves all
    epochs.
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
        pools = [
            order[begin : begin + POOL * self._batch]
            for begin in range(0, len(order), POOL * self._batch)
        ]
        batches: list[list[int]] = []
        for pool in pools:
            batches += by_length(pool, self._lengths, self._batch)
        for number in random.permutation(len(batches)):
            yield batches[number]


def by_length(rows: NDArray[np.int64], lengths: NDArray[np.int64], batch: int) -> list[list[int]]:
    """`rows` in batches of `batch`, the longest texts first, so that memory runs out at once or
    never.
    """
    ordered = rows[np.argsort(-lengths[rows], kind="stable")]
    return [ordered[begin : begin + batch].tolist() for begin in range(0, len(ordered), batch)]
