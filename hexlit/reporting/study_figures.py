"""Figures of a sweep, drawn from plain data: the same values that stand next to each as JSON.

A target is `name`, `direction` (`minimize` or `maximize`) and the finite `values` of complete
trials by number. A parameter is `name`, `kind` (`float`, `int` or `categorical`), `log`, `low`,
`high`, `choices` and `values` by number. `best` is the number of the best trial, or None. Each
function names the entries of its data.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain, product
from typing import Any

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, LogNorm, Normalize
from matplotlib.figure import Figure

from hexlit.reporting import figures as style
from hexlit.reporting.figures import BEST_COLOUR, FRONT_COLOUR, INK, empty_figure
from hexlit.reporting.page import STATE_COLOURS

Data = Mapping[str, Any]

# Blue to sand: each of them stands out on a white page and on a dark one.
_GOOD_TO_BAD: Colormap = LinearSegmentedColormap.from_list(
    "good_to_bad", ["#1f6fd1", "#6d9ac9", "#b9ab86", "#c99a4b"]
)
_MOST_LABELS = 12
_STAR: dict[str, Any] = {
    "marker": "*",
    "s": 140,
    "color": BEST_COLOUR,
    "zorder": 6,
    "linewidth": 0,
}
_NO_SUCCESS, _NO_PARAMETER = "no trial has succeeded", "no parameter was searched"


def draw_history(data: Data) -> Figure:
    """Value by number of the trial, and the best so far; one panel per target.

    `targets`; `states` of all trials; the last reported values of `pruned` trials, which compare to
    the target named `pruned_target`; `best`.
    """
    states, targets = data["states"], data["targets"]
    if not states:
        return empty_figure("no trial has begun")
    figure = Figure(figsize=(6.0, 3.4 * len(targets)))
    for panel, target in enumerate(targets, start=1):
        axes, values = figure.add_subplot(len(targets), 1, panel), target["values"]
        pruned = data["pruned"] if target["name"] == data["pruned_target"] else {}
        for state, marker, points in (("pruned", "x", pruned), ("complete", "o", values)):
            if points:
                look: dict[str, Any] = {"color": STATE_COLOURS[state], "label": state}
                axes.plot(
                    [*points],
                    [*points.values()],
                    marker,
                    ms=5,
                    zorder=3,
                    **look,
                )
        if values:
            axes.step(
                *best_so_far(target, max(states)),
                where="post",
                color=INK,
                lw=1.2,
            )
        _star(axes, data, {n: (n, value) for n, value in values.items()})
        _value_axis(axes, target, [*values.values(), *pruned.values()])
        axes.set(xlabel="trial", ylabel=_directed(target), xlim=(-0.7, max(states) + 0.7))
        style.whole_ticks(axes, "x")
        _legend(axes)
    return figure


def _directed(target: Data) -> str:
    return f"{style.shorten(target['name'])} ({target['direction']}d)"


def _value_axis(axes: Axes, target: Data, values: Iterable[float]) -> None:
    """A logarithmic axis for values to minimize that are far apart."""
    if target["direction"] == "minimize" and style.spread_out(values):
        style.log_scale(axes, "y")


def _star(
    axes: Axes, data: Data, points: Mapping[Any, tuple[float, float]], label: str = "best"
) -> None:
    """A star at the best trial's point, if it has one."""
    if data["best"] in points:
        axes.scatter(*points[data["best"]], label=f"{label}: trial {data['best']}", **_STAR)


def best_so_far(target: Data, last: int) -> tuple[list[float], list[float]]:
    """The best value up to each trial, drawn on to trial `last`."""
    numbers = sorted(target["values"])
    values = [target["values"][number] for number in numbers]
    better = min if target["direction"] == "minimize" else max
    best = list(accumulate(values, better))
    return [*numbers, last], [*best, best[-1]]


