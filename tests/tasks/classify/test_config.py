"""Settings of the classification task."""

from typing import Any

import pytest

from hexlit.errors import UsageError
from hexlit.tasks.classify.config import ClassifyTrainConfig, TextDataConfig, TextNetConfig


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"path": ""}, "data.path='': name a CSV"),
        ({"text": ""}, "data.text='', data.label='label': name two columns"),
        ({"label": "text"}, "data.text='text', data.label='text': name two columns"),
        ({"train_share": 1.0}, "data.train_share=1.0: must lie between 0 and 1"),
        ({"validation_share": 0.3}, "data.validation_share=0.3: with data.train_share=0.7 nothing is left"),
        ({"subset": 0.0}, "data.subset=0.0: a share above 0"),
        ({"subset": 1.5}, "data.subset=1.5"),
        ({"split_seed": -1}, "data.split_seed=-1"),
        ({"max_length": 3}, "data.max_length=3: must be 4 or more"),
    ],
)
def test_a_data_setting_out_of_range_is_refused_by_its_name(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        TextDataConfig(**settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"pretrained": ""}, "net.pretrained='': name a folder"),
        ({"kind": "lstm"}, "net.kind=lstm: choose one of transformer, mean"),
        ({"vocabulary": 10}, "net.vocabulary=10: must be 300 or more"),
        ({"kind": "transformer", "width": 30}, "net.width=30: must be a multiple of net.heads=4"),
        ({"kind": "transformer", "width": 9, "heads": 3}, "net.width=9: must be even"),
        ({"dropout": 1.0}, "net.dropout=1.0"),
        ({"token_dropout": -0.1}, "net.token_dropout=-0.1"),
    ],
)
def test_a_net_setting_out_of_range_is_refused_by_its_name(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        TextNetConfig(**settings)


def test_fewer_errors_than_none_are_refused() -> None:
    with pytest.raises(UsageError, match="errors=-1: must be 0 or more"):
        ClassifyTrainConfig(errors=-1)
