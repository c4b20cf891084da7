"""Settings of the replay window."""

import pytest

from hexlit.errors import UsageError
from hexlit.tasks.hex.config import ReplayConfig


@pytest.mark.parametrize(
    ("key", "value"),
    [("window", 0), ("reuse", 0.0), ("reuse", -1.0), ("search_value_share", 1.5), ("search_value_share", -0.1)],
)
def test_a_setting_out_of_range_is_refused_by_its_name(key: str, value: float) -> None:
    """E2."""
    with pytest.raises(UsageError, match=f"data.{key}={value}"):
        ReplayConfig(**{key: value})  # type: ignore[arg-type]