def draw_front(data: Data) -> Figure:
    """The first two `targets` of each complete trial, the Pareto `front` (numbers) highlighted."""
    if len(data["targets"]) < 2 or not data["targets"][0]["values"]:
        return empty_figure(_NO_SUCCESS)
    across, up = data["targets"][:2]
    points = {}
    for number, x in across["values"].items():
        if number in up["values"]:
            points[number] = (x, up["values"][number])
    beaten = [point for number, point in points.items() if number not in data["front"]]
    front = sorted((points[number], number) for number in data["front"] if number in points)
    on_front = _axes_of([point for point, _ in front])
    figure = Figure(figsize=(6.4, 4.6))
    axes = figure.add_subplot()
    axes.plot(*_axes_of(beaten), "o", color="#9dbbe0", label="beaten", zorder=3)
    axes.plot(
        *on_front,
        "o-",
        color=FRONT_COLOUR,
        label="front",
        lw=0.6,
        zorder=3,
    )
    at: dict[str, Any] = {
        "xytext": (4, 4),
        "textcoords": "offset points",
        "fontsize": 8,
    }
    step = math.ceil(len(front) / 20) or 1
    for point, number in front[::step]:
        axes.annotate(f"{number}", point, **at)
    _star(axes, data, points, "best.yaml")
    axes.set(xlabel=_directed(across), ylabel=_directed(up))
    _legend(axes)
    return figure


