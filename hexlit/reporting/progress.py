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
    time_left,
)
from hexlit.reporting.screen import SECONDS_BETWEEN_LINES, Bar, LiveDisplay, Waiting, bars_table
from hexlit.reporting.text import table_for

_RECENT_EPOCHS = 5  # for the estimate of the time left: epochs change in length during a run
# of a phase that is done before its time left is told: the first games of many end together
_LEAST_SHARE = 0.05
_TELLING = ("loss", "val loss")  # losses that stay longest on a narrow terminal
_TELLING_FIGURES = 2
_ROWS = 8  # epochs in the table
_UNTIMED = (
    "compiling"  # a phase outside the pace of epochs; it is announced, since it shows no progress
)


PhaseView = Any
"""A running phase: `name`, `epoch`, `goal`, `done`, `figures`, `detail`, `finished`,
`wall_seconds`, `work_seconds` and `counts`; unmeasured numbers are None.
"""


class TrainingProgress(LiveDisplay):
    """Shows a running run; a listener of the phases that gets losses and figures through `update`.

    On a terminal: a bar over the epochs with the time left, a bar for the current phase with its
    rates, and a table of the last epochs. Elsewhere plain lines without escape codes: one per
    phase, one per epoch with losses or strength, and one with the end of the run. Within a phase a
    line comes at most every ten seconds. Calls take microseconds: a thread draws four times a
    second.

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
        self._over = self._phase_runs = False
        self._phase: PhaseView | None = None
        self._phase_first: tuple[float, float] | None = None
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
        self._over = True
        super().__exit__(*error)

    def phase_started(self, phase: PhaseView) -> None:
        """A phase begins; one of a later epoch ends the epoch before it."""
        now, epoch = time.monotonic(), phase.epoch
        if epoch > self._epoch:
            self._end_epoch(epoch)
            if not self.live and (text := self.end_text()) and now >= self._next_end:
                self._next_end = now + SECONDS_BETWEEN_LINES
                self._tell(
                    epoch - 1,
                    f"took {format_duration(self._durations.get(epoch - 1))}; the run {text}",
                )
        self._phase, self._phase_first, self._phase_runs = phase, None, True
        self._phase_started, self._next_line = now, now + SECONDS_BETWEEN_LINES
        if phase.name == _UNTIMED:
            self._tell(
                epoch, f"{phase.name}: takes longer the first time, and is kept for later runs"
            )

    def phase_advanced(self, phase: PhaseView) -> None:
        """Show the progress of the running phase."""
        self._phase = phase
        if self._phase_first is None and phase.done > 0:
            self._phase_first = phase.done, phase.wall_seconds
        if self.line_due():
            parts = [_amount(phase, phase.wall_seconds), *_facts(phase), self._phase_left(phase)]
            self._tell(phase.epoch, f"{phase.name}: {', '.join(filter(None, parts))}")

    def phase_ended(self, phase: PhaseView) -> None:
        """End the phase, well or (`finished` false) by an exception."""
        self._phase, self._phase_runs = phase, False
        self._untimed += phase.wall_seconds if phase.name == _UNTIMED else 0.0
        how, work = "" if phase.finished else "stopped after ", phase.work_seconds or 0.0
        beside = f" of {format_duration(work)}" if work > phase.wall_seconds else ""
        facts = [how + format_duration(phase.wall_seconds) + beside, *_facts(phase)]
        self._tell(phase.epoch, f"{phase.name}: {', '.join(facts)}")

    def update(
        self,
        *,
        epoch: int,
        losses: Mapping[str, float] | None = None,
        figures: Mapping[str, object] | None = None,
    ) -> None:
        """Set the losses of `epoch`, the figures of its evaluation,
        or both (see `format_strength` for their names).
        """
        texts = {_short(name): shown(value) for name, value in (losses or {}).items()}
        self._ranks |= {name: 1 if name in _TELLING else 4 for name in texts}
        for place, (heading, text) in enumerate(format_strength(figures or {}).items()):
            self._ranks[heading] = (
                5 if heading in LEFT_OUT else 1 if place < _TELLING_FIGURES else 3
            )
            texts[heading] = text
        self._texts[epoch] |= texts
        self._tell(epoch, ", ".join(f"{name} {text}" for name, text in texts.items()))

    def seconds_left(self) -> float | None:
        """Estimated seconds until the run ends; None while nothing is known, and once the estimate
        is used up.

        The first epoch of a session says nothing about the pace: caches fill, and nothing runs
        beside it yet.
        """
        now, limits = time.monotonic(), []
        if self._max_time is not None:
            limits.append(self._max_time - (now - self._started))
        recent = list(self._durations.values())[1:][-_RECENT_EPOCHS:]
        if self._epochs is not None and recent:
            limits.append(
                (self._epochs - self._epoch) * fmean(recent)
                - min(now - self._epoch_started, fmean(recent))
            )
        left = min(limits, default=0.0)
        return left if left > 0 else None

    def end_text(self) -> str:
        """Latest end of the run at this machine's pace: `ends by 21:04, in 2:10`; empty while that
        is unknown.

        Once the estimate is used up it is `ends any moment`: a last measurement can take longer
        than an epoch.
        """
        if not self._durations or self._over:
            return ""
        seconds = self.seconds_left()
        if seconds is not None:
            return f"ends by {_time_of_day(time.time() + seconds)}, in {format_duration(seconds)}"
        pace = self._epochs is not None and (
            len(self._durations) > 1 or self._epoch >= self._epochs
        )
        return "ends any moment" if pace or self._max_time is not None else ""

    def render(self) -> RenderableType:
        """The picture of this instant."""
        now, phase, width = time.monotonic(), self._phase, self.console.width - 4
        shares = [self._epoch / self._epochs] if self._epochs else []
        shares += [(now - self._started) / self._max_time] if self._max_time else []
        amount = f"{self._epoch}/{self._epochs}" if self._epochs is not None else f"{self._epoch}"
        gone = f"{format_duration(now - self._started)} gone"
        bars, facts = (
            [
                Bar(
                    "epochs",
                    min(1.0, max(shares)) if shares else None,
                    amount,
                    [self.end_text(), gone],
                )
            ],
            [""],
        )
        if phase is not None:
            seconds = now - self._phase_started if self._phase_runs else phase.wall_seconds
            share = (
                1.0
                if not self._phase_runs
                else min(1.0, phase.done / phase.goal)
                if phase.goal
                else None
            )
            bars.append(
                Bar(
                    phase.name,
                    share,
                    _amount(phase, seconds),
                    [format_duration(seconds)],
                    "magenta",
                )
            )
            facts = [*_facts(phase), self._phase_left(phase) * self._phase_runs]
        parts: list[RenderableType] = [
            Text(" · ".join(filter(None, facts)) or DASH, "cyan", overflow="fold")
        ]
        parts += [Text(), table_for(self._table(), width)] if self._texts else []
        return self.framed(self._title, bars_table(bars, width), *parts)

    def _table(self) -> Table:
        """The last epochs; on a narrow terminal the least telling columns go first."""
        epochs = sorted(self._texts)[-_ROWS:]
        names = [
            name for name in self._ranks if any(name in self._texts[epoch] for epoch in epochs)
        ]
        ranks = {"time": 2} | {name: self._ranks[name] for name in names}
        rows = [
            [
                str(one),
                format_duration(self._durations.get(one)),
                *(self._texts[one].get(name, DASH) for name in names),
            ]
            for one in epochs
        ]
        return table("", ["epoch", "time", *names], rows, names=0, ranks=ranks, best=len(rows) - 1)

    def _end_epoch(self, following: int) -> None:
        now = time.monotonic()
        self._durations[self._epoch] = max(0.0, now - self._epoch_started - self._untimed)
        self._epoch, self._epoch_started, self._untimed = following, now, 0.0

    def _phase_left(self, phase: PhaseView) -> str:
        """Time that the phase still needs at its pace since its first result; empty while that is
        not known.

        Games of self-play begin together, so the first result comes late and says nothing about the
        pace.
        """
        first, seconds = self._phase_first or (0.0, 0.0)
        if (
            not phase.goal
            or not first
            or phase.done < min(first + _LEAST_SHARE * phase.goal, phase.goal)
        ):
            return ""
        return time_left(phase.wall_seconds - seconds, phase.done - first, phase.goal - first)

    def _tell(self, epoch: int, text: str) -> None:
        of = "" if self._epochs is None else f" of {self._epochs}"
        if not self.live:
            self.line(f"epoch {epoch}{of}  {text}")


def _amount(phase: PhaseView, seconds: float) -> str:
    if phase.goal is None:
        return shown(phase.done, "count") if phase.done else format_duration(seconds)
    return f"{shown(phase.done, 'count')}/{shown(phase.goal, 'count')}"


def _time_of_day(when: float) -> str:
    """`21:04`, with the date on another day; `when` in seconds since 1970."""
    local = time.localtime(when)
    today = local[:3] == time.localtime()[:3]
    return time.strftime("%H:%M" if today else "%d %b %H:%M", local)


def _facts(phase: PhaseView) -> list[str]:
    """Rates and figures of the phase."""
    seconds = phase.wall_seconds if phase.work_seconds is None else phase.work_seconds
    facts = [phase.detail] if phase.detail else []
    facts += [
        f"{format_rate(n / seconds)} {name}/s" for name, n in phase.counts.items() if seconds > 0
    ]
    facts += [f"{_short(name)} {shown(value)}" for name, value in phase.figures.items()]
    return facts


def _short(loss: str) -> str:
    return loss.rpartition("/")[2].rpartition(".")[2].removesuffix("_loss").replace("_", " ")
