"""Settings of a training of Hex that no section can check alone."""

import pytest

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.errors import UsageError
from hexlit.tasks.hex.train_config import HexTrainConfig


@pytest.mark.parametrize("wanted", [True, False])
def test_loading_processes_that_live_on_are_refused_as_loaders_are_made_anew(wanted: bool) -> None:
    with pytest.raises(UsageError, match=f"accelerator.persistent_workers={str(wanted).lower()}: it has no effect"):
        HexTrainConfig(accelerator=AcceleratorConfig(persistent_workers=wanted))
