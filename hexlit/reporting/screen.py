"""The live displays: pictures that fit the width of the screen, drawn again and again while a command works."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hexlit.reporting.quantities import format_count, format_duration

SECONDS_BETWEEN_LINES = 10.0
_REFRESHES_PER_SECOND = 4.0
GAP = 2
"""Blanks between two columns."""
WIDEST_BAR, NARROWEST_BAR = 28, 6


def is_screen(console: Console) -> bool:
    """Whether lines can be overwritten: a real terminal, not a file that FORCE_COLOR makes look like one."""
    return console.is_terminal and not console.is_dumb_terminal and console.file.isatty()


class Fitted:
    """A picture that is made for its present width whenever it is drawn."""

    def __init__(self, make: Callable[[int], RenderableType]) -> None:
        """`make(width)` gives the picture for `width` characters."""
        self._make = make

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._make(options.max_width)


@dataclass(frozen=True)
class Bar:
    """A bar with the progress of something."""

    name: str
    share: float | None
    """Share of the work that is done, 0 to 1; None: not known, the bar moves."""
    amount: str
    facts: Sequence[str]
    """Text behind the bar, least important first; the first are dropped when room is short."""
    colour: str = "green"


def bars_table(bars: Sequence[Bar], width: int) -> Table:
    """The bars below one another. Bars shrink, then facts and bars are dropped, before a number is cut."""
    names, amounts = max(len(bar.name) for bar in bars), max(len(bar.amount) for bar in bars)
    room = width - names - amounts - 2 * GAP
    facts = [_joined(bar.facts, room) for bar in bars]
    for_bar = room - max(len(text) for text in facts) - GAP
    table = Table.grid(padding=(0, GAP, 0, 0), pad_edge=False)
    table.add_column(style="bold", no_wrap=True, min_width=names)
    if for_bar >= NARROWEST_BAR:
        table.add_column(width=min(WIDEST_BAR, for_bar))
    table.add_column(no_wrap=True, min_width=amounts)
    table.add_column(no_wrap=True, overflow="ellipsis")
    for bar, text in zip(bars, facts, strict=True):
        drawn = [_drawn(bar)] if for_bar >= NARROWEST_BAR else []
        table.add_row(bar.name, *drawn, bar.amount, Text(text, "cyan"))
    return table


def _joined(facts: Sequence[str], room: int) -> str:
    """The last facts that fit, at least one."""
    known = [fact for fact in facts if fact]
    while len(known) > 1 and len(" · ".join(known)) > room:
        known = known[1:]
    return " · ".join(known)


def _drawn(bar: Bar) -> ProgressBar:
    return ProgressBar(
        total=None if bar.share is None else 1.0,
        completed=bar.share or 0.0,
        pulse=bar.share is None,
        complete_style=bar.colour,
        finished_style=bar.colour,
        pulse_style=bar.colour,
    )


@contextmanager
def work_bar(title: str) -> Iterator[Callable[[str, float], None]]:
    """A bar with the time left, on the error stream; nothing if that is no terminal.

    Yields `advance(what, share)`, for the present activity and the share of the work that is done, 0 to 1.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), "left", TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not is_screen(console), transient=True) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda what, share: bar.update(task, description=what, completed=share)


class Display(ABC):
    """Draws `render` four times a second within a `with` block. Without a terminal it draws nothing.

    Args:
        console: the terminal.
        live: whether to draw; None decides by the console.
        transient: whether the picture is cleared in the end.
        vertical_overflow: treatment of a picture that is higher than the terminal.
    """

    def __init__(
        self,
        console: Console,
        *,
        live: bool | None = None,
        transient: bool = False,
        vertical_overflow: Literal["crop", "ellipsis"] = "ellipsis",
    ) -> None:
        self.console = console
        self.live = is_screen(console) if live is None else live
        self._transient = transient
        self._vertical_overflow = vertical_overflow
        self._drawn: Live | None = None

    def __enter__(self) -> Self:
        if self.live:
            self._drawn = Live(  # not made before: it calls `render` at once
                console=self.console,
                get_renderable=self.render,
                refresh_per_second=_REFRESHES_PER_SECOND,
                transient=self._transient,
                vertical_overflow=self._vertical_overflow,
            )
            self._drawn.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the terminal back, whatever happened."""
        self._end()

    def _end(self) -> None:
        if self._drawn is not None:
            self._drawn.stop()

    @abstractmethod
    def render(self) -> RenderableType:
        """The picture of this instant."""


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
