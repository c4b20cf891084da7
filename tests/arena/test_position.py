"""Positions built stone by stone, in any order, and read from SGF as `loadsgf` takes them over."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexlit.arena.position import Position, empty_position, first_game, may_swap, replay
from hexlit.errors import UsageError
from hexlit.hex.board import GameBoard
from hexlit.hex.notation import format_cell, parse_cell
from hexlit.hex.records.sgf import board_of


@given(st.permutations(range(16)), st.integers(0, 16), st.randoms())
def test_any_order_of_the_stones_gives_the_same_position(
    cells: list[int], count: int, random: object
) -> None:
    """As HexGui plays a position again: row by row, colours as they come."""
    board = GameBoard(4)
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
    assert not may_swap(position.cells, -1)
    assert not may_swap(position.cells, 1)


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


def stones(position: Position) -> dict[str, str]:
    """Name of the cell -> `b` or `w`."""
    return {
        format_cell(int(cell), position.size): "b" if position.cells[cell] > 0 else "w"
        for cell in np.flatnonzero(position.cells)
    }


def test_moves_of_the_main_line_are_played_and_variations_left_out() -> None:
    game = first_game("(;FF[4]GM[11]SZ[5]C[a ; (in\\] a comment)];B[c3](;W[b2];B[a1])(;W[d4]))")
    assert board_of(game) == (5, 5)
    assert stones(replay(game)) == {"c3": "b", "b2": "w", "a1": "b"}
    assert stones(replay(game, 2)) == {"c3": "b", "b2": "w"}
    assert stones(replay(game, 0)) == {}
    assert stones(replay(game, 99)) == stones(replay(game))


def test_stones_are_set_up_and_taken_away() -> None:
    game = first_game("(;SZ[4]AB[a1][b1]AW[c1];AE[b1]AW[d4];B[b2])")
    position = replay(game)
    assert stones(position) == {"a1": "b", "c1": "w", "d4": "w", "b2": "b"}
    assert stones(replay(game, 0)) == {"a1": "b", "c1": "w", "d4": "w"}


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        ("B[d2];W[swap-pieces];B[e5]", {"b4": "w", "e5": "b"}),
        ("B[d2];W[swap-pieces]", {"b4": "w"}),
        ("B[d2];W[swap]", {"b4": "w"}),
        ("B[d2];W[swap-pieces];W[e5]", {"d2": "b", "e5": "w"}),  # it was swap-sides
        ("B[d2];W[swap-sides];W[e5]", {"d2": "b", "e5": "w"}),
        ("B[d2];W[swap-sides]", {"d2": "b"}),
        ("B[d2];W[swap-sides];B[e5]", {"b4": "w", "e5": "b"}),
    ],
)
def test_the_colour_of_the_next_move_says_which_swap_it_was(
    moves: str, expected: dict[str, str]
) -> None:
    assert stones(replay(first_game(f"(;SZ[5];{moves})"))) == expected


def test_a_resignation_ends_the_game_and_a_pass_changes_nothing() -> None:
    position = replay(first_game("(;SZ[5];B[c3];W[pass];B[a1];W[resign])"))
    assert position.winner == 1
    assert stones(position) == {"c3": "b", "a1": "b"}


@pytest.mark.parametrize(
    ("text", "count", "to_move"),
    [
        ("AB[b2]AW[c3]PL[W]", None, -1),
        ("AB[b2]AW[c3]", None, 1),
        (";B[a1];W[pass]", None, 1),
        ("AB[b2]AW[c3];W[d2];B[a4]", 0, -1),
        ("PL[W];B[a1];W[d2];W[swap-sides]", 1, -1),
    ],
)
def test_the_file_says_whose_turn_it_is(text: str, count: int | None, to_move: int) -> None:
    assert replay(first_game(f"(;SZ[4]{text})"), count).to_move == to_move


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "no game"),
        ("(;SZ[4:3])", "as many rows as columns"),
        ("hello", "no game"),
        ("(;GM[1]SZ[19];B[aa])", "not a game of Hex"),
        ("(;SZ[x])", "no size"),
        ("(;SZ[5];B[c3];W[c3])", "taken"),
        ("(;SZ[5];B[f1])", "no cell"),
        ("(;SZ[5];B[c3];W[d4];B[swap-pieces])", "only White may swap"),
        ("(;SZ[5]AB[zz])", "no cell"),
        ("(;SZ[5];B[c3", "no SGF"),
    ],
)
def test_what_is_no_legal_game_is_refused_in_words(text: str, part: str) -> None:
    with pytest.raises(UsageError, match=part):
        replay(first_game(text))


@given(st.text(alphabet="(;)[]\\BWASZGM1159:ab swp-\n", max_size=60))
def test_no_text_does_worse_than_a_usage_error(text: str) -> None:
    with contextlib.suppress(UsageError):
        game = first_game(text)
        if 2 <= board_of(game)[0] <= 19:
            replay(game)


def test_a_board_that_is_set_up_many_times_over_is_still_read() -> None:
    assert replay(first_game("(;SZ[26]AB" + "[a1:z26]" * 20 + "AE[a1:z26]AB[b2])")).cells.sum() == 1