def _axes_of(points: Iterable[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """The x and the y of the points."""
    xs, ys = [], []
    for x, y in points:
        xs.append(x)
        ys.append(y)
    return xs, ys


def draw_importances(data: Sequence[Data]) -> Figure:
    """A bar per parameter; one panel per `target` with `values`, shares that add up to one.

    Without any the figure has the `reason`.
    """
    known = [entry for entry in data if entry["values"]]
    if not known:
        reasons = dict.fromkeys(entry["reason"] for entry in data)
        return empty_figure("; ".join(reasons) or _NO_SUCCESS)
    height = 0.9 + 0.32 * max(len(entry["values"]) for entry in known)
    figure = Figure(figsize=(6.0, height * len(known)))
    for panel, entry in enumerate(known, start=1):
        axes = figure.add_subplot(len(known), 1, panel)
        names, shares = zip(*reversed(entry["values"].items()), strict=True)
        labels = [style.shorten(name, 40) for name in names]
        bars = axes.barh(labels, shares, color="#3b6fb6", height=0.62)
        axes.bar_label(
            bars,
            [f"{share:.0%}" for share in shares],
            padding=3,
            fontsize=8,
        )
        label = f"importance for {style.shorten(entry['target'])} (share of all)"
        axes.set(xlim=(0, 1.08 * max(0.05, *shares)), xlabel=label)
        axes.grid(axis="y", visible=False)
    return figure


def draw_slices(data: Data) -> Figure:
    """Each of the `targets` by value of each of the `parameters`; the darker a trial, the later.

    A star marks the `best`.
    """
    targets, parameters = data["targets"], data["parameters"]
    if not parameters or not targets or not targets[0]["values"]:
        return empty_figure(_NO_SUCCESS if parameters else _NO_PARAMETER)
    columns = min(3, len(parameters))
    rows = math.ceil(len(parameters) / columns)
    figure = Figure(figsize=(max(5.0, 3.1 * columns), 2.7 * rows * len(targets)))
    look: dict[str, Any] = {
        "cmap": "Blues",
        "edgecolor": "#3b6fb6",
        "linewidth": 0.4,
    }
    for (block, target), (place, parameter) in product(enumerate(targets), enumerate(parameters)):
        axes = figure.add_subplot(rows * len(targets), columns, block * rows * columns + place + 1)
        values, newest = target["values"], max(1, *target["values"])
        positions, _ = _scaled(parameter)
        points = {n: (x, values[n]) for n, x in positions.items() if n in values}
        shades = [0.25 + 0.75 * n / newest for n in points]
        axes.scatter(
            *_axes_of(points.values()),
            s=20,
            c=shades,
            vmin=0,
            vmax=1.1,
            **look,
        )
        _star(axes, data, points)
        _scale(axes, parameter)
        _value_axis(axes, target, values.values())
        first = place % columns == 0
        label = style.shorten(target["name"]) if first else ""
        axes.set(xlabel=style.shorten(parameter["name"]), ylabel=label)
        axes.tick_params(labelleft=first)
    return figure


def draw_parallel(data: Data) -> Figure:
    """One line for each complete trial through its `parameters` to the first of the `targets`.

    Blue is good.
    """
    target = data["targets"][0] if data["targets"] else {"values": {}}
    values, best = target["values"], data["best"]
    if not values or not data["parameters"]:
        return empty_figure(_NO_SUCCESS if data["parameters"] else _NO_PARAMETER)
    ends = {
        "kind": "float",
        "low": min(values.values()),
        "high": max(values.values()),
    }
    ends["log"] = target["direction"] == "minimize" and style.spread_out(values.values())
    stands = [*data["parameters"], {**ends, "name": target["name"], "values": values}]
    count = len(stands)
    figure = Figure(figsize=(max(6.0, 1.45 * count), 4.4))
    axes = figure.add_subplot()
    at: dict[str, Any] = {
        "xytext": (4, 0),
        "textcoords": "offset points",
        "va": "center",
    }
    at["bbox"] = {
        "boxstyle": "square,pad=0.1",
        "fc": "#fefefe",
        "ec": "none",
        "alpha": 0.75,
    }
    heights: list[dict[int, float]] = []
    for place, stand in enumerate(stands):
        positions, labels = _scaled(stand)
        low, high = min(labels), max(labels)
        norm = LogNorm(low, high) if stand["log"] else Normalize(low, high)
        heights.append({n: float(norm(x)) for n, x in positions.items()})
        axes.axvline(place, color="#57606a", lw=0.9, zorder=4)
        for position, label in labels.items():
            axes.annotate(
                label,
                (place, float(norm(position))),
                fontsize=7.5,
                zorder=6,
                **at,
            )
    badness = heights[-1]
    if target["direction"] == "maximize":
        badness = {n: 1 - height for n, height in badness.items()}
    for number in sorted(badness, key=lambda n: -badness[n]):  # the good ones are on top
        look: dict[str, Any] = {
            "color": _GOOD_TO_BAD(badness[number]),
            "lw": 1.1,
            "zorder": 3,
        }
        if number == best:
            look = {
                "color": BEST_COLOUR,
                "lw": 2.4,
                "zorder": 5,
                "label": f"best: trial {best}",
            }
        line = [height.get(number, math.nan) for height in heights]
        axes.plot(range(count), line, alpha=0.9, **look)
    names = [style.shorten(stand["name"], 20) for stand in stands]
    axes.set_xticks(range(count), names, rotation=20, ha="right")
    axes.set(yticks=[], xlim=(-0.15, count - 0.55), ylim=(-0.05, 1.05))
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    shades = ScalarMappable(Normalize(0, 1), _GOOD_TO_BAD)
    bar = figure.colorbar(shades, ax=axes, shrink=0.8, pad=0.02)
    bar.set_ticks([0.0, 1.0], labels=["best", "worst"])
    _legend(axes)
    return figure


def _scaled(parameter: Data) -> tuple[dict[int, float], dict[float, str]]:
    """Positions by trial, and labelled positions: the choices, or both ends and the middle.

    The position of a category is its index in `choices`.
    """
    values = parameter["values"]
    if parameter["kind"] == "categorical":
        choices = [repr(choice) for choice in parameter["choices"]]
        positions = {}
        for n, value in values.items():
            if repr(value) in choices:
                positions[n] = float(choices.index(repr(value)))
        step = math.ceil(len(choices) / _MOST_LABELS)
        labels = {}
        for n in range(0, len(choices), step):
            labels[float(n)] = style.shorten(parameter["choices"][n], 14)
        return positions, labels
    low, high = parameter["low"] or 0.0, parameter["high"] or 0.0
    middle = math.sqrt(low * high) if parameter["log"] else (low + high) / 2
    if parameter["kind"] == "int":
        middle = float(round(middle))
    positions = {n: float(v) for n, v in values.items() if isinstance(v, int | float)}
    return positions, {place: f"{place:.3g}" for place in (low, middle, high)}


def _scale(axes: Axes, parameter: Data) -> None:
    """Set up the horizontal axis for `parameter`."""
    if parameter["kind"] == "categorical":
        _, labels = _scaled(parameter)
        axes.set_xticks(
            list(labels),
            list(labels.values()),
            rotation=30,
            ha="right",
        )
        axes.set_xlim(-0.5, len(parameter["choices"]) - 0.5)
    elif parameter["log"]:
        style.log_scale(axes, "x")
    elif parameter["kind"] == "int":
        style.whole_ticks(axes, "x")


def draw_lines(data: Data) -> Figure:
    """Values by epoch, one line per trial in the colour of its state, the best on top.

    A panel of `panels` has a `name`, whether it `may_be_log` (right for losses, not for scores),
    and `lines` of a `trial` with its `state`, `epochs` and `values`, NaN where a loss was no
    number. `best` as above.
    """
    panels = [panel for panel in data["panels"] if panel["lines"]]
    if not panels:
        return empty_figure("no trial has reported a value")
    figure = Figure(figsize=(6.0 if len(panels) == 1 else 5.2 * len(panels), 3.6))
    for place, panel in enumerate(panels, start=1):
        axes, lines = figure.add_subplot(1, len(panels), place), panel["lines"]
        faint = 0.85 if len(lines) <= 12 else 0.4
        for line in lines:
            state, best = line["state"], line["trial"] == data["best"]
            look: dict[str, Any] = {
                "color": STATE_COLOURS[state],
                "lw": 1.2,
                "alpha": faint,
            }
            if best:
                look = {"color": BEST_COLOUR, "lw": 2.4, "zorder": 5}
            label = f"best: trial {line['trial']}" if best else state
            xs, ys = style.thinned(line["epochs"], line["values"])
            axes.plot(
                xs,
                ys,
                marker="o",
                ms=4,
                markevery=[len(xs) - 1],
                label=label,
                **look,
            )
        values = chain.from_iterable(line["values"] for line in lines)
        if panel["may_be_log"] and style.spread_out(values):
            style.log_scale(axes, "y")
        style.whole_ticks(axes, "x")
        axes.set(xlabel="epoch", ylabel=style.shorten(panel["name"], 44))
    _legend(axes)
    return figure


def draw_timeline(data: Data) -> Figure:
    """Time and slot of each trial; the colour shows how it ended.

    `bars` have a `trial`, its `state` and `slot`, and `start` and `end` in seconds since the sweep
    began. `best`.
    """
    bars = data["bars"]
    if not bars:
        return empty_figure("no trial has begun")
    slots, end = max(bar["slot"] for bar in bars) + 1, max(bar["end"] for bar in bars)
    factor, unit = style.time_unit(end)
    figure = Figure(figsize=(10.4, 1.5 + 0.42 * slots))
    axes = figure.add_subplot()
    for bar in bars:
        start, seconds = bar["start"] / factor, bar["end"] - bar["start"]
        width = max(seconds, 0.002 * end) / factor
        best = bar["trial"] == data["best"]
        look: dict[str, Any] = {
            "edgecolor": "white",
            "linewidth": 0.6,
            "label": bar["state"],
        }
        if best:
            look = {
                "edgecolor": BEST_COLOUR,
                "linewidth": 1.8,
                "zorder": 4,
            }
            look["label"] = f"best: trial {bar['trial']}"
        colour = STATE_COLOURS[bar["state"]]
        drawn = axes.barh(bar["slot"], width, 0.72, start, color=colour, **look)
        if seconds > 0.013 * end * len(f"{bar['trial']}"):
            label: dict[str, Any] = {
                "label_type": "center",
                "fontsize": 7,
                "color": "white",
            }
            axes.bar_label(drawn, [f"{bar['trial']}"], zorder=5, **label)
    axes.set_yticks(range(slots), [f"slot {slot}" for slot in range(slots)])
    axes.set(ylim=(slots - 0.5, -0.5), xlim=(0, 1.01 * end / factor or 1.0))
    axes.set_xlabel(f"{unit} since the sweep began")
    axes.grid(axis="y", visible=False)
    _legend(axes)
    return figure


def slots_of(spans: Iterable[tuple[int, float, float]]) -> dict[int, int]:
    """Trial -> slot, from trial, start and end: a trial takes the first slot that is free when it
    starts.
    """
    free: list[float] = []
    slots: dict[int, int] = {}
    for trial, start, end in sorted(spans, key=lambda span: (span[1], span[0])):
        slot = next((place for place, until in enumerate(free) if until <= start), len(free))
        free[slot : slot + 1] = [end]
        slots[trial] = slot
    return slots


def _legend(axes: Axes) -> None:
    """A legend above the plot, at the right: each label once."""
    axes.set_title(" ")  # its room
    handles, labels = axes.get_legend_handles_labels()
    known = dict(zip(labels, handles, strict=True))
    if known:
        place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0)}
        axes.legend(
            [*known.values()],
            [*known],
            ncols=len(known),
            borderaxespad=0.2,
            **place,
        )
