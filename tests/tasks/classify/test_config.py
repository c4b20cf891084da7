"""What several settings of the classification task decide together."""

from typing import Any

import pytest

from hexlit.errors import UsageError
from hexlit.tasks.classify.config import TextDataConfig, TextNetConfig


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"text": ""}, "data.text='', data.label='label': name two columns"),
        ({"label": "text"}, "data.text='text', data.label='text': name two columns"),
        ({"validation_share": 0.3}, "data.validation_share=0.3: with data.train_share=0.7 nothing is left"),
    ],
)
def test_a_data_setting_that_fits_no_other_is_refused_by_its_name(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        TextDataConfig(**settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"kind": "transformer", "width": 30}, "net.width=30: must be a multiple of net.heads=4"),
        ({"kind": "transformer", "width": 9, "heads": 3}, "net.width=9: must be even"),
    ],
)
def test_a_net_setting_that_fits_no_other_is_refused_by_its_name(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        TextNetConfig(**settings)
