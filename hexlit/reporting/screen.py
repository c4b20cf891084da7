"""Shared by the live displays: whether there is a screen to draw on, and pictures that fit its width."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

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
