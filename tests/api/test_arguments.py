from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from hexlit.api.interface import overrides

VALUES: list[Any] = [
    True,
    None,
    3,
    -0.25,
    1e-5,
    "two words",
    'it\'s, a {list} [of] "signs"',
    "true",
    "12",
]
VALUES += [[1, 2], ["a b", "c"], {"low": 1, "name": "a b"}]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_hydra_reads_the_value_that_was_given(value: Any) -> None:
    (argument,) = overrides([], {"some.key": value})
    read = OverridesParser.create().parse_override(argument)
    assert (read.key_or_group, read.value()) == ("some.key", value)


def test_numbers_of_numpy_and_what_has_a_folder_are_plain_values() -> None:
    given = {"seed": np.int64(4), "resume": SimpleNamespace(folder=Path("runs/a"))}
    assert overrides([], given) == ["seed=4", "resume=runs/a"]
