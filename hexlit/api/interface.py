"""The overrides of a command, as Python says them."""

import io
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.accelerate.host import in_notebook
from hexlit.errors import UsageError
from hexlit.extras import install
from hexlit.tuning.space import quoted

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

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


def frame(rows: Iterable[Mapping[str, Any]], columns: Iterable[str] | None = None) -> "pd.DataFrame":
    """A data frame of `rows`; with `columns` these alone, also where there are no rows.

    Raises:
        UsageError: pandas is not installed.
    """
    return pandas_here().DataFrame(list(rows), columns=None if columns is None else list(columns))


def frame_of_csv(path: Path) -> "pd.DataFrame":
    """The table in `path`; an empty one where there is no such file.

    Raises:
        UsageError: pandas is not installed.
    """
    pandas = pandas_here()
    if not path.is_file() or not path.stat().st_size:
        return pandas.DataFrame()
    return pandas.read_csv(path)


def pandas_here() -> Any:
    """The package pandas; raises `UsageError` where it is not installed."""
    if find_spec("pandas") is None:
        raise UsageError(f"data frames need pandas, which is not installed: {install('notebooks')}")
    import pandas

    return pandas


@contextmanager
def console_for(quiet: bool) -> "Iterator[Console]":
    """A console for the display of some work, and for the block only."""
    from rich.console import Console

    if quiet:
        yield Console(file=io.StringIO(), highlight=False, force_jupyter=False)
    elif in_notebook():
        with _ChangingLine() as line:
            yield Console(file=line, highlight=False, force_jupyter=False, force_terminal=False, width=100)  # type: ignore[arg-type]
    else:
        yield Console(file=sys.stdout, highlight=False)


class _ChangingLine(io.TextIOBase):
    """A file whose last line a notebook shows, in place of the one before; gone when the work has ended well."""

    def __init__(self) -> None:
        self._shown: Any = None

    def __enter__(self) -> "_ChangingLine":
        from IPython.display import HTML, display

        self._shown = display(HTML(""), display_id=True)
        return self

    def __exit__(self, *stop: Any) -> None:
        if stop[0] is None:
            self._show("")

    def write(self, text: str) -> int:
        lines = [line for line in text.splitlines() if line.strip()]
        if lines:
            self._show(lines[-1])
        return len(text)

    def _show(self, line: str) -> None:
        from IPython.display import HTML

        if self._shown is not None:
            look = "font-family:monospace;font-size:90%;opacity:0.75"
            self._shown.update(HTML(f"<div style='{look}'>{escape(line)}</div>" if line else ""))
