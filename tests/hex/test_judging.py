"""When the judgement of an opening is right."""

import pytest

from hexlit.hex.judging import judged_right, openings_right


@pytest.mark.parametrize(
    ("value", "wins", "right"),
    [
        (1e-9, True, True),
        (-1e-9, True, False),
        (0.0, False, True),
        (0.0, True, False),
        (True, True, True),
    ],
)
def test_the_sign_of_the_unrounded_value_decides(value: float, wins: bool, right: bool) -> None:
    assert judged_right(value, wins) is right


@pytest.mark.parametrize("wins", [True, False])
def test_no_judgement_is_never_right(wins: bool) -> None:
    assert not judged_right(None, wins)
    assert not judged_right(float("nan"), wins)


def test_right_openings_are_counted_once_each() -> None:
    assert openings_right([0.00002, -0.00002, None, 0.9], [True, True, False, True]) == 2
