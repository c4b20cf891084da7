"""The display of work: as ever on a terminal or in a file, one line that changes in a notebook, or none."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from hexlit.accelerate.host import in_notebook

if TYPE_CHECKING:
    from rich.console import Console


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
