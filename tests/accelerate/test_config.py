"""The accelerator section refuses what cannot be, and names the key."""

import pytest

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.errors import UsageError


@pytest.mark.parametrize(("key", "value"), [("device", "gpu"), ("device", "cuda:x")])
def test_value_out_of_range_is_refused_in_one_line_that_names_key_and_value(key: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"accelerator.{key}={value}: ") as caught:
        AcceleratorConfig(**{key: value})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.row("C5")
def test_determinism_excludes_convolutions_chosen_by_their_time() -> None:
    with pytest.raises(UsageError, match="accelerator.cudnn_benchmark=true: .* accelerator.deterministic=true"):
        AcceleratorConfig(cudnn_benchmark=True, deterministic=True)
