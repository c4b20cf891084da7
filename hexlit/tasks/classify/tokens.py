"""Texts as tokens: a tokenizer fitted to the training texts, or one read from JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.extras import install

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PAD, UNKNOWN, BEGIN = "[PAD]", "[UNK]", "[CLS]"
CHUNK = 1000
"""Number of texts that are tokenized at once."""


@dataclass(frozen=True)
class EncodedTexts:
    """The tokens of N texts, concatenated."""

    tokens: NDArray[np.int32]
    """All tokens, `[T]`."""
    offsets: NDArray[np.int64]
    """First position of each text, and the end of the last, `[N + 1]`."""
    cut: int
    """Number of texts that were cut."""

    def __len__(self) -> int:
        """Number of texts, N."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each text, `[N]`."""
        return np.diff(self.offsets)

    def __getitem__(self, row: int) -> NDArray[np.int32]:
        """The tokens of text number `row`."""
        return self.tokens[self.offsets[row] : self.offsets[row + 1]]


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

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """The tokens of `texts`, with special ones. A text without any other token becomes one `pad`."""
        tokenizer = require_tokenizers().Tokenizer.from_str(self.json)
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.max_length)
        rows: list[NDArray[np.int32]] = []
        cut = 0
        for begin in range(0, len(texts), CHUNK):
            for encoding in tokenizer.encode_batch(list(texts[begin : begin + CHUNK])):
                rows.append(np.array(encoding.ids or [self.pad], np.int32))
                cut += bool(encoding.overflowing)
        offsets = np.cumsum([0, *(len(row) for row in rows)])
        return EncodedTexts(np.concatenate(rows) if rows else np.zeros(0, np.int32), offsets, cut)


def fit_tokens(texts: Sequence[str], vocabulary: int, max_length: int) -> TextTokens:
    """A tokenizer of byte pairs (BPE) with at most `vocabulary` tokens, fitted only to `texts`.

    Case and accents are dropped, and every text begins with `[CLS]`. The same texts give the same tokens; that is not
    so with the library's trainer of WordPiece.
    """
    library = require_tokenizers()
    special = [PAD, UNKNOWN, BEGIN]
    tokenizer: Tokenizer = library.Tokenizer(library.models.BPE(unk_token=UNKNOWN))
    tokenizer.normalizer = library.normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    trainer = library.trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    begin = (BEGIN, special.index(BEGIN))  # special tokens come first
    tokenizer.post_processor = library.processors.TemplateProcessing(single=f"{BEGIN} $A", special_tokens=[begin])
    return TextTokens(tokenizer.to_str(), special.index(PAD), tokenizer.get_vocab_size(), max_length)


def require_tokenizers() -> Any:
    """The package `tokenizers`, which takes a moment to import.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import tokenizers
    except ModuleNotFoundError as error:
        raise UsageError(f"task=classify: needs the package tokenizers; {install('text')}") from error
    return tokenizers
