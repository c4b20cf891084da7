"""Lines and sentences of the pages are short enough to be read."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import GENERATED, manual, name_of, prose

LONGEST = 120
"""Characters of a line of prose."""
MOST_FIGURES = 2
"""Figures of a sentence: more of them are a table."""
PAGES = [page for page in manual() if page != GENERATED]
NOT_PROSE = ("|", "#", "<", "!")
"""First characters of rows of tables, headings, comments and pictures."""
ITEM = re.compile(r"^(?:[-*]|\d+\.) +")
FIGURE = re.compile(r"(?<![\w.×-])[+±−-]?\d[\d,.:/]*(?:e\d+)?%?(?![\w×])")
"""A number; not the size of a board, a year behind a name, or a part of a name such as H100."""


def lines_of_prose(page: Path) -> Iterator[tuple[int, str]]:
    """Number and text of the lines that are no rows of tables."""
    for number, line in prose(page):
        if not line.strip().startswith(NOT_PROSE):
            yield number, line


def sentences(page: Path) -> Iterator[tuple[int, str]]:
    """The sentences of a page, with the line on which their paragraph begins.

    Inline code, links' targets and the years of papers are left out.
    """
    start, words = 1, ""
    for number, line in [*lines_of_prose(page), (0, "")]:
        text = line.strip()
        if not text or ITEM.match(text):
            plain = re.sub(r"(`+).+?\1", "code", words)
            plain = re.sub(r"\]\([^)]*\)", "]", plain)
            plain = re.sub(r"\b(?:19|20)\d\d\b", "", plain)
            for sentence in re.split(r"(?<=[.!?:;]) +", plain):
                yield start, sentence
            start, words = number, ""
        words = f"{words} {ITEM.sub('', text, count=1)}".strip()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_line_is_long(page: Path) -> None:
    lines = [(number, line) for number, line in lines_of_prose(page) if len(line) > LONGEST]
    assert not lines, "\n".join(f"{name_of(page)}:{number}: {line}" for number, line in lines)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_sentence_has_many_figures(page: Path) -> None:
    crowded = []
    for number, sentence in sentences(page):
        figures = FIGURE.findall(sentence)
        if len(figures) > MOST_FIGURES:
            crowded.append(f"{name_of(page)}:{number}: {', '.join(figures)}: {sentence}")
    assert not crowded, "\n".join(crowded)
