"""A figure of forecasts over the truth."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hexlit.reporting.figures import BEST_COLOUR, INK, STATE_COLOURS, empty_figure, new_figure, shorten

COLUMNS = 2
FORECAST_COLOUR, NAIVE_COLOUR = BEST_COLOUR, STATE_COLOURS["pruned"]


@dataclass(frozen=True)
class ForecastPanel:
    """One forecast with its past; steps are numbered from the last one known, 0."""

    title: str
    past_steps: Sequence[float]
    past: Sequence[float]
    steps: Sequence[float]
    """Steps ahead of the forecast."""
    truth: Sequence[float]
    forecast: Sequence[float]
    naive: Sequence[float] | None = None
    """A naive forecast to compare with."""


@dataclass(frozen=True)
class ForecastPanels:
    """Forecasts beside and below one another."""

    value: str
    """Name of the forecast value, with its unit where it has one."""
    step: str
    """Unit of the steps, such as `hours`."""
    panels: Sequence[ForecastPanel]
    naive: str = "seasonal naive"
    """Name of the naive forecast."""


def draw_forecasts(data: ForecastPanels) -> Figure:
    """Past and truth as one line of ink, the forecast on top of it, the naive forecast faint."""
    if not data.panels:
        return empty_figure("there is no forecast to show")
    rows = -(-len(data.panels) // COLUMNS)
    columns = min(COLUMNS, len(data.panels))
    figure = new_figure(4.6 * columns, 0.5 + 2.3 * rows)
    first = None
    for place, panel in enumerate(data.panels):
        first = (
            figure.add_subplot(rows, columns, place + 1, sharey=first)
            if first
            else figure.add_subplot(rows, columns, 1)
        )
        _draw_panel(first, panel, data.naive)
        first.set_title(shorten(panel.title, 48))
        if place >= len(data.panels) - columns:
            first.set_xlabel(f"{data.step} after the last value known")
        if place % columns == 0:
            first.set_ylabel(shorten(data.value, 40))
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=len(handles))
    return figure


def _draw_panel(axes: Axes, panel: ForecastPanel, naive: str) -> None:
    axes.axvline(0, color="#8b9098", lw=0.8, ls=":")
    marker = "o" if len(panel.steps) < 8 else ""  # few horizons are points, not a curve
    axes.plot([*panel.past_steps, *panel.steps], [*panel.past, *panel.truth], color=INK, lw=1.4, label="truth")
    if panel.naive is not None:
        axes.plot(panel.steps, panel.naive, color=NAIVE_COLOUR, lw=1.1, ls="--", marker=marker, ms=3, label=naive)
    axes.plot(panel.steps, panel.forecast, color=FORECAST_COLOUR, lw=2.0, marker=marker, ms=3.5, label="forecast")
