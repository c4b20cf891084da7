"""Charts of a report: lines over epochs, games, operations or time, and the timeline of a run."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hexlit.reporting.figures import (
    BEST_COLOUR,
    FAINT,
    STATE_COLOURS,
    draw,
    empty_figure,
    log_scale,
    new_figure,
    shorten,
    spread_out,
    thinned,
    time_unit,
    whole_ticks,
)
from hexlit.reporting.page import Chart, Spans

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


def draw_data(data: Chart | Spans) -> bytes:
    """The SVG of a figure's data."""
    return draw(draw_chart, data) if isinstance(data, Chart) else draw(draw_spans, data)


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
        colour = COLOURS[place % len(COLOURS)]
        axes.plot(xs, ys, color=colour, lw=1.6, ls=style, marker=marker, ms=3, label=line.name)
        if line.reach:
            low, high = zip(*line.reach, strict=True)
            axes.vlines(xs, low, high, color=colour, lw=1.6, alpha=0.5)
        if line.weights:
            axes.scatter(xs, ys, s=[10 + 300 * share for share in line.weights], color=colour, alpha=0.7, linewidths=0)
    if data.diagonal:
        axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1.5, zorder=1)
    finish_axes(axes, data)
    if named:
        figure.legend(loc="upper left", bbox_to_anchor=(0.12, 1.0), ncols=columns, borderaxespad=0.1)
    return figure


def finish_axes(axes: Axes, data: Chart) -> None:
    """Scales and names of the axes."""
    values = [y for line in data.lines for _, y in line.points]
    if data.may_be_log and spread_out(values):
        log_scale(axes, "y")
    if data.ticks:
        axes.set_xticks(range(len(data.ticks)), data.ticks)
    elif data.x == "epoch":
        whole_ticks(axes, "x")
    if data.share:
        axes.yaxis.set_major_formatter(_percent)
    elif axes.get_yscale() == "linear":
        axes.yaxis.set_major_formatter(_short)
    if not data.ticks:
        axes.xaxis.set_major_formatter(_short)
    axes.set_xlabel(data.x)
    if data.y:
        axes.set_ylabel(shorten(data.y, 40))


def _short(value: float, _place: object = None) -> str:
    return f"{value:,.6g}"


def _percent(value: float, _place: object = None) -> str:
    return f"{100 * value:.4g}%"


def draw_spans(data: Spans) -> Figure:
    """A lane per phase, and below it a plot per meter, over the same time."""
    rows = len(data.meters) + 1
    if not data.phases:
        return empty_figure("no phase has ended")
    lanes = len(data.phases)
    heights = [0.24 * lanes + 0.3, *[1.15] * len(data.meters)]
    end = max(begin + length for spans in data.phases.values() for begin, length in spans)
    factor, unit = time_unit(end)
    figure = new_figure(11.0, sum(heights) + 0.7)
    plots = figure.subplots(rows, 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for lane, spans in enumerate(data.phases.values()):
        bars = [(begin / factor, max(length, 0.0015 * end) / factor) for begin, length in spans]
        plots[0].broken_barh(bars, (lane - 0.36, 0.72), color=COLOURS[lane % len(COLOURS)], linewidth=0)
    plots[0].set_yticks(range(lanes), list(data.phases))
    plots[0].set_ylim(lanes - 0.5, -0.5)
    plots[0].grid(axis="y", visible=False)
    for axes, line in zip(plots[1:], data.meters, strict=True):
        points = line.points
        xs, ys = thinned([x / factor for x, _ in points], [y for _, y in points])
        axes.plot(xs, ys, color=COLOURS[0], lw=1.2)
        axes.fill_between(xs, ys, color=COLOURS[0], alpha=0.15, linewidth=0)
        axes.set_ylim(0)
        axes.set_ylabel(shorten(line.name, 24))
    plots[-1].set_xlabel(f"{unit} since the run began")
    return figure
