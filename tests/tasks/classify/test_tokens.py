"""Texts as tokens."""

import builtins
import re
from typing import Any

import pytest
from tokenizers import Tokenizer

from hexlit.errors import UsageError
from hexlit.extras import install
from hexlit.tasks.classify.tokens import BEGIN, TextTokens, fit_tokens, require_tokenizers
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
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name == "tokenizers":
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(UsageError, match=re.escape(install("text"))) as caught:
        require_tokenizers()
    assert "\n" not in str(caught.value)
