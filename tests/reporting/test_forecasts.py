"""The figure of forecasts over the truth, and the errors on the terminal."""

from functools import partial
from typing import Any

import pytest

from hexlit.reporting.figures import draw
from hexlit.reporting.forecasts import ForecastPanel, draw_forecasts, error_tables, report_sections
from tests.reporting.documents import shown_end

TITLE = "EWR 2013-11-07 09:00"
PANEL = ForecastPanel(
    TITLE, [-1, 0], [10.0, 11.0], [1, 2], [12.0, 13.0], [11.5, 14.0], naive=[9.0, 9.5]
)


@pytest.mark.parametrize("count", [1, 3, 6])
def test_each_panel_shows_past_truth_forecast_and_naive(count: int) -> None:
    figure = draw_forecasts([PANEL] * count, "temp", "hours")
    assert len(figure.axes) == count
    for axes in figure.axes:
        lines = {str(line.get_label()): list(map(float, line.get_ydata())) for line in axes.lines}  # type: ignore[arg-type]
        assert lines["truth"] == [10.0, 11.0, 12.0, 13.0]
        assert lines["forecast"] == [11.5, 14.0]
        assert lines["seasonal naive"] == [9.0, 9.5]


def test_a_panel_may_lack_the_naive_forecast() -> None:
    panel = ForecastPanel("a", [0], [1.0], [1], [2.0], [3.0])
    (axes,) = draw_forecasts([panel], "temp", "hours").axes
    assert "seasonal naive" not in [str(line.get_label()) for line in axes.lines]


def test_the_file_is_the_same_for_the_same_data_and_has_its_texts() -> None:
    make, data = partial(draw_forecasts, value="temp (°F)", step="hours"), [PANEL] * 2
    first = draw(make, data)
    assert first == draw(make, data)
    for text in (TITLE, "temp (°F)", "hours after the last value known", "forecast"):
        assert text in first.decode()
    assert draw(make, data, "png").startswith(b"\x89PNG")


def error_rows(
    horizons: list[int], mae: float = 3.14159, target: str = "temp"
) -> list[dict[str, Any]]:
    same = {"target": target, "windows": 100, "rmse": 2 * mae, "r2": 0.5}
    same |= {"skill_over_persistence": 0.25, "skill_over_seasonal": float("nan")}
    return [
        same | {"forecaster": name, "horizon": horizon or "all", "mae": mae * (horizon or 1)}
        for name in ("model", "persistence", "seasonal", "ridge")
        for horizon in (0, *horizons)
    ]


def printed(rows: list[dict[str, Any]], width: int) -> str:
    summary = {
        "wall_seconds": 100.0,
        "phases": {},
        "data": {
            "windows": {"train": 17166, "test": 3554},
            "rows_left_out": 0,
            "dropped": {"train": {"gap in the past": 1639}},
        },
        "val": {"mae_level[m]": 3.25, "skill_over_persistence": 0.4},
        "best": {"epoch": 4},
        "test": rows,
    }
    return shown_end(summary, report_sections, width)


@pytest.mark.parametrize("mae", [0.000123456, 3.14159, 123456.7])
def test_no_figure_is_cut_in_eighty_columns(mae: float) -> None:
    text = printed(error_rows(list(range(1, 25)), mae), 80)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    text = text.partition("Errors")[2]
    lines = {
        line.split()[0]: line.split()[1:]
        for line in text.splitlines()
        if line.startswith(("+", "all", "RMSE"))
    }
    assert list(lines) == ["+1", "+6", "+12", "+18", "+24", "all", "RMSE"]
    for heading, times in (("+6", 6), ("all", 1), ("RMSE", 2)):
        assert [float(cell.replace(",", "")) for cell in lines[heading]] == [
            pytest.approx(times * mae, rel=5e-3)
        ] * 4


def test_errors_that_are_no_numbers_any_more_are_dashes() -> None:
    """The squares of values near 1e38 are infinite in float32, which `summary.json` has as null."""
    rows = [
        row | {"mae": 1e38, "rmse": None, "r2": None, "skill_over_persistence": None}
        for row in error_rows([1])
    ]
    cells = {row[0]: row[1] for row in error_tables(rows)[0].rows}
    assert (cells["all"], cells["RMSE"], cells["R²"], cells["skill over persistence"]) == (
        "1e+38",
        "–",
        "–",
        "–",
    )


def test_each_target_has_a_table() -> None:
    tables = error_tables([*error_rows([1]), *error_rows([1], target="wind")])
    assert [table.caption.split()[0] for table in tables] == ["temp", "wind"]
    assert [row[0] for row in tables[0].rows][:4] == ["+1", "all", "RMSE", "R²"]
