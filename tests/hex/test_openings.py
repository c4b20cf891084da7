"""The tables of solved openings."""

import numpy as np
import pytest

from hexlit.hex.openings import solved_openings


@pytest.mark.parametrize(("size", "winning"), [(3, 5), (4, 4), (5, 13), (6, 24), (7, 27), (8, 32)])
def test_each_table_is_symmetric_and_has_its_number_of_winning_openings(
    size: int, winning: int
) -> None:
    wins = solved_openings(size)
    assert wins.shape == (size * size,)
    assert wins.dtype == np.bool_
    assert (wins == wins[::-1]).all()
    assert wins.sum() == winning
