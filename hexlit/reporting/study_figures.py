"""Figures of a sweep's results: its history, its Pareto front, and the importance of its parameters."""

import math
from dataclasses import dataclass

from matplotlib.figure import Figure

from hexlit.reporting.figures import (
    BEST_COLOUR,
    FAINT,
    FRONT_COLOUR,
    INK,
    STATE_COLOURS,
    STATE_MARKERS,
    empty_figure,
    log_scale,
    new_figure,
    shorten,
    spread_out,
    state_legend,
    whole_ticks,
)


@dataclass(frozen=True)
class Target:
    """A quantity that compares trials."""

    name: str
    direction: str
    """`minimize` or `maximize`."""
    values: dict[int, float]
    """Finite values by number of the trial."""


@dataclass(frozen=True)
class History:
    """Results of the trials, in their order."""

    targets: list[Target]
    """Values of the complete trials."""
    states: dict[int, str]
    """States of all trials, by number."""
    pruned: dict[int, float]
    """The last reported value of the pruned trials, comparable to the target `pruned_target`."""
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
    """The importance of each parameter for one target."""

    target: str
    values: dict[str, float] | None
    """Shares that add up to one, the largest first; None where they are not known."""
    reason: str
    """The method behind the shares, or the reason for their absence."""


def draw_history(data: History) -> Figure:
    """Value by number of the trial, and the best so far; one panel per target."""
    if not data.states:
        return empty_figure("no trial has begun")
    figure = new_figure(6.0, 3.4 * len(data.targets))
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
    axes.scatter([x for x, _, _ in front], [y for _, y, _ in front], s=36, color=FRONT_COLOUR, zorder=3, label="front")
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
    """A bar per parameter; one panel per target with known importances."""
    known = [entry for entry in data if entry.values]
    if not known:
        return empty_figure("; ".join(dict.fromkeys(entry.reason for entry in data)) or "no trial has succeeded")
    bars = max(len(entry.values or {}) for entry in known)
    figure = new_figure(6.0, (0.9 + 0.32 * bars) * len(known))
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


def _best_so_far(target: Target, last: int) -> list[tuple[float, float]]:
    pick = min if target.direction == "minimize" else max
    points: list[tuple[float, float]] = []
    for number, value in sorted(target.values.items()):
        points.append((number, value if not points else pick(points[-1][1], value)))
    return [*points, (last, points[-1][1])]
