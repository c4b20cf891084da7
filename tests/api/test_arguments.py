from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from hexlit.api.interface import overrides, value_text
from hexlit.errors import UsageError

VALUES: list[Any] = [
    True,
    None,
    3,
    -0.25,
    1e-5,
    "word",
    "two words",
    'it\'s, a {list} [of] "signs"',
    "true",
    "12",
    [1, 2],
    ["a b", "c"],
    {"low": 1, "name": "a b"},
]


@pytest.mark.row("F10")
@pytest.mark.parametrize("value", VALUES, ids=str)
def test_hydra_reads_the_value_that_was_given(value: Any) -> None:
    (argument,) = overrides([], {"some.key": value})
    read = OverridesParser.create().parse_override(argument)
    assert read.key_or_group == "some.key"
    assert read.value() == value


def test_numbers_of_numpy_and_what_has_a_folder_are_plain_values() -> None:
    assert value_text("seed", np.int64(4)) == "4"
    assert value_text("resume", SimpleNamespace(folder=Path("runs/a"))) == "runs/a"


@pytest.mark.parametrize("wrong", [object(), {1, 2}])
def test_other_values_are_refused(wrong: object) -> None:
    with pytest.raises(UsageError, match=r"^net="):
        overrides([], {"net": wrong})


def test_an_override_is_text() -> None:
    with pytest.raises(UsageError, match="5 is not an override"):
        overrides([5], {})  # type: ignore[list-item]
