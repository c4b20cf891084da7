"""The bar of `hexlit strength` while it measures."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[str, float], None]
"""Called with the present activity, and the share of the work that is done, in [0, 1]."""


@contextmanager
def progress() -> Iterator[Advance]:
    """A bar with the time left on the error stream; nothing if that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from hexlit.reporting.screen import is_screen

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), "left", TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not is_screen(console), transient=True) as bar:
        task = bar.add_task("measuring", total=1.0)
        yield lambda what, share: bar.update(task, description=what, completed=share)
