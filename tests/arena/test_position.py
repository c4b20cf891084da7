"""Positions built stone by stone, in any order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexlit.arena.position import empty_position
from hexlit.errors import UsageError
from hexlit.hex.board import Board
from hexlit.hex.notation import parse_cell


@given(st.permutations(range(16)), st.integers(0, 16), st.randoms())
def test_any_order_of_the_stones_gives_the_same_position(cells: list[int], count: int, random: object) -> None:
    """As HexGui plays a position again: row by row, colours as they come."""
    board = Board(4)
    for cell in cells[:count]:
        if board.winner:
            break
        board.play(cell)
    stones = [(int(board.cells[cell]), cell) for cell in range(16) if board.cells[cell]]
    random.shuffle(stones)  # type: ignore[attr-defined]
    position = empty_position(4)
    for colour, cell in stones:
        position = position.place(colour, cell)
    assert np.array_equal(position.cells, board.cells)
    assert position.winner == board.winner


@given(st.lists(st.tuples(st.sampled_from([1, -1]), st.integers(0, 8)), max_size=12))
def test_going_back_leads_through_the_same_positions(stones: list[tuple[int, int]]) -> None:
    position = empty_position(3)
    seen = []
    for colour, cell in stones:
        if position.cells[cell]:
            with pytest.raises(UsageError, match="taken"):
                position.place(colour, cell)
            continue
        seen.append((position.cells.copy(), position.to_move))
        position = position.place(colour, cell)
        assert position.to_move == -colour
    for cells, to_move in reversed(seen):
        assert position.previous is not None
        position = position.previous
        assert np.array_equal(position.cells, cells)
        assert position.to_move == to_move
    assert position.previous is None


def test_a_swap_mirrors_the_only_stone_and_black_moves_next() -> None:
    position = empty_position(5).place(1, parse_cell("d2", 5)).swap(-1)
    assert np.flatnonzero(position.cells == -1).tolist() == [parse_cell("b4", 5)]
    assert not (position.cells > 0).any()
    assert position.to_move == 1
    assert not position.may_swap(-1)
    assert not position.may_swap(1)


@pytest.mark.parametrize("stones", [[], [(-1, 0)], [(1, 0), (-1, 1)], [(1, 0), (1, 1)]])
def test_nobody_swaps_but_white_for_the_first_stone(stones: list[tuple[int, int]]) -> None:
    position = empty_position(3)
    for colour, cell in stones:
        position = position.place(colour, cell)
    for colour in (1, -1):
        with pytest.raises(UsageError, match="only White may swap"):
            position.swap(colour)


def test_who_resigns_loses_and_can_take_it_back() -> None:
    position = empty_position(3).place(1, 4)
    resigned = position.resign(-1)
    assert resigned.winner == 1
    assert resigned.previous is position
    with pytest.raises(UsageError, match="the game is over"):
        resigned.resign(1)
    assert resigned.place(-1, 0).winner == 0  # whoever goes on has not meant it


def test_stones_may_follow_the_one_that_wins() -> None:
    position = empty_position(2).place(1, 0).place(1, 2)
    assert position.winner == 1
    assert position.place(-1, 1).winner == 1


def test_the_board_as_text_is_a_rhombus_without_blank_lines() -> None:
    text = str(empty_position(3).place(1, 4).place(-1, 0))
    assert text.splitlines() == ["   a b c", " 1 O . . 1", "  2 . X . 2", "   3 . . . 3", "      a b c"]
