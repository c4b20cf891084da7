"""The overrides of a command, as Python says them."""

import io
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.accelerate.host import in_notebook
from hexlit.errors import UsageError
from hexlit.settings import require
from hexlit.tuning.space import render

if TYPE_CHECKING:
    from pandas import DataFrame as DataFrame
    from rich.console import Console
else:
    DataFrame = Any


def overrides(given: Sequence[str], named: Mapping[str, Any]) -> list[str]:
    """The command line's overrides for those `given` as text and those `named` with a value of
    Python.

    A run, a sweep or a path stands for its folder.

    >>> overrides(["trainer.max_epochs=3"], {"board": 4, "data.path": "my games", "net.blocks": [1, 2], "name": "a"})
    ['trainer.max_epochs=3', 'board=4', "data.path='my games'", 'net.blocks=[1,2]', 'name=a']

    Raises:
        UsageError: one of those `given` is no text.
    """
    for one in given:
        if not isinstance(one, str):
            raise UsageError(
                f"{one!r} is not an override: write 'KEY=VALUE', or KEY=VALUE as Python has it"
            )
    return [*given, *(render(name, _plain(value)) for name, value in named.items())]


def _plain(value: Any) -> Any:
    value = getattr(value, "folder", value)
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value


def frame(rows: Iterable[Any], columns: Iterable[str] | None = None) -> DataFrame:
    """A data frame of `rows`, mappings or tuples; with `columns` these alone, also where there are
    no rows.

    Raises:
        UsageError: pandas is not installed.
    """
    return pandas_here().DataFrame(list(rows), columns=None if columns is None else list(columns))


def pandas_here() -> Any:
    """The package pandas; raises `UsageError` where it is not installed."""
    require("data frames", {"pandas": "pandas"}, "notebooks")
    import pandas

    return pandas


@contextmanager
def console_for(quiet: bool) -> "Iterator[Console]":
    """A console for the display of some work, and for the block only."""
    from rich.console import Console

    if quiet or not in_notebook():
        yield Console(
            file=io.StringIO() if quiet else sys.stdout, highlight=False, force_jupyter=False
        )
        return
    line: Any = _ChangingLine()
    yield Console(file=line, highlight=False, force_jupyter=False, force_terminal=False, width=100)


class _ChangingLine(io.TextIOBase):
    """A file whose last line a notebook shows, in place of the one before."""

    def __init__(self) -> None:
        from IPython.display import display

        self._display = display({"text/plain": ""}, raw=True, display_id=True)

    def write(self, text: str) -> int:
        if lines := text.strip().splitlines():
            self._display.update({"text/plain": lines[-1]}, raw=True)
        return len(text)
