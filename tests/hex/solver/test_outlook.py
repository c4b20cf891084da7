"""The picture of a virtual connection: its lines hold whatever the other side plays."""

import numpy as np
import pytest

from hexlit.hex.board import GameBoard
from hexlit.hex.geometry import BLACK
from hexlit.hex.notation import format_cell, parse_moves
from hexlit.hex.solver.lines import BOTTOM, BRIDGE, TOP, WAY, Line, Outlook, outlooks
from tests.hex.solver.test_solver import random_board

EDGES = {TOP: "top", BOTTOM: "bottom"}


def joined(lines: tuple[Line, ...], without: int | None) -> bool:
    """Whether the lines lead from edge to edge, and not over the cell `without`."""
    reached, waiting = {TOP}, [TOP]
    while waiting:
        at = waiting.pop()
        for line in lines:
            if at in line[:2] and without not in line[:2]:
                beside = line.start + line.end - at
                if beside not in reached:
                    reached.add(beside)
                    waiting.append(beside)
    return BOTTOM in reached


def named(found: Outlook, size: int) -> set[tuple[str, str, str]]:
    def name(place: int) -> str:
        return EDGES[place] if place < 0 else format_cell(place, size)

    return {(name(line.start), name(line.end), line.kind) for line in found.lines}


@pytest.mark.parametrize(
    ("size", "stones", "boards"), [(4, 4, 60), (5, 8, 60), (6, 11, 40), (8, 22, 25)]
)
def test_no_single_cell_cuts_the_lines(size: int, stones: int, boards: int) -> None:
    """The other side takes a cell;
    a full connection and a semi after its key still have a way from edge to edge.
    """
    rng = np.random.default_rng(size)
    seen = {"full": 0, "semi": 0}
    for _ in range(boards):
        board = random_board(rng, size, stones)
        for colour, found in outlooks(board, size).items():
            if not found.strength or not found.carrier:
                continue
            seen[found.strength] += 1
            assert (found.key is not None) == (found.strength == "semi")
            places = {place for line in found.lines for place in line[:2] if place >= 0}
            allowed = {*found.carrier, *np.flatnonzero(board == colour).tolist()}
            assert places <= allowed, board
            for cell in (None, *(set(found.carrier) - {found.key})):
                assert joined(found.lines, cell), (board, colour, cell)
    assert min(seen.values()) > 3, seen


def test_bridges_lead_from_stone_to_stone_and_to_the_edge() -> None:
    board = GameBoard(4, moves=parse_moves("c2 a1 b4", 4))
    found = outlooks(board.cells, 4)[BLACK]
    assert found.strength == "full"
    assert named(found, 4) == {
        ("c1", "top", BRIDGE),
        ("d1", "top", BRIDGE),
        ("c2", "c1", BRIDGE),
        ("c2", "d1", BRIDGE),
        ("b3", "c2", BRIDGE),
        ("c3", "c2", BRIDGE),
        ("b4", "b3", BRIDGE),
        ("b4", "c3", BRIDGE),
        ("b4", "bottom", "stones"),
    }


def test_a_template_is_drawn_by_its_ways_and_a_semi_after_its_key() -> None:
    """The ziggurat below a stone on the third row, and the middle of 3x3."""
    board = GameBoard(5, moves=parse_moves("c1 a1 c2 b1 c3", 5))
    found = outlooks(board.cells, 5)[BLACK]
    assert found.strength == "full"
    kinds = {kind for _, _, kind in named(found, 5)}
    assert kinds == {"stones", WAY}
    assert ("c1", "top", "stones") in named(found, 5)
    empty = GameBoard(3, moves=parse_moves("a1", 3))
    for semi in outlooks(empty.cells, 3).values():
        assert semi.strength == "semi"
        assert semi.key == 4
        assert semi.key in semi.must_play
