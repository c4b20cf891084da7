"""Figures of a sweep's parameters: their good values, one parameter at a time and all together."""

import math
from dataclasses import dataclass, field
from typing import Any

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from hexlit.reporting.figures import (
    BEST_COLOUR,
    LABEL_PAPER,
    empty_figure,
    format_number,
    log_scale,
    new_figure,
    shorten,
    spread_out,
    whole_ticks,
)
from hexlit.reporting.study_figures import Target

Value = str | int | float | bool | None

# Blue to sand: each of them stands out on a white page and on a dark one.
_GOOD_TO_BAD: Colormap = LinearSegmentedColormap.from_list("good_to_bad", ["#1f6fd1", "#6d9ac9", "#b9ab86", "#c99a4b"])
_LARGEST_LABELS = 12


@dataclass(frozen=True)
class ParameterAxis:
    """One parameter and its values in complete trials; a trial without it is missing."""

    name: str
    kind: str
    """`float`, `int` or `categorical`."""
    log: bool
    low: float | None
    high: float | None
    choices: list[Value]
    values: dict[int, Value] = field(default_factory=dict)

    def positions(self) -> dict[int, float]:
        """Positions of the trials on the axis: the value itself; for a category its index in `choices`."""
        if self.kind == "categorical":
            places = [repr(choice) for choice in self.choices]
            return {n: float(places.index(repr(v))) for n, v in self.values.items() if repr(v) in places}
        return {n: float(v) for n, v in self.values.items() if isinstance(v, int | float)}


@dataclass(frozen=True)
class Landscape:
    """Parameters and targets of the complete trials, for slices and parallel coordinates."""

    targets: list[Target]
    parameters: list[ParameterAxis]
    best: int | None


def draw_slices(data: Landscape) -> Figure:
    """Target by value of each parameter; the colour is the order of the trials, dark for the latest."""
    if not data.parameters or not data.targets or not data.targets[0].values:
        return empty_figure("no trial has succeeded" if data.parameters else "no parameter was searched")
    columns = min(3, len(data.parameters))
    rows = math.ceil(len(data.parameters) / columns)
    figure = new_figure(max(5.0, 3.1 * columns), 2.7 * rows * len(data.targets))
    for block, target in enumerate(data.targets):
        newest = max(target.values, default=0)
        logarithmic = target.direction == "minimize" and spread_out(target.values.values())
        for place, parameter in enumerate(data.parameters):
            axes = figure.add_subplot(rows * len(data.targets), columns, block * rows * columns + place + 1)
            positions = parameter.positions()
            numbers = sorted(set(positions) & set(target.values))
            axes.scatter(
                [positions[n] for n in numbers], [target.values[n] for n in numbers],
                c=[0.25 + 0.75 * n / max(1, newest) for n in numbers], cmap="Blues", vmin=0, vmax=1.1,
                s=20, edgecolor="#3b6fb6", linewidth=0.4,
            )  # fmt: skip
            if data.best in numbers and data.best is not None:
                x, y = positions[data.best], target.values[data.best]
                axes.scatter([x], [y], s=130, marker="*", color=BEST_COLOUR, zorder=4)
            _scale(axes, parameter)
            if logarithmic:
                log_scale(axes, "y")
            axes.set_xlabel(shorten(parameter.name))
            if place % columns == 0:
                axes.set_ylabel(shorten(target.name))
            else:
                axes.tick_params(labelleft=False)
    return figure


