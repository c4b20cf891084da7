"""The electrical circuit: against a dense solution of the same network, and where the answer is known by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hexlit.hex.resistance import BRIDGE, resistances
from hexlit.hex.symmetry import exchange_colours
from tests.hex.positions import undecided
from tests.hex.reference import connects, neighbours


def reference_resistance(cells: list[int], size: int, colour: int, bridge: float) -> float:
    """Resistance between the edges of `colour`: stones that touch are one node, the rest is Kirchhoff's laws."""
    touching, count = neighbours(size), size * size
    node = list(range(count + 2))  # the last two are the edges

    def line(cell: int) -> int:
        return cell // size if colour > 0 else cell % size

    def join(a: int, b: int) -> None:
        node[:] = [node[a] if other == node[b] else other for other in node]

    for cell in range(count):
        if cells[cell] == colour:
            for other in touching[cell]:
                if cells[other] == colour:
                    join(other, cell)
            for edge, number in ((0, 0), (1, size - 1)):
                if line(cell) == number:
                    join(count + edge, cell)
    links: list[tuple[int, int, float]] = []
    for a in range(count):
        if cells[a] == -colour:
            continue
        own = float(cells[a] == 0)
        for edge, number in ((0, 0), (1, size - 1)):
            between = [other for other in touching[a] if line(other) == number and cells[other] == 0]
            if line(a) == number:
                links.append((a, count + edge, own))
            elif len(between) == 2:
                links.append((a, count + edge, own + bridge))
        for b in range(a):
            if cells[b] == -colour:
                continue
            common = [cell for cell in touching[a] if cell in touching[b]]
            if b in touching[a]:
                links.append((a, b, own + (cells[b] == 0)))
            elif (cells[a] or cells[b]) and len(common) == 2 and not cells[common[0]] and not cells[common[1]]:
                links.append((a, b, own + (cells[b] == 0) + bridge))
    system = np.zeros((count + 2, count + 2))
    for a, b, resistance in links:
        if node[a] != node[b]:
            for one, other in ((node[a], node[b]), (node[b], node[a])):
                system[one, one] += 1 / resistance
                system[one, other] -= 1 / resistance
    voltage_and_rest = np.linalg.pinv(system)
    first, second = node[count], node[count + 1]
    ends = np.zeros(count + 2)
    ends[first], ends[second] = 1, -1
    return float(ends @ voltage_and_rest @ ends)


@given(undecided(sizes=(2, 6)), st.sampled_from([math.inf, BRIDGE, 0.1, 2.0]))
def test_resistances_are_those_of_the_circuit(position: NDArray[np.int8], bridge: float) -> None:
    size = round(len(position) ** 0.5)
    expected = [reference_resistance(position.tolist(), size, colour, bridge) for colour in (1, -1)]
    assert resistances(position, bridge) == pytest.approx(expected, rel=1e-4)


def test_the_empty_board_of_four_cells_is_solved_by_hand() -> None:
    """Voltages 3/4 and 2/3 in the first row, so that the current is 1/4 + 1/3."""
    assert resistances(np.zeros(4, np.int8), math.inf) == pytest.approx((12 / 7, 12 / 7))


def test_one_gap_in_a_wall_is_solved_by_hand() -> None:
    """b2 is empty between black b1, b3 and two white columns: 1 ohm to either stone, half of it to either column."""
    cells = np.array([-1, 1, -1, -1, 0, -1, -1, 1, -1], np.int8)
    assert resistances(cells, math.inf) == pytest.approx((2.0, 1.0), rel=1e-4)


@pytest.mark.parametrize("size", [2, 3, 7, 11, 19, 26])
def test_an_empty_board_resists_both_players_alike(size: int) -> None:
    black, white = resistances(np.zeros(size * size, np.int8))
    assert black == pytest.approx(white)
    assert 0 < black < resistances(np.zeros(size * size, np.int8), math.inf)[0]


@given(undecided(sizes=(2, 9)))
def test_resistances_have_the_symmetries_of_the_board(position: NDArray[np.int8]) -> None:
    black, white = resistances(position)
    assert resistances(position[::-1]) == pytest.approx((black, white))
    assert resistances(exchange_colours(position)) == pytest.approx((white, black))


@given(undecided(sizes=(3, 7)), st.integers(0, 48))
def test_a_stone_never_raises_its_owners_resistance_without_bridges(position: NDArray[np.int8], pick: int) -> None:
    """Rayleigh's law. (A stone can end a bridge of its owner that it stands in.)"""
    size = round(len(position) ** 0.5)
    empty = np.flatnonzero(position == 0)
    before = resistances(position, math.inf)
    position = position.copy()
    position[empty[pick % len(empty)]] = 1
    after = resistances(position, math.inf)
    assert after[0] <= before[0] * (1 + 1e-4)
    assert after[1] >= before[1] * (1 - 1e-4)
    assert (after[0] == 0) == connects(position.tolist(), size, 1)


def test_a_connection_has_no_resistance_and_leaves_the_other_player_none_to_pass() -> None:
    column = np.tile(np.array([0, 1, 0], np.int8), 3)
    assert resistances(column) == (0.0, math.inf)
    assert resistances(exchange_colours(column)) == (math.inf, 0.0)
