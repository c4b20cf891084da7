"""The display of a growing count: a bar on a terminal, elsewhere a line now and then."""

import time
from collections.abc import Callable

from rich.console import Console, RenderableType

from hexlit.reporting.display import Display
from hexlit.reporting.quantities import format_count, format_duration
from hexlit.reporting.screen import Bar, Fitted, bars_table

SECONDS_BETWEEN_LINES = 10.0


class Counting(Display):
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
        super().__init__(console or Console(), transient=transient)
        self.done, self.total = done, total
        self.facts: list[str] = []
        """Text behind the bar, least important first."""
        self._title = title
        self._next_line = time.monotonic() + SECONDS_BETWEEN_LINES

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

    @property
    def amount(self) -> str:
        """The text at the end of the bar."""
        return f"{format_count(self.done)}/{format_count(self.total)}"

    def render(self) -> RenderableType:
        """The picture of this instant."""
        share = min(1.0, self.done / self.total) if self.total else None
        return Fitted(lambda width: bars_table([Bar(self._title, share, self.amount, self.facts)], width))


class Waiting(Display):
    """Shows a command's wait before its own display begins, with the time; nothing without a terminal.

    Args:
        title: name of the command.
        what: its present activity.
        status: other work at the same time, in a few words; empty where there is none.
    """

    def __init__(
        self, title: str, what: str, status: Callable[[], str] = str, *, console: Console | None = None
    ) -> None:
        super().__init__(console or Console(), transient=True)
        self.what = what
        self._title, self._status = title, status
        self._began = time.monotonic()

    def stop(self) -> None:
        """Give the terminal to the next display; further calls do nothing."""
        self.live = False
        self._end()

    def render(self) -> RenderableType:
        """The picture of this instant."""
        gone = format_duration(time.monotonic() - self._began)
        return Fitted(lambda width: bars_table([Bar(self._title, None, gone, [self.what, self._status()])], width))
