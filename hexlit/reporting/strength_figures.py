"""The figures of `hexlit strength`: reliability of the value, and growth with the simulations."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from hexlit.reporting.figures import FAINT, new_figure
from hexlit.reporting.strength_tables import KINDS, level_name


def reliability_figure(document: Mapping[str, Any]) -> Figure:
    """Share won by predicted chance, one line per number of simulations; a dot's area is its number of positions."""
    figure = new_figure(6.0, 5.0)
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1.5)
    for kind, levels in document["calibration"].items():
        for level in levels:
            bins = [entry for entry in level["bins"] if entry["count"]]
            x, y = [entry["predicted"] for entry in bins], [entry["won"] for entry in bins]
            areas = [10 + 300 * entry["count"] / level["count"] for entry in bins]
            label = f"{level_name(level['simulations'])}: Brier {level['brier']:.3f}"
            (line,) = axes.plot(x, y, linewidth=1, label=label)
            axes.scatter(x, y, s=areas, color=line.get_color(), alpha=0.7, linewidths=0)
        axes.set_title(f"Reliability of the value, {KINDS[kind]}")
    axes.set_xlabel("predicted chance of winning")
    axes.set_ylabel("share won with best play")
    axes.legend(loc="upper left", title="simulations")
    return figure


def growth_figure(document: Mapping[str, Any]) -> Figure:
    """Optimality by simulations with 95% intervals, and the share of openings judged right."""
    figure = new_figure(7.0, 4.5)
    axes = figure.add_subplot()
    levels = document["openings"]["levels"]
    places = range(len(levels))
    for kind, rows in document["optimality"].items():
        shares = [row["all"] for row in rows]
        if any(share["share"] is None for share in shares):
            continue
        middle = [share["share"] for share in shares]
        below = [share["share"] - share["low"] for share in shares]
        above = [share["high"] - share["share"] for share in shares]
        axes.errorbar(places, middle, yerr=[below, above], marker="o", capsize=3, label=f"optimal, {KINDS[kind]}")
    truth = document["openings"]["truth"]
    if truth is not None:
        right = [level["right"] / len(truth) for level in levels]
        axes.plot(places, right, marker="s", linestyle="--", label=f"openings right, of {len(truth)}")
    axes.set_xticks(list(places), [level_name(level["simulations"]) for level in levels])
    axes.set_xlabel("simulations of a move")
    axes.set_ylabel("share")
    axes.set_title("Strength by simulations")
    axes.legend(loc="lower right")
    return figure
