"""The display of a sweep: a live one on a terminal, a line for each trial anywhere else."""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hexlit.reporting.progress import is_screen
from hexlit.reporting.quantities import DASH, format_duration

_LATEST = 6


class SweepProgress:
    """Shows how many trials are done, which run, the best so far and the time left; in a `with` block.

    On a terminal it draws over itself four times a second; elsewhere each trial that ends is a line, without escape
    codes.
    """

    def __init__(
        self, trials: int, *, title: str = "hexlit sweep", console: Console | None = None, live: bool | None = None
    ) -> None:
        """A sweep of `trials` trials; `live` None decides by the console."""
        self.console = console or Console()
        self.live = is_screen(self.console) if live is None else live
        self._trials = trials
        self._title = title
        self._started = time.monotonic()
        self._done = self._first_done = self._pruned = self._failed = 0
        self._slots = 1
        self._known = False
        self._best: str | None = None
        self._running: dict[str, float] = {}
        self._latest: list[str] = []
        self._display = Live(console=self.console, get_renderable=self.render, refresh_per_second=4)

    def __enter__(self) -> Self:
        if self.live:
            self._display.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the terminal back; the last picture stays on it."""
        if self.live:
            self._display.stop()

    def update(
        self,
        *,
        done: int,
        pruned: int,
        failed: int,
        running: Mapping[str, float],
        best: str | None,
        slots: int,
    ) -> None:
        """How things stand; `running` has when each trial began, on `time.monotonic()`."""
        if not self._known:
            self._known, self._first_done = True, done  # a resumed sweep has some already
        self._done, self._pruned, self._failed = done, pruned, failed
        self._running, self._best, self._slots = dict(running), best, slots

    def ended(self, outcome: str) -> None:
        """A trial has ended, with this `outcome` in a line."""
        self._latest = [*self._latest, outcome][-_LATEST:]
        if not self.live:
            self.console.file.write(f"{self._headline()}  {outcome}\n")
            self.console.file.flush()

    def seconds_left(self) -> float | None:
        """Estimate of the seconds until all trials have ended; None before the first has."""
        done = self._done - self._first_done
        if done <= 0:
            return None
        return (self._trials - self._done) * (time.monotonic() - self._started) / done

    def render(self) -> RenderableType:
        """The picture of this instant."""
        now = time.monotonic()
        bars = Table.grid(padding=(0, 2, 0, 0))
        bars.add_column(style="bold", no_wrap=True)
        bars.add_column(width=28)
        bars.add_column(no_wrap=True)
        bars.add_column(no_wrap=True, style="cyan")
        times = f"{format_duration(now - self._started)} gone · {format_duration(self.seconds_left())} left"
        bar = ProgressBar(total=self._trials, completed=self._done, complete_style="green", finished_style="green")
        bars.add_row("trials", bar, f"{self._done}/{self._trials}", times)
        facts = f"{self._pruned} pruned · {self._failed} failed · best: {self._best or DASH}"
        parts: list[RenderableType] = [bars, Text(facts, "cyan", no_wrap=True, overflow="ellipsis"), Text()]
        parts += [
            Text(f"{format_duration(now - began):>8}  {shown}", no_wrap=True, overflow="ellipsis")
            for shown, began in self._running.items()
        ]
        parts += [
            Text(f"          {line}", "dim", no_wrap=True, overflow="ellipsis") for line in reversed(self._latest)
        ]
        return Panel(Group(*parts), title=Text(self._title, "bold"), title_align="left", border_style="dim")

    def _headline(self) -> str:
        left = self.seconds_left()
        about = "" if left is None or self._done >= self._trials else f", {format_duration(left)} left"
        return f"{self._done} of {self._trials}{about}"
