"""Figures of the course of a sweep's trials: their reports, their losses, and their times."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hexlit.reporting.figures import (
    BEST_COLOUR,
    STATE_COLOURS,
    empty_figure,
    log_scale,
    new_figure,
    shorten,
    spread_out,
    state_legend,
    thinned,
    time_unit,
    whole_ticks,
)


@dataclass(frozen=True)
class Line:
    """One trial's values by epoch; NaN where a loss was no number."""

    trial: int
    state: str
    epochs: list[int]
    values: list[float]


@dataclass(frozen=True)
class Panel:
    """Lines of all trials in one plot."""

    name: str
    """Name of the values, with their unit if they have one."""
    lines: list[Line]
    may_be_log: bool = True
    """Whether values far apart get a logarithmic axis: right for losses, not for scores."""


@dataclass(frozen=True)
class Lines:
    """Panels side by side."""

    panels: list[Panel]
    best: int | None


@dataclass(frozen=True)
class Bar:
    """One trial's time in its slot, in seconds since the sweep began."""

    trial: int
    state: str
    slot: int
    start: float
    end: float


@dataclass(frozen=True)
class Timeline:
    """Times of the trials; trials that overlap are in different slots."""

    bars: list[Bar]
    best: int | None


def draw_lines(data: Lines) -> Figure:
    """Values by epoch, one line per trial in the colour of its state, the best on top."""
    panels = [panel for panel in data.panels if panel.lines]
    if not panels:
        return empty_figure("no trial has reported a value")
    figure = new_figure(6.0 if len(panels) == 1 else 5.2 * len(panels), 3.6)
    for place, panel in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), place + 1)
        _draw_panel(axes, panel, data.best)
        if place == len(panels) - 1:
            there = any(line.trial == data.best for line in panel.lines)
            states = [line.state for each in panels for line in each.lines if line.trial != data.best]
            state_legend(axes, states, lines=True, best=f"best: trial {data.best}" if there else "")
    return figure


def _draw_panel(axes: Axes, panel: Panel, best: int | None) -> None:
    faint = 0.85 if len(panel.lines) <= 12 else 0.55 if len(panel.lines) <= 60 else 0.3
    for line in panel.lines:
        is_best = line.trial == best
        xs, ys = thinned(line.epochs, line.values)
        colour = BEST_COLOUR if is_best else STATE_COLOURS[line.state]
        width, front = (2.4, 5) if is_best else (1.2, 3)
        marker = "o" if len(xs) == 1 else ""  # a line of one point would be invisible
        axes.plot(xs, ys, color=colour, lw=width, alpha=1.0 if is_best else faint, zorder=front, marker=marker, ms=3.5)
        if line.state in ("pruned", "failed") and len(xs) > 1:
            axes.plot(xs[-1], ys[-1], marker="x", ms=4.5, color=colour, alpha=max(faint, 0.6), zorder=front)
    if panel.may_be_log and spread_out(value for line in panel.lines for value in line.values):
        log_scale(axes, "y")
    whole_ticks(axes, "x")
    axes.set_xlabel("epoch")
    axes.set_ylabel(shorten(panel.name, 44))
    axes.set_title(" ")


def draw_timeline(data: Timeline) -> Figure:
    """Time and slot of each trial; the colour shows how it ended."""
    if not data.bars:
        return empty_figure("no trial has begun")
    slots = max(bar.slot for bar in data.bars) + 1
    end = max(bar.end for bar in data.bars)
    factor, unit = time_unit(end)
    figure = new_figure(10.4, 1.5 + 0.42 * slots)
    axes = figure.add_subplot()
    for bar in data.bars:
        start, length = bar.start / factor, max(bar.end - bar.start, 0.002 * end) / factor
        best = bar.trial == data.best
        axes.barh(
            bar.slot, length, left=start, height=0.72, color=STATE_COLOURS[bar.state], linewidth=1.8 if best else 0.6,
            edgecolor=BEST_COLOUR if best else "white", zorder=4 if best else 3,
        )  # fmt: skip
        if (bar.end - bar.start) / (end or 1.0) > 0.013 * len(f"{bar.trial}"):
            middle = start + length / 2
            axes.text(middle, bar.slot, f"{bar.trial}", ha="center", va="center", fontsize=7, color="white", zorder=5)
    axes.set_yticks(range(slots), [f"slot {slot}" for slot in range(slots)])
    axes.set_ylim(slots - 0.5, -0.5)
    axes.set_xlim(0, 1.01 * end / factor or 1.0)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"{unit} since the sweep began")
    axes.set_title(" ")
    shown = _in_words(data.best, (bar.trial for bar in data.bars))
    state_legend(axes, (bar.state for bar in data.bars), lines=True, best=shown)
    return figure


def _in_words(best: int | None, trials: Iterable[int]) -> str:
    return f"best: trial {best}" if best is not None and best in set(trials) else ""


def slots_of(spans: Iterable[tuple[int, float, float]]) -> dict[int, int]:
    """Trial -> slot, from trial, start and end: a trial takes the first slot that is free when it starts."""
    free: list[float] = []
    slots: dict[int, int] = {}
    for trial, start, end in sorted(spans, key=lambda span: (span[1], span[0])):
        slot = next((place for place, until in enumerate(free) if until <= start), len(free))
        if slot == len(free):
            free.append(-math.inf)
        free[slot] = end
        slots[trial] = slot
    return slots
