"""What several settings of the classification task decide together."""

from typing import Any

import pytest

from hexlit.errors import UsageError
from hexlit.tasks.classify.config import TextDataConfig, TextNetConfig


@pytest.mark.parametrize(
    ("kind", "settings", "said"),
    [
        (TextDataConfig, {"text": ""}, "data.text='', data.label='label': name two columns"),
        (TextDataConfig, {"label": "text"}, "data.text='text', data.label='text': name two columns"),
        (
            TextDataConfig,
            {"validation_share": 0.3},
            "data.validation_share=0.3: with data.train_share=0.7 nothing is left",
        ),
        (TextNetConfig, {"kind": "transformer", "width": 30}, "net.width=30: must be a multiple of net.heads=4"),
        (TextNetConfig, {"kind": "transformer", "width": 9, "heads": 3}, "net.width=9: must be even"),
    ],
)
def test_a_setting_that_fits_no_other_is_refused_by_its_name(kind: type, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        kind(**settings)
    assert "\n" not in str(caught.value)
