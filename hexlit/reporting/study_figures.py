"""Figures of what a sweep found: its history, its Pareto front, which parameters matter and which values are good."""

import math
from dataclasses import dataclass, field
from typing import Any

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from hexlit.reporting.figures import (
    BEST_COLOUR,
    FAINT,
    INK,
    STATE_COLOURS,
    STATE_MARKERS,
    empty_figure,
    format_number,
    log_scale,
    new_figure,
    shorten,
    spread_out,
    state_legend,
    whole_ticks,
)

Value = str | int | float | bool | None

_GOOD_TO_BAD: Colormap = LinearSegmentedColormap.from_list("good_to_bad", ["#12315e", "#3b6fb6", "#9dbbe0", "#dfe5ec"])
_LARGEST_LABELS = 12


@dataclass(frozen=True)
class Target:
    """A quantity that trials are compared by."""

    name: str
    direction: str
    """`minimize` or `maximize`."""
    values: dict[int, float]
    """By number of the trial; finite."""


@dataclass(frozen=True)
class History:
    """What came out of the trials, in their order."""

    targets: list[Target]
    """Values of the complete trials."""
    states: dict[int, str]
    """Of all trials, by number."""
    pruned: dict[int, float]
    """The last reported value of the pruned trials, comparable to the target named `pruned_target`."""
    pruned_target: str | None
    best: int | None


@dataclass(frozen=True)
class Front:
    """Trials in the plane of the first two objectives."""

    targets: list[Target]
    front: list[int]
    best: int | None


@dataclass(frozen=True)
class Importances:
    """How much each parameter matters for one target."""

    target: str
    values: dict[str, float] | None
    """Shares that add up to one, the largest first; None where they cannot be told."""
    reason: str
    """How they were computed, or why they were not."""


@dataclass(frozen=True)
class ParameterAxis:
    """One parameter with the values that complete trials had; a trial that did not have it is missing."""

    name: str
    kind: str
    """`float`, `int` or `categorical`."""
    log: bool
    low: float | None
    high: float | None
    choices: list[Value]
    values: dict[int, Value] = field(default_factory=dict)

    def positions(self) -> dict[int, float]:
        """Where the trials lie on the axis: the value itself, for a category its place among the `choices`."""
        if self.kind == "categorical":
            places = [repr(choice) for choice in self.choices]
            return {n: float(places.index(repr(v))) for n, v in self.values.items() if repr(v) in places}
        return {n: float(v) for n, v in self.values.items() if isinstance(v, int | float)}


@dataclass(frozen=True)
class Landscape:
    """Parameters and targets of the complete trials: what slices and parallel coordinates show."""

    targets: list[Target]
    parameters: list[ParameterAxis]
    best: int | None


def draw_history(data: History) -> Figure:
    """Value by number of the trial, and the best so far; one panel for each target."""
    if not data.states:
        return empty_figure("no trial has begun")
    figure = new_figure(8.4, 3.4 * len(data.targets))
    for place, target in enumerate(data.targets):
        axes = figure.add_subplot(len(data.targets), 1, place + 1)
        complete = sorted(target.values.items())
        pruned = sorted(data.pruned.items()) if target.name == data.pruned_target else []
        if pruned:
            xs, ys = zip(*pruned, strict=True)
            axes.scatter(xs, ys, s=22, marker=STATE_MARKERS["pruned"], color=STATE_COLOURS["pruned"], zorder=3)
        if complete:
            xs, ys = zip(*complete, strict=True)
            axes.scatter(xs, ys, s=22, color=STATE_COLOURS["complete"], zorder=3, linewidth=0)
            axes.step(*zip(*_best_so_far(target, max(data.states)), strict=True), where="post", color=INK, lw=1.2)
        gone = [n for n, state in data.states.items() if state in ("failed", "interrupted")]
        for number in gone:
            axes.plot(
                number, 0.0, marker=STATE_MARKERS[data.states[number]], ms=9, color=STATE_COLOURS[data.states[number]],
                transform=axes.get_xaxis_transform(), clip_on=False,
            )  # fmt: skip
        if data.best in target.values and data.best is not None:
            axes.scatter([data.best], [target.values[data.best]], s=150, marker="*", color=BEST_COLOUR, zorder=4)
        if target.direction == "minimize" and spread_out([value for _, value in complete + pruned]):
            log_scale(axes, "y")
        axes.set_xlim(-0.7, max(data.states) + 0.7)
        whole_ticks(axes, "x")
        axes.set_xlabel("trial")
        axes.set_ylabel(f"{shorten(target.name)} ({target.direction}d)")
        if not complete and not pruned:
            axes.set_yticks([])
        axes.set_title(" ")
        shown = [state for state in data.states.values() if state != "running"]
        shown = [state for state in shown if state != "pruned" or pruned]
        best = f"best: trial {data.best}" if data.best is not None and data.best in target.values else ""
        state_legend(axes, shown, lines=False, best=best)
    return figure


