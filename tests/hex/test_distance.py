"""Two-distance: against plain Python, and where the answer is known by hand."""

import numpy as np
from hypothesis import given
from numpy.typing import NDArray

from hexlit.hex.distance import FAR, potentials
from hexlit.hex.symmetry import exchange_colours
from tests.hex.positions import undecided
from tests.hex.reference import neighbours, winner


def reference_distances(cells: list[int], size: int, colour: int, last: bool) -> dict[int, int]:
    """Two-distance of every empty cell to the first or last edge of `colour`,
    by repeating the definition.
    """
    touching = neighbours(size)

    def line(cell: int) -> int:
        return cell // size if colour > 0 else cell % size

    def reached(cell: int) -> set[int]:
        """Empty cells and edge cells that `cell` touches, itself or by own stones."""
        found, stack = set[int](), [cell]
        while stack:
            for other in touching[stack.pop()]:
                if other in found or other == cell or cells[other] == -colour:
                    continue
                found.add(other)
                if cells[other] == colour:
                    stack.append(other)
        return found

    edge = size - 1 if last else 0
    empty = [cell for cell, stone in enumerate(cells) if stone == 0]
    around = {cell: reached(cell) for cell in empty}
    distance = {
        cell: 1
        if any(line(c) == edge for c in (cell, *(o for o in around[cell] if cells[o] == colour)))
        else FAR
        for cell in empty
    }
    changed = True
    while changed:
        changed = False
        for cell in empty:
            near = sorted(distance[other] for other in around[cell] if cells[other] == 0)
            if len(near) > 1 and near[1] + 1 < distance[cell]:
                distance[cell], changed = near[1] + 1, True
    return distance


def reference_potentials(cells: list[int], size: int) -> tuple[list[int], list[list[int]]]:
    """As `potentials`, for undecided positions."""
    each = []
    for colour in (1, -1):
        ways = [reference_distances(cells, size, colour, last) for last in (False, True)]
        each.append(
            [min(FAR, sum(way.get(cell, FAR) for way in ways)) for cell in range(size * size)]
        )
    return [min(row) for row in each], each


@given(undecided(sizes=(2, 7)))
def test_potentials_are_those_of_the_definition(position: NDArray[np.int8]) -> None:
    size = round(len(position) ** 0.5)
    players, cells = potentials(position)
    expected_players, expected_cells = reference_potentials(position.tolist(), size)
    assert cells.tolist() == expected_cells
    assert players.tolist() == expected_players


@given(undecided(sizes=(2, 9)))
def test_potentials_have_the_symmetries_of_the_board(position: NDArray[np.int8]) -> None:
    size = round(len(position) ** 0.5)
    players, cells = potentials(position)
    turned_players, turned_cells = potentials(position[::-1])
    assert turned_players.tolist() == players.tolist()
    assert turned_cells[:, ::-1].tolist() == cells.tolist()
    other_players, other_cells = potentials(exchange_colours(position))
    assert other_players[::-1].tolist() == players.tolist()
    mirrored = other_cells[::-1].reshape(2, size, size).transpose(0, 2, 1).reshape(2, -1)
    assert mirrored.tolist() == cells.tolist()


@given(undecided(sizes=(2, 6)))
def test_a_potential_of_two_is_a_win_in_one_move(position: NDArray[np.int8]) -> None:
    size = round(len(position) ** 0.5)
    _, cells = potentials(position)
    for row, colour in ((0, 1), (1, -1)):
        for cell in np.flatnonzero(position == 0):
            after = position.copy()
            after[cell] = colour
            assert (cells[row, cell] == 2) == (winner(after.tolist(), size) == colour)


def test_a_connection_has_no_potential_and_leaves_the_other_player_none() -> None:
    column = np.tile(np.array([0, 1, 0], np.int8), 3)
    players, cells = potentials(column)
    assert players.tolist() == [0, FAR]
    assert (cells == FAR).all()
    assert potentials(exchange_colours(column))[0].tolist() == [FAR, 0]


def test_a_group_makes_neighbours_of_the_cells_around_it() -> None:
    """Black b2 on 3×3 is two bridges, and nothing is left to White."""
    cells = np.zeros(9, np.int8)
    cells[4] = 1
    players, potential = potentials(cells)
    assert potential[0].tolist() == [4, 3, 3, 4, FAR, 4, 3, 3, 4]
    assert players.tolist() == [3, FAR]
