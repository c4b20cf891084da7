"""Settings that are refused for a reason of their own, most of them for what they are together with
others.

Words and ranges are checked for all settings in tests/test_settings.py.
"""

from typing import Any

import pytest

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.errors import UsageError
from hexlit.tasks.classify.config import TextDataConfig, TextNetConfig
from hexlit.tasks.forecast.config import ForecastDataConfig
from hexlit.tasks.hex.config import DataConfig
from hexlit.tracking.config import WandbConfig
from hexlit.training.config import TrainerConfig


@pytest.mark.parametrize(
    ("kind", "settings", "said"),
    [
        (TextDataConfig, {"text": ""}, "data.text='', data.label='label': name two columns"),
        (
            TextDataConfig,
            {"label": "text"},
            "data.text='text', data.label='text': name two columns",
        ),
        (
            TextDataConfig,
            {"validation_share": 0.3},
            "data.validation_share=0.3: with data.train_share=0.7 nothing is",
        ),
        (
            TextNetConfig,
            {"kind": "transformer", "width": 30},
            "net.width=30: must be a multiple of 4",
        ),
        (ForecastDataConfig, {"targets": []}, r"data.targets=\[\]"),
        (
            ForecastDataConfig,
            {"features": ["temp"]},
            "data: temp stands twice in data.time, series",
        ),
        (ForecastDataConfig, {"series": "temp"}, "data: temp stands twice in data.time, series"),
        (
            ForecastDataConfig,
            {"validation_share": 0.3},
            "data.validation_share=0.3: with data.train_share=0.7 nothing",
        ),
        (
            ForecastDataConfig,
            {"timezone": "Mars/Crater"},
            "data.timezone=Mars/Crater: no time zone",
        ),
        (DataConfig, {"source": "games"}, "hexlit games import"),
        (DataConfig, {"mix_share": 0.5}, "data.path=FOLDER"),
        (
            DataConfig,
            {"path": "x", "source": "games", "mix_share": 0.5},
            "data.mix_share=0.5: mixes games into self",
        ),
        (
            DataConfig,
            {"path": "games"},
            "data.path=games: self-play reads it only with data.mix_share",
        ),
        *(
            (AcceleratorConfig, {"device": name}, f"accelerator.device={name}: ")
            for name in ("gpu", "cuda:x")
        ),
        (
            AcceleratorConfig,
            {"device": "mps", "devices": 2},
            "accelerator.devices=2: accelerator.device=mps is one",
        ),
        (
            AcceleratorConfig,
            {"device": "cuda:1", "devices": 2},
            "accelerator.devices=2: .*device=cuda:1 is one device",
        ),
        (WandbConfig, {"project": "a/b"}, "logger.wandb.project='a/b': a name without any of"),
        *(
            (TrainerConfig, {"max_time": text}, "00:30:00")
            for text in ("abc", "30", "5:00", "1:2:3:4:5", "-1:00:00", "00:30:00s", "")
        ),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_its_name(
    kind: type, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        kind(**settings)
    assert "\n" not in str(caught.value)
