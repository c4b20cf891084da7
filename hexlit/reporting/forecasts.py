"""Forecasts: a figure of them over the truth, and the sections of a run of the forecaster in its
report.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Drawing

from hexlit.reporting.figures import BEST_COLOUR, INK, empty_figure, shorten
from hexlit.reporting.page import (
    STATE_COLOURS,
    Facts,
    Figure,
    Figures,
    Notes,
    Section,
    Table,
    table,
)
from hexlit.reporting.quantities import format_count, format_share, shown
from hexlit.reporting.run_files import RunFiles, validation_section

FIGURE = "forecasts.svg"
COLUMNS = 2
FORECAST_COLOUR, NAIVE_COLOUR = BEST_COLOUR, STATE_COLOURS["pruned"]


@dataclass(frozen=True)
class ForecastPanel:
    """One forecast with its past; the last known step has the number 0."""

    title: str
    past_steps: Sequence[float]
    past: Sequence[float]
    steps: Sequence[float]
    """Steps ahead, one for each value of the forecast."""
    truth: Sequence[float]
    forecast: Sequence[float]
    naive: Sequence[float] | None = None
    """The seasonal naive forecast for comparison."""


def draw_forecasts(panels: Sequence[ForecastPanel], value: str, step: str) -> Drawing:
    """Past and truth as one line of ink, the forecast on top of it, the naive forecast faint.

    `value` is the name of the forecast value, with its unit if it has one, and `step` the unit of
    the steps, such as `hours`.
    """
    if not panels:
        return empty_figure("there is no forecast to show")
    rows, columns = -(-len(panels) // COLUMNS), min(COLUMNS, len(panels))
    figure = Drawing(figsize=(4.6 * columns, 0.5 + 2.3 * rows))
    plots = (
        figure.subplots(
            rows,
            columns,
            sharey=True,
            squeeze=False,
        )
        .flatten()
        .tolist()
    )
    for axes in plots[len(panels) :]:
        axes.remove()
    for place, (axes, panel) in enumerate(zip(plots, panels, strict=False)):
        marker = "o" if len(panel.steps) < 8 else ""  # few horizons are points, not a curve
        axes.axvline(0, color="#8b9098", lw=0.8, ls=":")
        axes.plot(
            [*panel.past_steps, *panel.steps],
            [*panel.past, *panel.truth],
            color=INK,
            lw=1.4,
            label="truth",
        )
        if panel.naive is not None:
            look: dict[str, Any] = {
                "color": NAIVE_COLOUR,
                "ls": "--",
                "marker": marker,
                "label": "seasonal naive",
            }
            axes.plot(panel.steps, panel.naive, lw=1.1, ms=3, **look)
        axes.plot(
            panel.steps,
            panel.forecast,
            color=FORECAST_COLOUR,
            lw=2.0,
            marker=marker,
            ms=3.5,
            label="forecast",
        )
        last, first = place >= len(panels) - columns, place % columns == 0
        axes.set(title=shorten(panel.title, 48), ylabel=shorten(value, 40) if first else "")
        axes.set_xlabel(f"{step} after the last value known" if last else "")
        axes.tick_params(labelleft=True)
    handles, labels = plots[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside upper right",
        ncols=len(handles),
    )
    return figure


OVERALL = "all"
"""The horizon of a row that covers all horizons."""

SHOWN_HORIZONS = 5
"""Horizons in a table, evenly spread; `summary.json` has all."""


def report_sections(files: RunFiles) -> list[Section]:
    """Forecasts, errors on the test set and the windows, as far as the run has them."""
    summary, sections = files.summary, []
    if (files.folder / FIGURE).is_file():
        title = "Forecasts on the test set, their past and the truth"
        figure = Figure("forecasts", title, (files.folder / FIGURE).read_bytes())
        sections.append(Section("Forecasts", [Figures([figure])]))
    if summary.get("test"):
        sections.append(Section("Errors", error_tables(summary["test"])))
    if data := summary.get("data"):
        entries = [
            (f"windows of {split}", format_count(count)) for split, count in data["windows"].items()
        ]
        dropped = sum(sum(reasons.values()) for reasons in data["dropped"].values())
        lines = [f"{format_count(dropped)} windows left out for gaps."]
        if data["rows_left_out"]:
            lines.append(f"{format_count(data['rows_left_out'])} rows left out as repeated.")
        left_out = Notes(lines, "quiet")
        sections.append(Section("Windows", [Facts(entries), left_out]))
    return [*sections, *validation_section(summary)]


def error_tables(rows: Sequence[Mapping[str, Any]]) -> list[Table]:
    """A table per target with a column per forecaster: errors by horizon, then figures over all
    horizons.
    """
    tables = []
    for target in dict.fromkeys(row["target"] for row in rows):
        result = {
            (row["forecaster"], row["horizon"]): row for row in rows if row["target"] == target
        }
        names = list(dict.fromkeys(name for name, _ in result))
        horizons = [horizon for name, horizon in result if name == names[0] and horizon != OVERALL]
        lines: list[tuple[str, Any, str]] = [
            (f"+{horizon}", horizon, "mae") for horizon in _spread(horizons)
        ]
        lines += [(OVERALL, OVERALL, "mae"), ("RMSE", OVERALL, "rmse"), ("R²", OVERALL, "r2")]
        cells = []
        for head, horizon, key in lines:
            cells.append([head, *(_error(result[name, horizon][key]) for name in names)])
        for naive in ("persistence", "seasonal"):
            skills = (format_share(result[name, OVERALL][f"skill_over_{naive}"]) for name in names)
            cells.append([f"skill over {naive}", *skills])
        title = (
            f"{target} on the test set: mean absolute error by steps ahead, then figures over all"
        )
        tables.append(table(title, ["", *names], cells))
    return tables


def _error(value: float | None) -> str:
    """Three digits; for numbers of four to nine digits all of them before the point. None: it was
    not finite.
    """
    return shown(value, "{:,.0f}" if 1000 <= abs(value or 0) < 1e9 else "{:.3g}")


def _spread(horizons: Sequence[int]) -> list[int]:
    """At most `SHOWN_HORIZONS` horizons, including the first and the last: 1, 6, 12, 18 and 24 of 1
    to 24.
    """
    places = np.linspace(0, len(horizons) - 1, SHOWN_HORIZONS).astype(int).tolist()
    return [horizons[place] for place in dict.fromkeys(places)]
