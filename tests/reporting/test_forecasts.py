"""The figure of forecasts over the truth."""

import pytest

from hexlit.reporting.figures import draw
from hexlit.reporting.forecasts import ForecastPanel, ForecastPanels, draw_forecasts

PANEL = ForecastPanel(
    title="EWR 2013-11-07 09:00",
    past_steps=[-1, 0],
    past=[10.0, 11.0],
    steps=[1, 2],
    truth=[12.0, 13.0],
    forecast=[11.5, 14.0],
    naive=[9.0, 9.5],
)


@pytest.mark.parametrize("count", [1, 3, 6])
def test_each_panel_shows_past_truth_forecast_and_naive(count: int) -> None:
    figure = draw_forecasts(ForecastPanels("temp", "hours", [PANEL] * count))
    assert len(figure.axes) == count
    for axes in figure.axes:
        lines = {str(line.get_label()): list(map(float, line.get_ydata())) for line in axes.lines}  # type: ignore[arg-type]
        assert lines["truth"] == [10.0, 11.0, 12.0, 13.0]
        assert lines["forecast"] == [11.5, 14.0]
        assert lines["seasonal naive"] == [9.0, 9.5]


def test_a_panel_may_lack_the_naive_forecast() -> None:
    panel = ForecastPanel("a", [0], [1.0], [1], [2.0], [3.0])
    (axes,) = draw_forecasts(ForecastPanels("temp", "hours", [panel])).axes
    assert "seasonal naive" not in [str(line.get_label()) for line in axes.lines]


def test_the_file_is_the_same_for_the_same_data_and_has_its_texts() -> None:
    data = ForecastPanels("temp (°F)", "hours", [PANEL] * 2)
    first = draw(draw_forecasts, data)
    assert first == draw(draw_forecasts, data)
    for text in ("EWR 2013-11-07 09:00", "temp (°F)", "hours after the last value known", "forecast"):
        assert text in first.decode()
    assert draw(draw_forecasts, data, "png").startswith(b"\x89PNG")


def test_without_forecasts_the_figure_says_so() -> None:
    assert "no forecast to show" in draw(draw_forecasts, ForecastPanels("temp", "hours", [])).decode()
