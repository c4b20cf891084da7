"""Tables of the board."""

import numpy as np
import pytest

from hexlit.errors import UsageError
from hexlit.hex.geometry import geometry
from tests.hex import reference


@pytest.mark.parametrize("size", [2, 3, 5, 11, 26])
def test_neighbours_are_those_of_the_rules_and_the_extra_cell_elsewhere(size: int) -> None:
    cells = size * size
    for cell, row in enumerate(geometry(size).neighbours.tolist()):
        assert sorted(other for other in row if other != cells) == sorted(
            reference.neighbours(size)[cell]
        )


@pytest.mark.parametrize("size", [2, 3, 8, 26])
def test_each_colour_has_its_two_edges(size: int) -> None:
    for cell in range(size * size):
        for colour, line in enumerate(divmod(cell, size)):
            assert geometry(size).edges[colour, cell] == (line == 0) + 2 * (line == size - 1)


@pytest.mark.parametrize("size", [2, 3, 8, 26])
def test_both_symmetries_are_involutions_that_keep_the_swap_and_the_neighbours(size: int) -> None:
    table, cells = geometry(size), size * size
    for mapping in (table.transposed, table.rotated):
        assert np.array_equal(mapping[mapping], np.arange(cells + 1))
        assert mapping[cells] == cells
        for cell in range(cells):
            mapped = {int(mapping[other]) for other in reference.neighbours(size)[cell]}
            assert mapped == set(reference.neighbours(size)[mapping[cell]])


def test_tables_are_read_only_and_built_once() -> None:
    assert geometry(4) is geometry(4)
    with pytest.raises(ValueError, match="read-only"):
        geometry(4).neighbours[0, 0] = 1


@pytest.mark.parametrize("size", [-1, 0, 1, 27])
def test_a_size_that_no_board_has_is_refused(size: int) -> None:
    with pytest.raises(UsageError, match=f"^board={size}: .* 2 to 26$"):
        geometry(size)
