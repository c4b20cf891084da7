"""The display of `hexlit monitor`: a live table on a terminal, elsewhere one plain line per sample; then the result."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table as Grid
from rich.text import Text

from hexlit.reporting.page import Cell, Column, Row, Table
from hexlit.reporting.quantities import DASH, format_bytes, format_count, format_duration
from hexlit.reporting.screen import GAP, Display, Fitted
from hexlit.reporting.text import table_for

_TREND = 32  # samples in the small curve
_SHORTEST_TREND = 6
_FIGURE = 9  # characters of a figure, such as `1.94 GiB`
_HEIGHTS = "▁▂▃▄▅▆▇█"


class SampleView(Protocol):
    """Fields that the display reads of a sample; unmeasured figures are None, with the reason in `reasons`."""

    @property
    def seconds(self) -> float: ...
    @property
    def processes(self) -> int: ...
    @property
    def cpu_percent(self) -> float | None: ...
    @property
    def host_bytes(self) -> int | None: ...
    @property
    def device_bytes(self) -> int | None: ...
    @property
    def device_utilisation(self) -> float | None: ...
    @property
    def reasons(self) -> Mapping[str, str]: ...


class _Figure:
    """One row: the present figure, its mean and peak, and its last values."""

    def __init__(self, heading: str, name: str, show: Callable[[float | None], str], top: float | None = None) -> None:
        self.heading = heading
        self.name = name
        self.show = show
        self.top = top
        self.now: float | None = None
        self.peak: float | None = None
        self.reason = ""
        self.recent: deque[float | None] = deque(maxlen=_TREND)
        self._sum, self._count = 0.0, 0

    @property
    def mean(self) -> float | None:
        return self._sum / self._count if self._count else None

    def add(self, sample: SampleView) -> None:
        value: float | None = getattr(sample, self.name)
        self.now = value
        self.recent.append(value)
        if value is None:
            self.reason = sample.reasons.get(self.name, "")
            return
        self.peak = value if self.peak is None else max(self.peak, value)
        self._sum += value
        self._count += 1


class ResourceDisplay(Display):
    """Shows the samples of a tree of processes as they arrive, and their summary.

        with ResourceDisplay("process 123", duration=600, interval=5) as display:
            display.update(sample)
        display.summarise(...)

    Args:
        target: name of the watched processes.
        duration: seconds until watching ends; None where only the target ends it.
        interval: seconds from one sample to the next.
        live: None decides by the console.
    """

    def __init__(
        self,
        target: str,
        *,
        duration: float | None,
        interval: float,
        console: Console | None = None,
        live: bool | None = None,
    ) -> None:
        super().__init__(console or Console(highlight=False), live=live, transient=True)
        self._target = target
        self._duration = duration
        self._interval = interval
        self._started = time.monotonic()
        self._samples = 0
        self._seconds = 0.0
        self._told: set[str] = set()
        self._figures = (
            _Figure("cpu", "cpu_percent", format_cpu),
            _Figure("memory", "host_bytes", format_bytes),
            _Figure("device memory", "device_bytes", format_bytes),
            _Figure("device busy", "device_utilisation", _format_utilisation, top=1.0),
            _Figure("processes", "processes", _format_processes),
        )

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        if not self.live:
            self._line(f"watching {self._target} every {self._interval:g} s")
        return super().__enter__()

    def update(self, sample: SampleView) -> None:
        """Take in one more sample."""
        self._samples += 1
        self._seconds = sample.seconds
        for figure in self._figures:
            figure.add(sample)
        if self.live:
            return
        facts = [f"{figure.heading} {figure.show(figure.now)}" for figure in self._figures[:-1]]
        processes = f"{sample.processes} process{'' if sample.processes == 1 else 'es'}"
        self._line(f"{sample.seconds:8.1f} s  {', '.join(facts)}, {processes}")
        for line in self._missing():
            if line not in self._told:
                self._told.add(line)
                self._line(f"            {line}")

    def seconds_left(self) -> float | None:
        """Seconds until watching ends, unless the target ends first; None without a limit."""
        if self._duration is None:
            return None
        return max(0.0, self._duration - (time.monotonic() - self._started))

    def render(self) -> RenderableType:
        """The picture of this instant."""
        gone, left = time.monotonic() - self._started, self.seconds_left()
        until = "until it ends or Ctrl-C" if left is None else f"{format_duration(left)} left"
        parts: list[RenderableType] = [
            Text(f"{format_duration(gone)} gone · {until} · every {self._interval:g} s", "cyan"),
            Text(),
            Fitted(lambda width: self._table(width, with_now=True)),
        ]
        parts += [Text(line, "dim") for line in self._missing()]
        title = Text(f"hexlit monitor · {self._target}", "bold")
        return Panel(Group(*parts), title=title, title_align="left", border_style="dim")

    def summarise(self, how_it_ended: str, table: str, trials: int, limit: str, basis: str) -> None:
        """Print means and peaks, and how many trials like the target fit side by side.

        Args:
            how_it_ended: such as `process 123 has ended`; empty when the time was up.
            table: place of the saved samples.
            trials: number of trials.
            limit: the resource that limits them.
            basis: the figures behind the number.
        """
        ended = f"{how_it_ended} · " if how_it_ended else ""
        samples = f"{self._samples} sample{'' if self._samples == 1 else 's'}"
        self._line(f"{ended}{samples} in {format_duration(self._seconds)} · {table}")
        self.console.print(Fitted(lambda width: self._table(width, with_now=False)))
        for line in self._missing():
            self._line(line)
        self._line(f"parallel trials like this one: {trials}, limited by {limit} ({basis})")

    def _table(self, width: int, *, with_now: bool) -> Grid:
        """A row a figure; on a narrow terminal the mean goes first, then the trend, which shrinks before."""
        headings = ["now", "mean", "peak"] if with_now else ["mean", "peak"]
        columns = [Column(""), *(Column(name, number=True, rank=2 * (name == "mean")) for name in headings)]
        names = max(len(figure.heading) for figure in self._figures)
        room = width - names - GAP - len(headings) * (_FIGURE + GAP) - GAP
        trend = min(_TREND, max(_SHORTEST_TREND, room)) if with_now else 0
        columns += [Column("trend", rank=1)] if trend else []
        rows: list[Row] = []
        for figure in self._figures:
            values = {"now": figure.now, "mean": figure.mean, "peak": figure.peak}
            shown = [figure.show(values[name]).rjust(_FIGURE) for name in headings]
            curve = sparkline(list(figure.recent)[-trend:], figure.top)
            rows.append([figure.heading, *shown, *([Cell(curve, state="running")] if trend else [])])
        return table_for(Table("", columns, rows), width)

    def _missing(self) -> list[str]:
        """Figures that were never measured, and why: one line per reason."""
        by_reason: dict[str, list[str]] = {}
        for figure in self._figures:
            if figure.mean is None and figure.reason and self._samples > 1:
                by_reason.setdefault(figure.reason, []).append(figure.heading)
        return [f"{', '.join(names)} not measured: {reason}" for reason, names in by_reason.items()]

    def _line(self, text: str) -> None:
        self.console.file.write(text + "\n")
        self.console.file.flush()


def sparkline(values: Sequence[float | None], top: float | None = None) -> str:
    """The values as a small curve from 0 to `top`, or to the largest of them; a blank for a missing value."""
    highest = top or max((value for value in values if value is not None), default=0.0) or 1.0
    steps = len(_HEIGHTS) - 1
    return "".join(
        " " if value is None else _HEIGHTS[min(steps, max(0, round(value / highest * steps)))] for value in values
    )


def format_cpu(percent: float | None) -> str:
    """Processor time such as `97%`; 100% is one core."""
    return DASH if percent is None else f"{percent:.0f}%"


def _format_utilisation(share: float | None) -> str:
    return DASH if share is None else f"{100 * share:.0f}%"


def _format_processes(count: float | None) -> str:
    return format_count(count) if count is None or count == int(count) else f"{count:.1f}"
