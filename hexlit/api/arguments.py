"""The overrides of a command, as Python says them."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hexlit.errors import UsageError
from hexlit.tuning.space import quoted

_PLAIN_WORD = re.compile(r"[A-Za-z_][\w./-]*")
_MEANS_SOMETHING = {"true", "false", "null", "none", "nan", "inf"}


def overrides(given: Sequence[str], named: Mapping[str, Any]) -> list[str]:
    """The command line's overrides for those `given` as text and those `named` with a value of Python.

    A run, a sweep or a path stands for its folder.

    >>> overrides(["trainer.max_epochs=3"], {"board": 4, "data.path": "my games", "net.blocks": [1, 2], "name": "a"})
    ['trainer.max_epochs=3', 'board=4', "data.path='my games'", 'net.blocks=[1,2]', 'name=a']

    Raises:
        UsageError: one of those `given` is no text.
    """
    for one in given:
        if not isinstance(one, str):
            raise UsageError(f"{one!r} is not an override: write 'KEY=VALUE', or KEY=VALUE as Python has it")
    return [*given, *(f"{name}={value_text(name, value)}" for name, value in named.items())]


def value_text(name: str, value: Any) -> str:
    """`value` as an override of the setting `name` writes it.

    Raises:
        UsageError: the command line has no such kind of value.
    """
    value = getattr(value, "folder", value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str | Path):
        word = str(value)
        return word if _PLAIN_WORD.fullmatch(word) and word.lower() not in _MEANS_SOMETHING else quoted(word)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{value_text(name, one)}" for key, one in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join(value_text(name, one) for one in value) + "]"
    if hasattr(value, "item"):  # a number of NumPy
        return value_text(name, value.item())
    raise UsageError(f"{name}={value!r}: a number, a text, true or false, a list or a mapping is needed")
