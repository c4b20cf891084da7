"""The tables of solved openings."""

import numpy as np
import pytest

from hexlit.hex.openings import solved_openings


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7])
def test_each_table_is_symmetric_under_a_turn_by_180_degrees(size: int) -> None:
    wins = solved_openings(size)
    assert wins.shape == (size * size,)
    assert wins.dtype == np.bool_
    assert (wins == wins[::-1]).all()
    assert wins.any()
    assert not wins.all()


@pytest.mark.parametrize(("size", "wins"), [(3, 5), (4, 4), (5, 13), (6, 24), (7, 27)])
def test_each_table_has_its_number_of_winning_openings(size: int, wins: int) -> None:
    assert int(solved_openings(size).sum()) == wins
