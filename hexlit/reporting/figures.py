"""Charts, and the style of all figures: matplotlib without a window or global state."""

import io
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, cycle
from pathlib import Path
from typing import Any, TypeVar

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from hexlit.reporting.page import STATE_COLOURS, Chart, Spans

BEST_COLOUR = "#8e1f6f"
INK, FAINT = "#24292f", "#d5d8dc"
FRONT_COLOUR = "#12315e"
DENSE = 400
"""Most points of a drawn line; longer lines are thinned, and their JSON keeps all points."""

STYLE: Any = matplotlib.rc_params_from_file(  # the types of matplotlib's keys depend on its release
    Path(__file__).parent / "templates" / "figures.mplstyle", use_default_template=False
)
Data = TypeVar("Data")


def draw(make: Callable[[Data], Figure], data: Data, kind: str = "svg") -> bytes:
    """The figure of `data` that `make` draws, as the bytes of a file of `kind` (svg, png, pdf)."""
    content = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        make(data).savefig(
            content, format=kind, dpi=110, metadata={"Date": None} if kind == "svg" else None
        )
    return content.getvalue()


def empty_figure(text: str) -> Figure:
    """A figure that says why there is nothing to see."""
    figure = Figure(figsize=(8.0, 1.6))
    figure.text(
        0.5,
        0.5,
        text,
        ha="center",
        va="center",
        color="#57606a",
        fontsize=10,
    )
    return figure


def shorten(text: object, length: int = 28) -> str:
    """`text` on one line, its middle left out if it is long."""
    line, half = " ".join(str(text).split()), (length - 1) // 2
    return line if len(line) <= length else f"{line[: length - 1 - half]}…{line[-half:]}"


def time_unit(seconds: float) -> tuple[int, str]:
    """Seconds in the unit that suits a time of `seconds`, and its name."""
    if seconds > 2 * 3600:
        return 3600, "hours"
    return (60, "minutes") if seconds > 120 else (1, "seconds")


def log_scale(axes: Axes, which: str) -> None:
    """Make the axis `which` (x or y) logarithmic, its ticks plain numbers."""
    axes.set(**{f"{which}scale": "log"})
    axis, (low, high) = getattr(axes, f"{which}axis"), getattr(axes, f"get_{which}bound")()
    subs = (1.0, 3.0) if high > 30 * low else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(10, subs=subs, numticks=9))
    axis.set_major_formatter("{x:.4g}")
    axis.set_minor_formatter(NullFormatter())


def spread_out(values: Iterable[float]) -> bool:
    """Whether positive values span more than two powers of ten."""
    known = [value for value in values if math.isfinite(value)]
    return bool(known) and min(known) > 0 and max(known) > 100 * min(known)


