"""Charts of a report: lines over epochs, games, operations or time, and the timeline of a run."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hexlit.reporting.figures import (
    BEST_COLOUR,
    STATE_COLOURS,
    draw,
    empty_figure,
    log_scale,
    new_figure,
    shorten,
    spread_out,
    thinned,
    whole_ticks,
)
from hexlit.reporting.pages.page import Drawing

COLOURS = (
    STATE_COLOURS["complete"],
    STATE_COLOURS["pruned"],
    BEST_COLOUR,
    STATE_COLOURS["running"],
    STATE_COLOURS["failed"],
    STATE_COLOURS["interrupted"],
)
MOST_LINES = 12
"""Most lines of one chart."""


@dataclass(frozen=True)
class ChartLine:
    """One line; a None is a gap."""

    name: str
    xs: Sequence[float | None]
    ys: Sequence[float | None]
    dashed: bool = False

    @property
    def points(self) -> list[tuple[float, float]]:
        """The points, without gaps."""
        pairs = zip(self.xs, self.ys, strict=True)
        return [(x, y) for x, y in pairs if x is not None and y is not None and math.isfinite(x) and math.isfinite(y)]


@dataclass(frozen=True)
class Chart:
    """Lines over the same axis."""

    lines: Sequence[ChartLine]
    x: str = "epoch"
    y: str = ""
    may_be_log: bool = False
    """Whether values far apart get a logarithmic axis: right for losses, not for shares."""
    log_x: bool = False
    share: bool = False
    """Whether the values are shares of one."""
    dots: bool = False
    """Whether points are marked: right for rare measurements."""


def draw_chart(data: Chart) -> Figure:
    """The lines with a legend above them."""
    lines = [line for line in data.lines if line.points][:MOST_LINES]
    if not lines:
        return empty_figure("nothing was measured")
    named = len(lines) > 1
    columns = 2 if max(len(line.name) for line in lines) > 16 else min(4, len(lines))
    rows = -(-len(lines) // columns) if named else 0
    figure = Figure(figsize=(5.2, 3.1))  # fixed margins: finding them would take as long as all the rest
    figure.subplots_adjust(left=0.165 if data.y else 0.125, right=0.975, bottom=0.15, top=0.955 - 0.058 * rows)
    axes = figure.add_subplot()
    for place, line in enumerate(lines):
        xs, ys = (list(part) for part in zip(*line.points, strict=True))
        xs, ys = (list(part) for part in thinned(xs, ys))
        marker = "o" if len(xs) == 1 or data.dots else ""
        style = "--" if line.dashed else "-"
        axes.plot(xs, ys, color=COLOURS[place % len(COLOURS)], lw=1.6, ls=style, marker=marker, ms=3, label=line.name)
    finish_axes(axes, data)
    if named:
        figure.legend(loc="upper left", bbox_to_anchor=(0.12, 1.0), ncols=columns, borderaxespad=0.1)
    return figure


def finish_axes(axes: Axes, data: Chart) -> None:
    """Scales and names of the axes."""
    values = [y for line in data.lines for _, y in line.points]
    if data.may_be_log and spread_out(values):
        log_scale(axes, "y")
    if data.log_x and spread_out(x for line in data.lines for x, _ in line.points):
        log_scale(axes, "x")
    elif data.x == "epoch":
        whole_ticks(axes, "x")
    if data.share:
        axes.yaxis.set_major_formatter(_percent)
    elif axes.get_yscale() == "linear":
        axes.yaxis.set_major_formatter(_short)
    if axes.get_xscale() == "linear":
        axes.xaxis.set_major_formatter(_short)
    axes.set_xlabel(data.x)
    if data.y:
        axes.set_ylabel(shorten(data.y, 40))


def _short(value: float, _place: object = None) -> str:
    return f"{value:,.6g}"


def _percent(value: float, _place: object = None) -> str:
    return f"{100 * value:.4g}%"


@dataclass(frozen=True)
class Spans:
    """Times of the phases, and the load of the machine, over the seconds of a run."""

    phases: Mapping[str, Sequence[tuple[float, float]]]
    """Begin and length of each phase in seconds, by name."""
    meters: Sequence[tuple[str, ChartLine]]
    """Name of the axis, and the line over the same seconds."""


def draw_spans(data: Spans) -> Figure:
    """A lane per phase, and below it a plot per meter, over the same time."""
    rows = len(data.meters) + 1
    if not data.phases:
        return empty_figure("no phase has ended")
    lanes = len(data.phases)
    heights = [0.24 * lanes + 0.3, *[1.15] * len(data.meters)]
    end = max(begin + length for spans in data.phases.values() for begin, length in spans)
    factor, unit = (3600, "hours") if end > 2 * 3600 else (60, "minutes") if end > 120 else (1, "seconds")
    figure = new_figure(11.0, sum(heights) + 0.7)
    plots = figure.subplots(rows, 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for lane, spans in enumerate(data.phases.values()):
        bars = [(begin / factor, max(length, 0.0015 * end) / factor) for begin, length in spans]
        plots[0].broken_barh(bars, (lane - 0.36, 0.72), color=COLOURS[lane % len(COLOURS)], linewidth=0)
    plots[0].set_yticks(range(lanes), list(data.phases))
    plots[0].set_ylim(lanes - 0.5, -0.5)
    plots[0].grid(axis="y", visible=False)
    for axes, (title, line) in zip(plots[1:], data.meters, strict=True):
        points = line.points
        xs, ys = thinned([x / factor for x, _ in points], [y for _, y in points])
        axes.plot(xs, ys, color=COLOURS[0], lw=1.2)
        axes.fill_between(xs, ys, color=COLOURS[0], alpha=0.15, linewidth=0)
        axes.set_ylim(0)
        axes.set_ylabel(shorten(title, 24))
    plots[-1].set_xlabel(f"{unit} since the run began")
    return figure


def drawn(name: str, title: str, make: Callable[[Any], Figure], data: Any, *, wide: bool = False) -> Drawing:
    """The figure of `data` that `make` draws, for a page."""
    return Drawing(name, title, draw(make, data), wide=wide)


@dataclass(frozen=True)
class Ratings:
    """Ratings of players, the best first."""

    names: Sequence[str]
    elo: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def draw_ratings(data: Ratings) -> Figure:
    """A dot per player with a line from the lower to the upper end of its interval."""
    count = len(data.names)
    figure = new_figure(5.6, 0.9 + 0.3 * count)
    axes = figure.add_subplot()
    places = range(count)
    axes.hlines(places, data.low, data.high, color=COLOURS[0], lw=2.2)
    axes.plot(data.elo, places, "o", color=BEST_COLOUR, ms=6)
    axes.set_yticks(places, [shorten(name, 30) for name in data.names])
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_xlabel("Elo")
    return figure
