"""The live displays: pictures drawn again and again while a command works, or plain lines."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hexlit.reporting.quantities import format_duration, format_rate, shown, time_left

SECONDS_BETWEEN_LINES = 10.0
GAP = 2
"""Blanks between two columns."""
WIDEST_BAR = 28
"""Most characters of a bar."""


def is_screen(console: Console) -> bool:
    """Whether lines can be overwritten: a real terminal, not a file that FORCE_COLOR makes look
    like one.
    """
    return console.is_terminal and not console.is_dumb_terminal and console.file.isatty()


class Bar(NamedTuple):
    """A bar with the progress of something."""

    name: str
    share: float | None
    """Share of the work that is done, 0 to 1; None: not known, the bar moves."""
    amount: str
    facts: Sequence[str]
    """Text behind the bar."""
    colour: str = "green"


def bars_table(bars: Sequence[Bar], width: int) -> Table:
    """The bars below one another, shorter on a narrow terminal."""
    table = Table.grid(padding=(0, GAP, 0, 0), pad_edge=False)
    for bar in bars:
        moves = bar.share is None
        drawn = ProgressBar(
            total=None if moves else 1.0,
            completed=bar.share or 0.0,
            width=min(WIDEST_BAR, width // 6),
            pulse=moves,
            complete_style=bar.colour,
            finished_style=bar.colour,
            pulse_style=bar.colour,
        )
        facts = Text(" · ".join(filter(None, bar.facts)), "cyan", overflow="fold")
        table.add_row(Text(bar.name, "bold"), drawn, Text(bar.amount), facts)
    return table


@contextmanager
def work_bar(title: str) -> Iterator[Callable[[str, float], None]]:
    """A bar with the time left, on the error stream; nothing if that is no terminal.

    Yields `advance(what, share)`, for the present activity and the share of the work that is done,
    0 to 1.
    """
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        "left",
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not is_screen(console), transient=True) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda what, share: bar.update(task, description=what, completed=share)


class LiveDisplay(ABC):
    """Draws `render` four times a second within a `with` block; without a terminal it draws
    nothing.

    Args:
        console: the terminal.
        live: whether to draw; None decides by the console.
        transient: whether the picture is cleared in the end.
    """

    def __init__(
        self, console: Console | None = None, *, live: bool | None = None, transient: bool = True
    ) -> None:
        self.console = console or Console(highlight=False)
        self.live = is_screen(self.console) if live is None else live
        self._transient, self._drawn = transient, ExitStack()
        self._next_line = time.monotonic() + SECONDS_BETWEEN_LINES

    def __enter__(self) -> Self:
        if self.live:
            look: dict[str, Any] = {
                "transient": self._transient,
                "vertical_overflow": "crop",
                "refresh_per_second": 4,
            }
            self._drawn.enter_context(
                Live(console=self.console, get_renderable=self.render, **look)
            )
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Give the terminal back; further calls do nothing."""
        self.live = False
        self._drawn.close()

    def line(self, text: str) -> None:
        """Write a line without colours."""
        print(text, file=self.console.file, flush=True)

    def line_due(self) -> bool:
        """Whether a line is due where nothing is drawn, one in ten seconds."""
        due = not self.live and time.monotonic() >= self._next_line
        if due:
            self._next_line = time.monotonic() + SECONDS_BETWEEN_LINES
        return due

    def framed(self, title: str, *parts: RenderableType) -> Panel:
        """The parts below one another, in a frame with a title."""
        return Panel(
            Group(*parts), title=Text(title, "bold"), title_align="left", border_style="dim"
        )

    @abstractmethod
    def render(self) -> RenderableType:
        """The picture of this instant."""


class Counting(LiveDisplay):
    """Shows games while they are played or read: the amount, the pace and the time left, as a bar
    or as lines.

    The pace counts from the first step on: kernels may have been compiled before it.

    Args:
        title: the activity, before the bar.
        total: final amount.
        done: the amount at the beginning.
        unit: of the amount: `count` for games, or `bytes` of their files.
    """

    def __init__(
        self,
        title: str,
        total: int,
        *,
        done: int = 0,
        unit: str = "count",
        console: Console | None = None,
    ) -> None:
        super().__init__(console, transient=unit == "bytes")
        self.done, self._total, self._title, self._unit = done, total, title, unit
        self._first: tuple[float, int, int] | None = None  # time, amount and games at first
        self._facts: list[str] = []

    def advance(self, games: int) -> None:
        """Show that `games` more games are finished."""
        self.update(self.done + games, self.done + games)

    def update(self, done: int, games: int) -> None:
        """Show the amount and the number of games so far."""
        now, self.done = time.monotonic(), done
        began, first_done, first_games = self._first = self._first or (now, done, games)
        seconds = max(now - began, 1e-9)
        left = time_left(seconds, done - first_done, self._total - first_done)
        facts = [f"{format_rate((games - first_games) / seconds)} games/s", left]
        if self._unit != "count":
            facts.insert(0, f"{games:,} games")
        self._facts = facts
        if self.line_due():
            amount = f"{shown(done, self._unit)} of {shown(self._total, self._unit)}"
            self.line(", ".join(filter(None, [amount, *facts])))

    def render(self) -> RenderableType:
        """The picture of this instant."""
        share = min(1.0, self.done / self._total) if self._total else None
        amount = f"{shown(self.done, self._unit)}/{shown(self._total, self._unit)}"
        return bars_table([Bar(self._title, share, amount, self._facts)], self.console.width)


class Waiting(LiveDisplay):
    """Shows a command's wait before its own display begins, with the time; nothing without a
    terminal.

    Args:
        title: name of the command.
        what: its present activity.
        status: other work at the same time, in a few words; empty where there is none.
    """

    def __init__(
        self,
        title: str,
        what: str,
        status: Callable[[], str] = str,
        *,
        console: Console | None = None,
    ) -> None:
        super().__init__(console)
        self.what, self._title, self._status = what, title, status
        self._began = time.monotonic()

    def render(self) -> RenderableType:
        """The picture of this instant."""
        gone = format_duration(time.monotonic() - self._began)
        return bars_table(
            [Bar(self._title, None, gone, [self.what, self._status()])], self.console.width
        )
