"""The display of a growing count: a bar on a terminal, elsewhere a line now and then."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live

from hexlit.reporting.quantities import format_count, format_duration
from hexlit.reporting.screen import Bar, Fitted, bars_table, is_screen

SECONDS_BETWEEN_LINES = 10.0


class Counting:
    """Shows a count while it grows, within a `with` block.

    Args:
        title: name of the count, before the bar.
        total: final count.
        done: the count at the beginning.
        transient: whether the bar is cleared in the end.
    """

    def __init__(
        self, title: str, total: int, *, done: int = 0, console: Console | None = None, transient: bool = False
    ) -> None:
        self.console = console or Console()
        self.live = is_screen(self.console)
        self.done, self.total = done, total
        self.facts: list[str] = []
        """Text behind the bar, least important first."""
        self._title = title
        self._next_line = time.monotonic() + SECONDS_BETWEEN_LINES
        self._display = Live(
            console=self.console, get_renderable=self.render, refresh_per_second=4, transient=transient
        )

    def __enter__(self) -> Self:
        if self.live:
            self._display.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the terminal back, whatever happened."""
        if self.live:
            self._display.stop()

    def line_due(self) -> bool:
        """Whether a line is due where there is no bar; asked only when there is something to report."""
        now = time.monotonic()
        if self.live or now < self._next_line:
            return False
        self._next_line = now + SECONDS_BETWEEN_LINES
        return True

    def say(self, line: str) -> None:
        """Write a line without colours."""
        self.console.file.write(line + "\n")
        self.console.file.flush()

    def render(self) -> RenderableType:
        """The picture of this instant."""
        amount = f"{format_count(self.done)}/{format_count(self.total)}"
        share = min(1.0, self.done / self.total) if self.total else None
        return Fitted(lambda width: bars_table([Bar(self._title, share, amount, self.facts)], width))


class Waiting:
    """Shows a command's wait before its own display begins, with the time; nothing without a terminal.

    Args:
        title: name of the command.
        what: its present activity.
        status: other work at the same time, in a few words; empty where there is none.
    """

    def __init__(
        self, title: str, what: str, status: Callable[[], str] = str, *, console: Console | None = None
    ) -> None:
        self._console = console or Console()
        self.what = what
        self._title, self._status = title, status
        self._began = time.monotonic()
        self._display = Live(console=self._console, get_renderable=self.render, refresh_per_second=4, transient=True)
        self.live = is_screen(self._console)

    def __enter__(self) -> Self:
        if self.live:
            self._display.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the picture."""
        self.stop()

    def stop(self) -> None:
        """Give the terminal to the next display; further calls do nothing."""
        if self.live:
            self.live = False
            self._display.stop()

    def render(self) -> RenderableType:
        """The picture of this instant."""
        gone = format_duration(time.monotonic() - self._began)
        return Fitted(lambda width: bars_table([Bar(self._title, None, gone, [self.what, self._status()])], width))
