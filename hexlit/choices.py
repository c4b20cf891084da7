"""Settings that take one of a few words. The field of a dataclass declares the words once.

`check_words` refuses all others. The help, the completion and the reference read the same declaration, from the source:
the first argument of `one_of` and `some_of` is a constant tuple or mapping, or its name. Installed packages may add
words to a field with a group of entry points.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, field, fields
from typing import Any

from hexlit.errors import UsageError
from hexlit.outside import entry_points_of

WORDS = "words"
"""Key of the words in a field's metadata."""
GROUP = "group"
"""Key of the group of entry points in a field's metadata."""
NUMBERED = ":N"
"""End of a word that stands for many: `cuda:N` for `cuda:0`, `cuda:1` and so on."""


def one_of(words: Iterable[str], default: str | None, *, group: str = "") -> Any:
    """A field that takes one of the `words`; None, too, where that is the `default`.

    With a `group` of entry points it also takes the names that installed packages have there.
    """
    return field(default=default, metadata={WORDS: tuple(words), GROUP: group})


def some_of(words: Iterable[str], default: Sequence[str]) -> Any:
    """A field that takes a list of the `words`, each at most once."""
    return field(default_factory=lambda: list(default), metadata={WORDS: tuple(words)})


def check_words(settings: Any, section: str = "") -> None:
    """Refuse a value of the dataclass `settings` that is none of the words of its field.

    Args:
        settings: the dataclass.
        section: its place in the configuration, such as `optimizer`; empty at the top.

    Raises:
        UsageError: there is one; names the key, the value and the words.
    """
    for one in fields(settings):
        value, words = getattr(settings, one.name), one.metadata.get(WORDS)
        if words is None or (value is None and one.default is None):
            continue
        key = f"{section}.{one.name}".lstrip(".")
        if one.default is not MISSING:
            check_word(key, value, words, one.metadata.get(GROUP, ""))
        elif not set(value) <= set(words) or len(set(value)) < len(value):
            raise UsageError(f"{key}=[{','.join(map(str, value))}]: choose some of {', '.join(words)}, each once")


def check_word(key: str, value: str, words: Iterable[str], group: str = "") -> None:
    """Refuse a `value` of the setting `key` that is none of the `words` and no name in the `group` of entry points.

    Raises:
        UsageError: it is none.
    """
    known = tuple(words)
    if any(fits(value, word) for word in known):
        return
    names = entry_points_of(group).names if group else set()
    if not any(value == name for name in names):  # a list has no place in a set
        others = "; no installed package brings another" if group else ""
        raise UsageError(f"{key}={value}: choose one of {', '.join([*known, *sorted(names - {*known})])}{others}")


def fits(value: str, word: str) -> bool:
    """Whether `value` is the `word`, or one of those that it stands for."""
    if word.endswith(NUMBERED) and isinstance(value, str):
        return re.fullmatch(rf"{re.escape(word.removesuffix(NUMBERED))}:\d+", value, re.ASCII) is not None
    return value == word
