"""Settings of the forecasting task."""

from typing import Any

import pytest

from hexlit.errors import UsageError
from hexlit.tasks.forecast.config import ForecastDataConfig, ForecastNetConfig


@pytest.mark.parametrize(
    ("kind", "settings", "said"),
    [
        (ForecastDataConfig, {"time": []}, r"data.time=\[\]"),
        (ForecastDataConfig, {"targets": []}, r"data.targets=\[\]"),
        (ForecastDataConfig, {"features": ["temp"]}, "data: temp stands twice in data.time, series"),
        (ForecastDataConfig, {"series": "temp"}, "data: temp stands twice in data.time, series"),
        (ForecastDataConfig, {"horizons": [6, 1]}, r"data.horizons=\[6, 1\]: each once, in order"),
        (
            ForecastDataConfig,
            {"horizons": [1, 48]},
            r"data.horizons=\[1, 48\]: each once, in order, and none beyond data.horizon=24",
        ),
        (
            ForecastDataConfig,
            {"validation_share": 0.3},
            "data.validation_share=0.3: with data.train_share=0.7 nothing is left",
        ),
        (ForecastDataConfig, {"timezone": "Mars/Crater"}, "data.timezone=Mars/Crater: no time zone"),
        (ForecastNetConfig, {"third": 32}, "net.third=32: a third layer follows a second one"),
        (ForecastNetConfig, {"trend": 4}, "net.trend=4: an odd number"),
        (ForecastNetConfig, {"kind": "transformer", "hidden": 30}, "net.hidden=30: must be a multiple of net.heads=4"),
        (ForecastNetConfig, {"kind": "transformer", "hidden": 9, "heads": 3}, "net.hidden=9: must be even"),
    ],
)
def test_a_setting_that_fits_no_other_is_refused_by_its_name(kind: type, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        kind(**settings)
    assert "\n" not in str(caught.value)