def draw_parallel(data: Landscape) -> Figure:
    """One line for each complete trial through its parameters to the first target; blue is good."""
    target = data.targets[0] if data.targets else None
    if target is None or not target.values or not data.parameters:
        return empty_figure("no trial has succeeded" if data.parameters else "no parameter was searched")
    count = len(data.parameters) + 1
    figure = new_figure(max(6.0, 1.45 * count), 4.4)
    axes = figure.add_subplot()
    low, high = min(target.values.values()), max(target.values.values())
    logarithmic = target.direction == "minimize" and spread_out(target.values.values())
    outcome = ParameterAxis(target.name, "float", logarithmic, low, high, [], dict(target.values))
    stands = [*data.parameters, outcome]
    heights = [_heights(stand) for stand in stands]
    good_first = {n: (1 - h if target.direction == "maximize" else h) for n, h in heights[-1].items()}
    for number in sorted(good_first, key=lambda n: -good_first[n]):  # the good ones are on top
        best = number == data.best
        colour = BEST_COLOUR if best else _GOOD_TO_BAD(good_first[number])
        ys = [height.get(number, math.nan) for height in heights]
        axes.plot(range(count), ys, color=colour, lw=2.4 if best else 1.1, zorder=5 if best else 3, alpha=0.9)
    for place, stand in enumerate(stands):
        axes.axvline(place, color="#57606a", lw=0.9, zorder=4)
        for height, label in _ticks(stand):
            axes.annotate(
                label, (place, height), xytext=(4, 0), textcoords="offset points", fontsize=7.5, va="center", zorder=6,
                bbox={"boxstyle": "square,pad=0.1", "fc": LABEL_PAPER, "ec": "none", "alpha": 0.75},
            )  # fmt: skip
    axes.set_xticks(range(count), [shorten(stand.name, 20) for stand in stands], rotation=20, ha="right")
    axes.set_yticks([])
    axes.set_xlim(-0.15, count - 0.55)
    axes.set_ylim(-0.05, 1.05)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
    bar = figure.colorbar(ScalarMappable(Normalize(0, 1), _GOOD_TO_BAD), ax=axes, shrink=0.8, pad=0.02)
    bar.set_ticks([0.0, 1.0], labels=["best", "worst"])
    bar.outline.set_visible(False)
    if data.best is not None and data.best in target.values:
        axes.plot([], [], color=BEST_COLOUR, lw=2.4, label=f"best: trial {data.best}")
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0))
    return figure


def _scale(axes: Axes, parameter: ParameterAxis) -> None:
    """Set up the horizontal axis for `parameter`."""
    if parameter.kind == "categorical":
        step = max(1, math.ceil(len(parameter.choices) / _LARGEST_LABELS))
        places = range(0, len(parameter.choices), step)
        names = [shorten(parameter.choices[place], 14) for place in places]
        turned: dict[str, Any] = {"rotation": 30, "ha": "right"} if sum(map(len, names)) > 24 else {}
        axes.set_xticks(list(places), names, **turned)
        axes.set_xlim(-0.5, len(parameter.choices) - 0.5)
        return
    low, high = _ends(parameter)
    if low < high and parameter.log:
        margin = (high / low) ** 0.05
        axes.set_xlim(low / margin, high * margin)
    elif low < high:
        axes.set_xlim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    if parameter.log:
        log_scale(axes, "x")
    elif parameter.kind == "int":
        whole_ticks(axes, "x")


def _heights(stand: ParameterAxis) -> dict[int, float]:
    """Heights of the trials on a vertical axis from 0 to 1."""
    positions = stand.positions()
    low, high = _ends(stand)
    if high == low:
        return dict.fromkeys(positions, 0.5)
    if stand.log:
        return {n: math.log(x / low) / math.log(high / low) for n, x in positions.items() if x > 0}
    return {n: (x - low) / (high - low) for n, x in positions.items()}


def _ticks(stand: ParameterAxis) -> list[tuple[float, str]]:
    """Heights on a vertical axis from 0 to 1 with their labels."""
    low, high = _ends(stand)
    if stand.kind == "categorical":
        step = max(1, math.ceil(len(stand.choices) / _LARGEST_LABELS))
        shown = list(enumerate(stand.choices))[::step]
        return [(0.5 if high == low else place / high, shorten(choice, 14)) for place, choice in shown]
    if high == low:
        return [(0.5, format_number(low))]
    shares = [0.0, 0.25, 0.5, 0.75, 1.0]
    values = [low * (high / low) ** s if stand.log else low + s * (high - low) for s in shares]
    if stand.kind == "int":
        values = sorted({float(round(value)) for value in values})
        shares = [math.log(v / low) / math.log(high / low) if stand.log else (v - low) / (high - low) for v in values]
    return [(share, f"{value:.3g}") for share, value in zip(shares, values, strict=True)]


def _ends(stand: ParameterAxis) -> tuple[float, float]:
    if stand.kind == "categorical":
        return 0.0, max(0.0, len(stand.choices) - 1.0)
    return stand.low or 0.0, stand.high or 0.0
