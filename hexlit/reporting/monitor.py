"""The display of `hexlit monitor`: a live table or plain lines, then the result."""

import time
from statistics import fmean
from typing import Any, Self

from rich.console import Console, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from hexlit.reporting.page import Row, table
from hexlit.reporting.quantities import format_duration, shown
from hexlit.reporting.screen import LiveDisplay
from hexlit.reporting.text import table_for

SampleView = Any
"""A sample: `seconds`, the fields of `FIGURES`, None where unmeasured, and `reasons` by field."""


FIGURES = {
    "cpu_percent": ("cpu", "{:.0f}%"),
    "host_bytes": ("memory", "bytes"),
    "device_bytes": ("device memory", "bytes"),
    "device_utilisation": ("device busy", "{:.0%}"),
    "processes": ("processes", "count"),
}
"""Field of a sample -> its heading and its unit: the rows of the table."""


class ResourceDisplay(LiveDisplay):
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
        super().__init__(console, live=live)
        self._target, self._duration, self._interval = target, duration, interval
        self._started = time.monotonic()
        self._samples: list[SampleView] = []

    def __enter__(self) -> Self:
        if not self.live:
            self.line(f"watching {self._target} every {self._interval:g} s")
        return super().__enter__()

    def update(self, sample: SampleView) -> None:
        """Take in one more sample."""
        self._samples.append(sample)
        if not self.live:
            facts = [
                f"{heading} {shown(getattr(sample, name), unit)}"
                for name, (heading, unit) in FIGURES.items()
            ]
            self.line(f"{sample.seconds:8.1f} s  {', '.join(facts)}")

    def render(self) -> RenderableType:
        """The picture of this instant."""
        gone, until = time.monotonic() - self._started, "until it ends or Ctrl-C"
        if self._duration is not None:
            until = f"{format_duration(max(0.0, self._duration - gone))} left"
        first = Text(
            f"{format_duration(gone)} gone · {until} · every {self._interval:g} s\n", "cyan"
        )
        missing = [Text(line, "dim") for line in self._missing()]
        return self.framed(
            f"hexlit monitor · {self._target}",
            first,
            self._table(),
            *missing,
        )

    def summarise(self, how_it_ended: str, saved: str, trials: int, limit: str, basis: str) -> None:
        """Print means and peaks, and how many trials like the target fit side by side.

        Args:
            how_it_ended: such as `process 123 has ended`; empty when the time was up.
            saved: place of the saved samples.
            trials: number of trials.
            limit: the resource that limits them.
            basis: the figures behind the number.
        """
        ended = f"{how_it_ended} · " if how_it_ended else ""
        count, seconds = len(self._samples), self._samples[-1].seconds if self._samples else 0.0
        self.line(
            f"{ended}{count} sample{'' if count == 1 else 's'} in {format_duration(seconds)} · {saved}"
        )
        self.console.print(self._table())
        for line in (
            *self._missing(),
            f"parallel trials like this one: {trials}, limited by {limit} ({basis})",
        ):
            self.line(line)

    def _table(self) -> Grid:
        """A row per figure."""
        rows: list[Row] = []
        for name, (heading, unit) in FIGURES.items():
            known = self._known(name)
            latest = getattr(self._samples[-1], name) if self._samples else None
            mean = fmean(known) if known else None
            peak = max(known, default=None)
            rows.append([heading, *(shown(one, unit) for one in (latest, mean, peak))])
        headings = ["", "latest", "mean", "peak"]
        return table_for(table("", headings, rows), self.console.width - 4)

    def _known(self, name: str) -> list[float]:
        values = [getattr(sample, name) for sample in list(self._samples)]
        return [value for value in values if value is not None]

    def _missing(self) -> list[str]:
        """Figures that were never measured, and why: one line per reason."""
        by_reason: dict[str, list[str]] = {}
        for name, (heading, _) in FIGURES.items():
            if len(self._samples) > 1 and not self._known(name):
                reason = self._samples[-1].reasons.get(name)
                if reason:
                    by_reason.setdefault(reason, []).append(heading)
        return [f"{', '.join(names)} not measured: {why}" for why, names in by_reason.items()]
