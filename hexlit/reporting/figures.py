"""The style of a sweep's figures, and drawing one to a file: matplotlib without a window or global state."""

import io
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

STATE_COLOURS = {
    "complete": "#3b6fb6",
    "pruned": "#d9902f",
    "failed": "#c43c39",
    "running": "#3a9a5b",
    "interrupted": "#8b9098",
}
BEST_COLOUR = "#8e1f6f"
INK, FAINT = "#24292f", "#d5d8dc"
FRONT_COLOUR = "#12315e"
LABEL_PAPER = "#fefefe"
"""Background of labels among lines: a white of its own, which can turn dark while other whites stay."""
DENSE = 400
"""Most points of a drawn line; longer lines are thinned, and their JSON keeps all points."""

STYLE: Any = {  # the types of matplotlib's keys depend on its release
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],  # the first comes with matplotlib
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8b9098",
    "axes.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.limits": [-4, 5],
    "grid.color": "#e8eaed",
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": "#57606a",
    "ytick.color": "#57606a",
    "legend.frameon": False,
    "legend.fontsize": 8,
    "text.parse_math": False,  # names come from users: a dollar sign in one is no formula
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "hexlit",  # the same data gives the same file
}

DARK = {
    INK: "#e3e7ec",
    "#57606a": "#a9b2bc",
    "#8b9098": "#7d8590",
    FAINT: "#434b55",
    "#e8eaed": "#2a3038",
    BEST_COLOUR: "#e58ac7",
    STATE_COLOURS["complete"]: "#5b93dd",
    FRONT_COLOUR: "#a9c8f5",
    LABEL_PAPER: "#14171c",
}
"""Colours of a figure, and their counterparts for a dark screen."""
DARK_PAPER = "#14171c"

Data = TypeVar("Data")


def draw(make: Callable[[Data], Figure], data: Data, kind: str = "svg") -> bytes:
    """The figure of `data` that `make` draws, as the bytes of a file of `kind` (svg, png or pdf)."""
    content = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        figure = make(data)
        figure.savefig(content, format=kind, dpi=110, metadata={"Date": None} if kind == "svg" else None)
    return for_dark_screens(content.getvalue()) if kind == "svg" else content.getvalue()


def for_dark_screens(svg: bytes) -> bytes:
    """The same matplotlib figure, with `DARK` colours for readers who prefer them."""
    rules = [f"#patch_1 > path {{ fill: {DARK_PAPER} !important; }}"]
    for light, dark in DARK.items():
        rules += [f'[style*="{name}: {light}"] {{ {name}: {dark} !important; }}' for name in ("fill", "stroke")]
    style = f"<style>@media (prefers-color-scheme: dark) {{ {' '.join(rules)} }}</style>"
    return svg.replace(b"</metadata>", b"</metadata>" + style.encode("ascii"), 1)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of `width` by `height` inches."""
    return Figure(figsize=(width, height), layout="constrained")


def empty_figure(text: str) -> Figure:
    """A figure that says why there is nothing to see."""
    figure = new_figure(8.0, 1.6)
    axes = figure.add_subplot()
    axes.axis("off")
    axes.text(0.5, 0.5, text, ha="center", va="center", color="#57606a", fontsize=10, transform=axes.transAxes)
    return figure


def shorten(text: object, length: int = 28) -> str:
    """`text` on one line, its middle left out if it is long."""
    line = " ".join(str(text).split())
    if len(line) <= length:
        return line
    half = (length - 1) // 2
    return f"{line[: length - 1 - half]}…{line[-half:]}"


def format_number(value: float, _place: object = None) -> str:
    """`value` in a few digits: `0.001`, `3e-05`, `12`."""
    return f"{value:.4g}"


def time_unit(seconds: float) -> tuple[int, str]:
    """Seconds in the unit that suits a time of `seconds`, and its name."""
    return (3600, "hours") if seconds > 2 * 3600 else (60, "minutes") if seconds > 120 else (1, "seconds")


def log_scale(axes: Axes, which: str) -> None:
    """Make the axis `which` (x or y) logarithmic, its ticks plain numbers."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    low, high = sorted(axes.get_xlim() if which == "x" else axes.get_ylim())
    decades = math.log10(high / low) if low > 0 else 1.0
    subs = (1.0,) if decades > 3 else (1.0, 3.0) if decades > 1.2 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(10, subs=subs, numticks=9))
    axis.set_major_formatter(FuncFormatter(format_number))
    axis.set_minor_formatter(NullFormatter())


def spread_out(values: Iterable[float]) -> bool:
    """Whether positive values span more than two powers of ten, so that they need a logarithmic axis."""
    known = [value for value in values if math.isfinite(value)]
    return bool(known) and min(known) > 0 and max(known) > 100 * min(known)


def whole_ticks(axes: Axes, which: str) -> None:
    """Ticks at whole numbers only."""
    (axes.xaxis if which == "x" else axes.yaxis).set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def thinned(xs: Sequence[float], ys: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """At most about `DENSE` points of a line, including its last one."""
    if len(xs) <= DENSE:
        return xs, ys
    step = math.ceil(len(xs) / DENSE)
    places = sorted({*range(0, len(xs), step), len(xs) - 1})
    return [xs[place] for place in places], [ys[place] for place in places]
