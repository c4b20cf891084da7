"""Settings of the task."""

from typing import Any

import pytest

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.errors import UsageError
from hexlit.tasks.hex.config import DataConfig, HexTrainConfig


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"source": "games"}, "hexlit games import"),
        ({"mix_share": 0.5}, "data.path=FOLDER"),
        ({"path": "games", "source": "games", "mix_share": 0.5}, "data.mix_share=0.5: mixes games into self-play"),
        ({"path": "games"}, "data.path=games: self-play reads it only with data.mix_share"),
    ],
)
def test_settings_that_do_not_go_together_are_refused_with_what_would(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        DataConfig(**settings)


@pytest.mark.parametrize("wanted", [True, False])
def test_loading_processes_that_live_on_are_refused_as_loaders_are_made_anew(wanted: bool) -> None:
    with pytest.raises(UsageError, match="accelerator.persistent_workers: has no effect"):
        HexTrainConfig(accelerator=AcceleratorConfig(persistent_workers=wanted))
