"""The display of a training run: a live one on a terminal, plain lines anywhere else."""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from hexlit.reporting.page import Column
from hexlit.reporting.page import Table as PageTable
from hexlit.reporting.quantities import (
    DASH,
    LEFT_OUT,
    format_count,
    format_duration,
    format_figure,
    format_rate,
    format_strength,
    time_left,
)
from hexlit.reporting.screen import Bar, Display, Fitted, Waiting, bars_table
from hexlit.reporting.text import table_for

_SECONDS_BETWEEN_LINES = 10.0
_RECENT_EPOCHS = 5  # for the estimate of the time left: epochs change in length during a run
_LEAST_SHARE = 0.05  # of a phase that is done before its time left is told: the first games of many end together
_TELLING = ("loss", "val loss")  # losses that stay longest on a narrow terminal
_TELLING_FIGURES = 2
_UNTIMED = "compiling"  # a phase outside the pace of epochs; it is announced, since it shows no progress


PhaseView = Any
"""A running phase: `name`, `epoch`, `goal`, `done`, `figures`, `detail`, `finished`, `wall_seconds`, `work_seconds` and
`counts`; unmeasured numbers are None."""


class TrainingProgress(Display):
    """Shows a running run; a listener of the phases that gets losses and figures through `update`.

    On a terminal: a bar over the epochs with the time left, a bar for the current phase with its rates, and a table of
    the last epochs. Elsewhere plain lines without escape codes: one per phase, one per epoch with losses or strength,
    and one with the end of the run. Within a phase a line comes at most every ten seconds. Calls take microseconds: a
    thread draws four times a second.

        with TrainingProgress(epochs=40, max_time=3600) as progress:
            clock.listeners.append(progress)
            ...
            progress.update(epoch=3, losses={"policy": 1.91, "value": 0.4}, figures={"search_optimality": 0.97})

    Args:
        epochs: number of epochs of the whole run; None where only `max_time` ends it.
        max_time: time limit of the run in seconds; None for no limit.
        first_epoch: first epoch of a resumed run.
        rows: number of epochs in the table.
        after: earlier display that stays until this one begins.
        live: None decides by the console.
    """

    def __init__(
        self,
        epochs: int | None = None,
        *,
        max_time: float | None = None,
        first_epoch: int = 0,
        title: str = "hexlit train",
        rows: int = 8,
        console: Console | None = None,
        live: bool | None = None,
        after: Waiting | None = None,
    ) -> None:
        super().__init__(console or Console(), live=live, vertical_overflow="crop")
        self._epochs = epochs
        self._max_time = max_time
        self._title = title
        self._rows = rows
        self._after = after
        self._started = time.monotonic()
        self._epoch = self._first_epoch = first_epoch
        self._epoch_started = self._started
        self._durations: dict[int, float] = {}
        self._untimed = 0.0
        self._next_end = 0.0
        self._over = False
        self._phase_name = ""
        self._phase_goal: float | None = None
        self._phase_started = self._started
        self._phase: PhaseView | None = None
        self._phase_runs = False
        self._phase_first: tuple[float, float] | None = None
        self._next_line = 0.0
        self._losses: dict[int, dict[str, float]] = {}
        self._figures: dict[int, dict[str, object]] = {}

    def __enter__(self) -> Self:
        self._started = self._epoch_started = time.monotonic()
        if self._after is not None:
            self._after.stop()
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the terminal back, whatever happened; the last picture stays."""
        if kind is None and not self._phase_runs and self._phase_name:
            self._end_epoch(self._epoch + 1)
        self._over = True
        super().__exit__(kind, error, trace)

    def phase_started(self, name: str, epoch: int, goal: float | None) -> None:
        """A phase begins; one of a later epoch ends the epoch before it."""
        now = time.monotonic()
        if epoch > self._epoch:
            self._end_epoch(epoch)
            self._say_when_it_ends(epoch - 1)
        self._phase, self._phase_name, self._phase_goal, self._phase_first = None, name, goal, None
        self._phase_started, self._next_line = now, now + _SECONDS_BETWEEN_LINES
        self._phase_runs = True
        if name == _UNTIMED and not self.live:
            self._line(f"{self._position(epoch)}  {name}: takes longer the first time, and is kept for later runs")

    def phase_advanced(self, phase: PhaseView) -> None:
        """Show the progress of the running phase."""
        self._phase = phase
        if self._phase_first is None and phase.done > 0:
            self._phase_first = phase.done, phase.wall_seconds
        if not self.live and (now := time.monotonic()) >= self._next_line:
            self._next_line = now + _SECONDS_BETWEEN_LINES
            parts = [_amount(phase), _facts(phase), self._phase_left(phase)]
            self._line(f"{self._position(phase.epoch)}  {phase.name}: {', '.join(filter(None, parts))}")

    def phase_ended(self, phase: PhaseView) -> None:
        """End the phase, well or (`finished` false) by an exception."""
        self._phase = phase
        self._phase_runs = False
        if phase.name == _UNTIMED:
            self._untimed += phase.wall_seconds
        if not self.live:
            how = "" if phase.finished else "stopped after "
            work = phase.work_seconds
            beside = "" if work is None or work <= phase.wall_seconds else f" of {format_duration(work)}"
            facts = ", ".join(filter(None, [how + format_duration(phase.wall_seconds) + beside, _facts(phase)]))
            self._line(f"{self._position(phase.epoch)}  {phase.name}: {facts}")

    def update(
        self, *, epoch: int, losses: Mapping[str, float] | None = None, figures: Mapping[str, object] | None = None
    ) -> None:
        """Set the losses of `epoch`, the figures of its evaluation, or both (see `format_strength` for their names)."""
        if losses:
            self._losses[epoch] = {**self._losses.get(epoch, {}), **losses}
        if figures:
            self._figures[epoch] = {**self._figures.get(epoch, {}), **figures}
        if not self.live:
            shown = {_short(name): format_figure(value) for name, value in (losses or {}).items()}
            shown.update(format_strength(figures or {}))
            self._line(f"{self._position(epoch)}  " + ", ".join(f"{name} {text}" for name, text in shown.items()))

    def seconds_left(self) -> float | None:
        """Estimated seconds until the run ends; None while nothing is known, and once the estimate is used up.

        The first epoch of a session says nothing about the pace: caches fill, and nothing runs beside it yet.
        """
        now = time.monotonic()
        limits = []
        if self._max_time is not None:
            limits.append(max(0.0, self._max_time - (now - self._started)))
        recent = list(self._durations.values())[1:][-_RECENT_EPOCHS:]
        if self._epochs is not None and recent:
            mean = sum(recent) / len(recent)
            under_way = min(now - self._epoch_started, mean)
            limits.append(max(0.0, (self._epochs - self._epoch) * mean - under_way))
        left = min(limits, default=0.0)
        return left if left > 0 else None

    def end_text(self) -> str:
        """Latest end of the run at this machine's pace: `ends by 21:04, in 2:10`; empty while that is unknown.

        Once the estimate is used up it is `ends any moment`: a last measurement can take longer than an epoch.
        """
        if not self._durations or self._over:
            return ""
        seconds = self.seconds_left()
        if seconds is None:
            pace = len(self._durations) > 1 or (self._epochs is not None and self._epoch >= self._epochs)
            known = self._max_time is not None or (self._epochs is not None and pace)
            return "ends any moment" if known else ""
        return f"ends by {_time_of_day(time.time() + seconds)}, in {format_duration(seconds)}"

    def render(self) -> RenderableType:
        """The picture of this instant."""
        phase = self._phase
        shown = [] if phase is None else [_facts(phase), self._phase_left(phase) if self._phase_runs else ""]
        facts = ", ".join(filter(None, shown)).replace(", ", " · ") or DASH
        parts: list[RenderableType] = [Fitted(self._bars), Text(facts, "cyan", overflow="fold")]
        if self._losses or self._figures:
            parts += [Text(), Fitted(self._table)]
        return Panel(Group(*parts), title=Text(self._title, "bold"), title_align="left", border_style="dim")

    def _bars(self, width: int) -> Table:
        now = time.monotonic()
        shares = []
        if self._epochs:
            shares.append(self._epoch / self._epochs)
        if self._max_time:
            shares.append((now - self._started) / self._max_time)
        share = min(1.0, max(shares)) if shares else None
        amount = f"{self._epoch}/{self._epochs}" if self._epochs is not None else f"{self._epoch}"
        gone = f"{format_duration(now - self._started)} gone"
        bars = [Bar("epochs", share, amount, [gone, self.end_text()])]
        if self._phase_name:
            phase = self._phase
            goal = self._phase_goal if phase is None else phase.goal
            share = None if phase is None or not goal else min(1.0, phase.done / goal)
            if not self._phase_runs:
                share = 1.0
            seconds = now - self._phase_started if phase is None else phase.wall_seconds
            amount = DASH if phase is None else _amount(phase)
            bars.append(Bar(self._phase_name, share, amount, [format_duration(seconds)], "magenta"))
        return bars_table(bars, width)

    def _table(self, width: int) -> Table:
        """The last epochs; on a narrow terminal the least telling columns go first."""
        epochs = sorted({*self._losses, *self._figures})[-self._rows :]
        columns = [Column("epoch", number=True), Column("time", number=True, rank=2)]
        cells = [[str(epoch), format_duration(self._durations.get(epoch))] for epoch in epochs]
        for name in dict.fromkeys(name for epoch in epochs for name in self._losses.get(epoch, ())):
            columns.append(Column(_short(name), number=True, rank=1 if _short(name) in _TELLING else 4))
            for row, epoch in zip(cells, epochs, strict=True):
                value = self._losses.get(epoch, {}).get(name)
                row.append(DASH if value is None else format_figure(value))
        figures = [format_strength(self._figures.get(epoch, {})) for epoch in epochs]
        for place, heading in enumerate(dict.fromkeys(heading for one in figures for heading in one)):
            rank = 5 if heading in LEFT_OUT else 1 if place < _TELLING_FIGURES else 3
            columns.append(Column(heading, number=True, rank=rank))
            for row, one in zip(cells, figures, strict=True):
                row.append(one.get(heading, DASH))
        return table_for(PageTable("", columns, cells, best=len(cells) - 1), width)

    def _end_epoch(self, following: int) -> None:
        now = time.monotonic()
        self._durations[self._epoch] = max(0.0, now - self._epoch_started - self._untimed)
        self._epoch, self._epoch_started, self._untimed = following, now, 0.0

    def _say_when_it_ends(self, epoch: int) -> None:
        """One line, at most every ten seconds, after `epoch`."""
        now, text = time.monotonic(), self.end_text()
        if not self.live and text and now >= self._next_end:
            self._next_end = now + _SECONDS_BETWEEN_LINES
            self._line(f"{self._position(epoch)}  took {format_duration(self._durations.get(epoch))}; the run {text}")

    def _phase_left(self, phase: PhaseView) -> str:
        """Time that the phase still needs at its pace since its first result; empty while that is not known.

        Games of self-play begin together, so the first result comes late and says nothing about the pace.
        """
        if not phase.goal or self._phase_first is None:
            return ""
        first, seconds = self._phase_first
        if phase.done < min(first + _LEAST_SHARE * phase.goal, phase.goal):
            return ""
        return time_left(phase.wall_seconds - seconds, phase.done - first, phase.goal - first)

    def _position(self, epoch: int) -> str:
        return f"epoch {epoch}" if self._epochs is None else f"epoch {epoch} of {self._epochs}"

    def _line(self, text: str) -> None:
        self.console.file.write(text + "\n")
        self.console.file.flush()


def _amount(phase: PhaseView) -> str:
    if phase.goal is None and not phase.done:
        return format_duration(phase.wall_seconds)
    return format_count(phase.done) + (f"/{format_count(phase.goal)}" if phase.goal is not None else "")


def _time_of_day(when: float) -> str:
    """`21:04`, with the date on another day; `when` in seconds since 1970."""
    local = time.localtime(when)
    today = local[:3] == time.localtime()[:3]
    return time.strftime("%H:%M" if today else "%d %b %H:%M", local)


def _facts(phase: PhaseView) -> str:
    """Rates and figures of the phase on one line."""
    seconds = phase.wall_seconds if phase.work_seconds is None else phase.work_seconds
    facts = [phase.detail] if phase.detail else []
    facts += [f"{format_rate(n / seconds)} {name}/s" for name, n in phase.counts.items() if seconds > 0]
    facts += [f"{_short(name)} {format_figure(value)}" for name, value in phase.figures.items()]
    return ", ".join(facts)


def _short(loss: str) -> str:
    return loss.rpartition("/")[2].rpartition(".")[2].removesuffix("_loss").replace("_", " ")
