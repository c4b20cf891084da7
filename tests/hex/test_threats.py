"""Wins in one move."""

import numpy as np
from hypothesis import given
from numpy.typing import NDArray

from hexlit.hex.engine import empty_stones, place_all, winning_cells
from hexlit.hex.geometry import geometry
from tests.hex.positions import undecided
from tests.hex.reference import wins_at_once


@given(undecided(sizes=(2, 6)))
def test_winning_cells_are_those_at_which_a_stone_connects(position: NDArray[np.int8]) -> None:
    size = round(len(position) ** 0.5)
    stones, found = empty_stones(1, size), np.zeros(size * size, np.int16)
    place_all(stones, 0, position, geometry(size))
    for colour in (1, -1):
        number = winning_cells(stones, 0, colour, geometry(size), found)
        assert found[:number].tolist() == wins_at_once(position.tolist(), size, colour)
