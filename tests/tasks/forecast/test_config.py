"""Settings of the forecasting task."""

from typing import Any

import pytest

from hexlit.errors import UsageError
from hexlit.tasks.forecast.config import ForecastDataConfig, ForecastNetConfig


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("time", [], r"data.time=\[\]"),
        ("targets", [], r"data.targets=\[\]"),
        ("features", ["temp"], "data: temp stands twice in data.time, series"),
        ("series", "temp", "data: temp stands twice in data.time, series"),
        ("horizons", [6, 1], r"data.horizons=\[6, 1\]: each once, in order"),
        ("horizons", [1, 48], r"data.horizons=\[1, 48\]: each once, in order, and none beyond data.horizon=24"),
        ("validation_share", 0.3, "data.validation_share=0.3: with data.train_share=0.7 nothing is left"),
        ("timezone", "Mars/Crater", "data.timezone=Mars/Crater: no time zone"),
    ],
)
def test_a_data_setting_that_fits_no_other_is_refused_by_its_name(key: str, value: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        ForecastDataConfig(**{key: value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"third": 32}, "net.third=32: a third layer follows a second one"),
        ({"trend": 4}, "net.trend=4: an odd number"),
        ({"kind": "transformer", "hidden": 30}, "net.hidden=30: must be a multiple of net.heads=4"),
        ({"kind": "transformer", "hidden": 9, "heads": 3}, "net.hidden=9: must be even"),
    ],
)
def test_a_net_setting_that_fits_no_other_is_refused_by_its_name(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ForecastNetConfig(**settings)
