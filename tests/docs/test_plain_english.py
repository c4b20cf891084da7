"""The prose of code and pages stays plain: the number of suspect sentences only falls."""

import pytest

from tests.plain_english import PLACES, ROOT, paragraphs, reasons, suspects

LIMIT = 2
"""Suspects that are left. Whoever removes some lowers it to what `python tests/plain_english.py` counts."""


@pytest.mark.row("F15")
def test_there_are_no_more_suspect_sentences_than_before() -> None:
    found = list(suspects([ROOT / place for place in PLACES]))
    assert len(found) <= LIMIT, (
        f"{len(found)} suspect sentences, at most {LIMIT}: `python tests/plain_english.py` lists them; reword them"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Where it ends, a line says so.", "opens with"),
        ("The network with which it plays.", "circumscribes"),
        ("It is fast, and so is the other.", "inverts"),
        ("It begins anew.", "old or rare word"),
        ("A run goes on.", "go on"),
        ("The player and his stones.", "a person"),
        ("Nobody reads that.", "nobody"),
        ("word " * 31, "over 30 words (31)"),
    ],
)
def test_a_suspect_sentence_is_found(text: str, reason: str) -> None:
    ((found, _),) = reasons(text)
    assert found.startswith(reason)


@pytest.mark.parametrize(
    "text", ["The board has five rows.", "Where does it end?", "`Where` is a word.", "word " * 30, "A. " * 40]
)
def test_a_plain_sentence_is_none(text: str) -> None:
    assert list(reasons(text)) == []


def test_a_page_is_read_by_paragraphs_items_and_cells() -> None:
    page = "# Heading\n\nOne\nline.\n- item\n| a | b |\n```sh\ncode\n```\n<!-- mark -->\nTwo.\n"
    assert list(paragraphs(page)) == [(3, "One line."), (5, "- item"), (6, "a"), (6, "b"), (11, "Two.")]