def draw_front(data: Front) -> Figure:
    """The first two targets of each complete trial, the Pareto front highlighted."""
    if len(data.targets) < 2 or not data.targets[0].values:
        return empty_figure("no trial has succeeded")
    across, up = data.targets[:2]
    numbers = [number for number in across.values if number in up.values]
    figure = new_figure(6.4, 4.6)
    axes = figure.add_subplot()
    rest = [number for number in numbers if number not in data.front]
    axes.scatter([across.values[n] for n in rest], [up.values[n] for n in rest], s=24, color="#9dbbe0", label="beaten")
    front = sorted((across.values[n], up.values[n], n) for n in data.front if n in across.values and n in up.values)
    axes.plot([x for x, _, _ in front], [y for _, y, _ in front], color=FAINT, lw=1.2, zorder=2)
    axes.scatter([x for x, _, _ in front], [y for _, y, _ in front], s=36, color="#12315e", zorder=3, label="front")
    for x, y, number in front[:: max(1, math.ceil(len(front) / 20))]:
        axes.annotate(f"{number}", (x, y), xytext=(4, 4), textcoords="offset points", fontsize=8)
    if data.best is not None and data.best in across.values:
        axes.scatter(
            [across.values[data.best]], [up.values[data.best]], s=150, marker="*", color=BEST_COLOUR, zorder=4,
            label=f"best.yaml: trial {data.best}",
        )  # fmt: skip
    axes.set_xlabel(f"{shorten(across.name)} ({across.direction}d)")
    axes.set_ylabel(f"{shorten(up.name)} ({up.direction}d)")
    axes.set_title(" ")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.2)
    return figure


def draw_importances(data: list[Importances]) -> Figure:
    """A bar for each parameter; one panel for each target whose importances are known."""
    known = [entry for entry in data if entry.values]
    if not known:
        return empty_figure("; ".join(dict.fromkeys(entry.reason for entry in data)) or "no trial has succeeded")
    bars = max(len(entry.values or {}) for entry in known)
    figure = new_figure(8.4, (0.9 + 0.32 * bars) * len(known))
    for place, entry in enumerate(known):
        axes = figure.add_subplot(len(known), 1, place + 1)
        rows = list((entry.values or {}).items())[::-1]
        axes.barh([shorten(name, 40) for name, _ in rows], [share for _, share in rows], color="#3b6fb6", height=0.62)
        for row, (_, share) in enumerate(rows):
            axes.text(share + 0.008, row, f"{share:.0%}", va="center", fontsize=8)
        axes.set_xlim(0, 1.08 * max(0.05, max(share for _, share in rows)))
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(f"importance for {shorten(entry.target)} (share of all)")
    return figure


def draw_slices(data: Landscape) -> Figure:
    """Target by value of each parameter; colour is the order of the trials, dark the latest."""
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
    """One line for each complete trial through its parameters to the first target; dark is good."""
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
    for number in sorted(good_first, key=lambda n: -good_first[n]):  # the good ones come on top
        best = number == data.best
        colour = BEST_COLOUR if best else _GOOD_TO_BAD(good_first[number])
        ys = [height.get(number, math.nan) for height in heights]
        axes.plot(range(count), ys, color=colour, lw=2.4 if best else 1.1, zorder=5 if best else 3, alpha=0.9)
    for place, stand in enumerate(stands):
        axes.axvline(place, color="#57606a", lw=0.9, zorder=4)
        for height, label in _ticks(stand):
            axes.annotate(
                label, (place, height), xytext=(4, 0), textcoords="offset points", fontsize=7.5, va="center", zorder=6,
                bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.75},
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


def _best_so_far(target: Target, last: int) -> list[tuple[float, float]]:
    pick = min if target.direction == "minimize" else max
    points: list[tuple[float, float]] = []
    for number, value in sorted(target.values.items()):
        points.append((number, value if not points else pick(points[-1][1], value)))
    return [*points, (last, points[-1][1])]


def _scale(axes: Axes, parameter: ParameterAxis) -> None:
    """Make the horizontal axis that of `parameter`."""
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
    """Where the trials stand on a vertical axis from 0 to 1."""
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
