"""The display of a training run: a live one on a terminal, plain lines anywhere else."""

import time
from collections import defaultdict
from collections.abc import Mapping
from statistics import fmean
from typing import Any, Self

from rich.console import Console, RenderableType
from rich.text import Text

from hexlit.reporting.page import Table, table
from hexlit.reporting.quantities import (
    DASH,
    LEFT_OUT,
    format_duration,
    format_rate,
    format_strength,
    shown,
)
from hexlit.reporting.screen import SECONDS_BETWEEN_LINES, Bar, LiveDisplay, Waiting, bars_table
from hexlit.reporting.text import table_for

_RECENT_EPOCHS = 5  # for the estimate of the time left: epochs change in length during a run
_FIRST_LOSSES = ("loss", "val loss")  # losses that stay longest on a narrow terminal
_FIRST_FIGURES = 2
_ROWS = 8  # epochs in the table
_UNTIMED = "compiling"  # a phase outside the pace of epochs

PhaseView = Any
"""A running phase: `name`, `epoch`, `goal`, `done`, `figures`, `detail`, `finished`,
`wall_seconds`, `work_seconds` and `counts`; unmeasured numbers are None.
"""


class TrainingProgress(LiveDisplay):
    """Shows a running run; a listener of the phases that gets losses and figures through `update`.

    On a terminal: a bar over the epochs with the time left, a bar for the current phase with its
    rates, and a table of the last epochs. Elsewhere plain lines without escape codes: one per
    phase, and one per epoch with losses or strength. Within a phase a line comes at most every ten
    seconds. Calls take microseconds: a thread draws four times a second.

        with TrainingProgress(epochs=40, max_time=3600) as progress:
            clock.listeners.append(progress)
            ...
            progress.update(epoch=3, losses={"policy": 1.91, "value": 0.4},
            figures={"search_optimality": 0.97})

    Args:
        epochs: number of epochs of the whole run; None where only `max_time` ends it.
        max_time: time limit of the run in seconds; None for no limit.
        first_epoch: first epoch of a resumed run.
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
        console: Console | None = None,
        live: bool | None = None,
        after: Waiting | None = None,
    ) -> None:
        super().__init__(console, live=live, transient=False)
        self._epochs, self._max_time, self._title, self._after = epochs, max_time, title, after
        self._started = self._epoch_started = self._phase_started = time.monotonic()
        self._epoch, self._durations = first_epoch, dict[int, float]()
        self._untimed = self._next_end = 0.0
        self._phase_runs = False
        self._phase: PhaseView | None = None
        self._texts: dict[int, dict[str, str]] = defaultdict(dict)
        self._ranks: dict[str, int] = {}

    def __enter__(self) -> Self:
        self._started = self._epoch_started = time.monotonic()
        if self._after is not None:
            self._after.stop()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        """Give the terminal back, whatever happened; the last picture stays."""
        if error[0] is None and not self._phase_runs and self._phase is not None:
            self._end_epoch(self._epoch + 1)
        super().__exit__(*error)

    def phase_started(self, phase: PhaseView) -> None:
        """A phase begins; one of a later epoch ends the epoch before it."""
        now, epoch = time.monotonic(), phase.epoch
        if epoch > self._epoch:
            self._end_epoch(epoch)
            end = self.end_text()
            if end and now >= self._next_end:
                self._next_end = now + SECONDS_BETWEEN_LINES
                took = format_duration(self._durations.get(epoch - 1))
                self._print(epoch - 1, f"took {took}; the run {end}")
        self._phase, self._phase_runs = phase, True
        self._phase_started, self._next_line = now, now + SECONDS_BETWEEN_LINES
        if phase.name == _UNTIMED:  # it shows no progress
            self._print(epoch, f"{phase.name}: takes longer the first time")

    def phase_advanced(self, phase: PhaseView) -> None:
        """Show the progress of the running phase."""
        self._phase = phase
        if self.line_due():
            parts = [_amount(phase, phase.wall_seconds), *_facts(phase)]
            self._print(phase.epoch, f"{phase.name}: {', '.join(parts)}")

    def phase_ended(self, phase: PhaseView) -> None:
        """End the phase, well or (`finished` false) by an exception."""
        self._phase, self._phase_runs = phase, False
        if phase.name == _UNTIMED:
            self._untimed += phase.wall_seconds
        how = "" if phase.finished else "stopped after "
        facts = [how + format_duration(phase.wall_seconds), *_facts(phase)]
        self._print(phase.epoch, f"{phase.name}: {', '.join(facts)}")

    def update(
        self,
        *,
        epoch: int,
        losses: Mapping[str, float] | None = None,
        figures: Mapping[str, object] | None = None,
    ) -> None:
        """Set the losses of `epoch` and the figures of its evaluation, see `format_strength`."""
        texts = {}
        for name, value in (losses or {}).items():
            heading = _short(name)
            texts[heading] = shown(value)
            self._ranks[heading] = 1 if heading in _FIRST_LOSSES else 4
        for index, (heading, text) in enumerate(format_strength(figures or {}).items()):
            texts[heading] = text
            rank = 1 if index < _FIRST_FIGURES else 3
            self._ranks[heading] = 5 if heading in LEFT_OUT else rank
        self._texts[epoch] |= texts
        self._print(epoch, ", ".join(f"{name} {text}" for name, text in texts.items()))

    def seconds_left(self) -> float | None:
        """Estimated seconds until the run ends; None while nothing is known.

        The first epoch of a session says nothing about the pace: caches fill, and nothing runs
        next to it yet.
        """
        now, limits = time.monotonic(), []
        if self._max_time is not None:
            limits.append(self._max_time - (now - self._started))
        recent = list(self._durations.values())[1:][-_RECENT_EPOCHS:]
        if self._epochs is not None and recent:
            pace = fmean(recent)
            gone = min(now - self._epoch_started, pace)
            limits.append((self._epochs - self._epoch) * pace - gone)
        left = min(limits, default=0.0)
        return left if left > 0 else None

    def end_text(self) -> str:
        """Latest end of the run at this machine's pace, such as `ends by 21:04, in 2:10`.

        Empty while that is unknown.
        """
        seconds = self.seconds_left()
        if not self._durations or seconds is None:
            return ""
        end = time.strftime("%H:%M", time.localtime(time.time() + seconds))
        return f"ends by {end}, in {format_duration(seconds)}"

    def render(self) -> RenderableType:
        """The picture of this instant."""
        now, phase, width = time.monotonic(), self._phase, self.console.width - 4
        shares, amount = [], f"{self._epoch}"
        if self._epochs:
            shares.append(self._epoch / self._epochs)
            amount += f"/{self._epochs}"
        if self._max_time:
            shares.append((now - self._started) / self._max_time)
        share = min(1.0, max(shares)) if shares else None
        gone = f"{format_duration(now - self._started)} gone"
        bars, facts = [Bar("epochs", share, amount, [self.end_text(), gone])], [DASH]
        if phase is not None:
            seconds, share = phase.wall_seconds, 1.0
            if self._phase_runs:
                seconds = now - self._phase_started
                share = min(1.0, phase.done / phase.goal) if phase.goal else None
            text = [format_duration(seconds)]
            bars.append(
                Bar(
                    phase.name,
                    share,
                    _amount(phase, seconds),
                    text,
                    "magenta",
                )
            )
            facts = _facts(phase) or facts
        parts: list[RenderableType] = [Text(" · ".join(facts), "cyan", overflow="fold")]
        if self._texts:
            parts += [Text(), table_for(self._table(), width)]
        return self.framed(self._title, bars_table(bars, width), *parts)

    def _table(self) -> Table:
        """The last epochs."""
        epochs = sorted(self._texts)[-_ROWS:]
        names = []
        for name in self._ranks:
            if any(name in self._texts[epoch] for epoch in epochs):
                names.append(name)
        rows = []
        for epoch in epochs:
            texts = [self._texts[epoch].get(name, DASH) for name in names]
            rows.append([str(epoch), format_duration(self._durations.get(epoch)), *texts])
        ranks = {"time": 2} | self._ranks
        return table(
            "",
            ["epoch", "time", *names],
            rows,
            names=0,
            ranks=ranks,
            best=len(rows) - 1,
        )

    def _end_epoch(self, following: int) -> None:
        now = time.monotonic()
        self._durations[self._epoch] = max(0.0, now - self._epoch_started - self._untimed)
        self._epoch, self._epoch_started, self._untimed = following, now, 0.0

    def _print(self, epoch: int, text: str) -> None:
        of = "" if self._epochs is None else f" of {self._epochs}"
        if not self.live:
            self.line(f"epoch {epoch}{of}  {text}")


def _amount(phase: PhaseView, seconds: float) -> str:
    if phase.goal is None:
        return shown(phase.done, "count") if phase.done else format_duration(seconds)
    return f"{shown(phase.done, 'count')}/{shown(phase.goal, 'count')}"


def _facts(phase: PhaseView) -> list[str]:
    """Rates and figures of the phase."""
    seconds = phase.wall_seconds if phase.work_seconds is None else phase.work_seconds
    facts = [phase.detail] if phase.detail else []
    if seconds > 0:
        facts += [f"{format_rate(n / seconds)} {name}/s" for name, n in phase.counts.items()]
    facts += [f"{_short(name)} {shown(value)}" for name, value in phase.figures.items()]
    return facts


def _short(loss: str) -> str:
    return loss.rpartition("/")[2].rpartition(".")[2].removesuffix("_loss").replace("_", " ")