def whole_ticks(axes: Axes, which: str) -> None:
    """Ticks at whole numbers only."""
    axis = getattr(axes, f"{which}axis")
    axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def thinned(xs: Sequence[float], ys: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """At most about `DENSE` points of a line, including its last one."""
    places = sorted({*range(0, len(xs), len(xs) // DENSE + 1), len(xs) - 1})
    return [xs[place] for place in places], [ys[place] for place in places]


COLOURS = [*STATE_COLOURS.values()]
COLOURS.insert(2, BEST_COLOUR)
LEGEND_INCHES, LONGEST_NAME = 4.5, 52
"""Width of a chart's legend, and most characters of a name there."""
MOST_LINES = 16
"""Most lines of one chart."""


def draw_figure(data: Chart | Spans) -> Figure:
    """The figure of a chart or of spans."""
    return draw_chart(data) if isinstance(data, Chart) else draw_spans(data)


def draw_chart(data: Chart) -> Figure:
    """The lines with a legend above them."""
    lines = [line for line in data.lines if line.points][:MOST_LINES]
    if not lines:
        return empty_figure("nothing was measured")
    names = [shorten(line.name, LONGEST_NAME) for line in lines]
    longest = max(map(len, names))
    columns = min(len(lines), max(1, int(LEGEND_INCHES / (0.5 + 0.075 * longest))))
    rows = math.ceil(len(lines) / columns) if len(lines) > 1 else 0
    height = 3.1 + 0.18 * max(0, rows - 2)
    # Fixed margins: finding them would take as long as all the rest. Matplotlib's types lack
    # "none".
    figure = Figure(figsize=(5.2, height), layout="none")  # type: ignore[arg-type]
    left, top = 0.165 if data.y else 0.125, 1 - (0.14 + 0.18 * rows) / height
    figure.subplots_adjust(
        left=left,
        right=0.975,
        bottom=0.465 / height,
        top=top,
    )
    axes = figure.add_subplot()
    for line, name, colour in zip(lines, names, cycle(COLOURS), strict=False):
        xs, ys = thinned(*zip(*line.points, strict=True))
        marker, look = "o" if len(xs) == 1 or data.dots else "", "--" if line.dashed else "-"
        axes.plot(
            xs,
            ys,
            color=colour,
            lw=1.6,
            ls=look,
            marker=marker,
            ms=3,
            label=name,
        )
        if line.reach:
            low, high = zip(*line.reach, strict=True)
            if data.ticks:
                axes.vlines(xs, low, high, color=colour, lw=1.6, alpha=0.5)
            else:
                axes.fill_between(xs, low, high, color=colour, alpha=0.18, lw=0)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,.6g}")
    if data.share:
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g}%")
    points = chain.from_iterable(line.points for line in data.lines)
    far_apart = data.may_be_log and spread_out(y for _, y in points)
    if data.log_x:
        log_scale(axes, "x")
    if far_apart:
        log_scale(axes, "y")
    if data.ticks:
        axes.set_xticks(range(len(data.ticks)), data.ticks)
    if data.x == "epoch":
        whole_ticks(axes, "x")
    axes.set(xlabel=data.x, ylabel=shorten(data.y, 40))
    if rows:
        figure.legend(
            loc="upper left", bbox_to_anchor=(0.12, 1.0), ncols=columns, borderaxespad=0.1
        )
    return figure


def draw_spans(data: Spans) -> Figure:
    """A lane per phase, and below it a plot per meter, over the same time."""
    lanes = len(data.phases)
    if not lanes:
        return empty_figure("no phase has ended")
    heights = [0.24 * lanes + 0.3]
    heights += [1.15] * len(data.meters)
    all_spans = chain.from_iterable(data.phases.values())
    end = max(begin + length for begin, length in all_spans)
    factor, unit = time_unit(end)
    figure = Figure(figsize=(11.0, sum(heights) + 0.7))
    grid = figure.subplots(
        len(heights),
        1,
        sharex=True,
        squeeze=False,
        height_ratios=heights,
    )
    lanes_axes, *meter_axes = grid[:, 0]
    for lane, spans in enumerate(data.phases.values()):
        bars = [(begin / factor, max(length, 0.0015 * end) / factor) for begin, length in spans]
        colour = COLOURS[lane % len(COLOURS)]
        lanes_axes.broken_barh(
            bars,
            (lane - 0.36, 0.72),
            color=colour,
            linewidth=0,
        )
    lanes_axes.set(yticks=range(lanes), yticklabels=list(data.phases), ylim=(lanes - 0.5, -0.5))
    lanes_axes.grid(axis="y", visible=False)
    for axes, line in zip(meter_axes, data.meters, strict=True):
        times = [x / factor for x, _ in line.points]
        values = [y for _, y in line.points]
        xs, ys = thinned(times, values)
        axes.plot(xs, ys, color=COLOURS[0], lw=1.2)
        axes.fill_between(xs, ys, color=COLOURS[0], alpha=0.15, linewidth=0)
        axes.set(ylim=(0, None), ylabel=shorten(line.name, 24))
    figure.axes[-1].set_xlabel(f"{unit} since the run began")
    return figure
