"""How a search sees a position that was built stone by stone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexlit.arena.position import empty_position, may_swap
from hexlit.arena.thinker import Thinker, plies_before
from hexlit.hex.board import Board
from hexlit.search.config import SearchConfig
from tests.arena.htp.sessions import rollouts


@given(st.permutations(range(16)), st.integers(0, 8), st.booleans())
def test_plies_are_those_of_the_game_with_or_without_a_swap(cells: list[int], count: int, swap: bool) -> None:
    board = Board(4, swap=True)
    for cell in cells[:count]:
        board.play(16 if swap and board.may_swap else cell) if board.cells[cell] == 0 and not board.winner else None
    assert plies_before(board.cells, board.to_move) == len(board.moves)


@given(st.lists(st.tuples(st.sampled_from([1, -1]), st.integers(0, 8)), max_size=9), st.sampled_from([1, -1]))
def test_only_white_after_blacks_one_stone_is_where_the_search_sees_a_swap(
    stones: list[tuple[int, int]], colour: int
) -> None:
    position = empty_position(3)
    for owner, cell in stones:
        position = position if position.cells[cell] else position.place(owner, cell)
    plies = plies_before(position.cells, colour)
    assert (plies == 1) == may_swap(position.cells, colour)
    assert (plies == 0) == (position.stones == 0 and colour == 1)


@pytest.mark.parametrize("knows_swap", [False, True])
def test_the_swap_is_a_matter_of_the_game_not_of_the_evaluator(knows_swap: bool) -> None:
    thinker = Thinker(SearchConfig(simulations=64), rollouts, knows_swap=knows_swap)
    position = empty_position(3).place(1, 4)
    for swap in (True, False, True):
        thinker.prepare(3, swap=swap)
        assert (thinker.choose(position.cells, -1, simulations=64).action == 9) is swap
        policy, _ = thinker.look(position.cells, -1)
        assert len(policy) == 9 + (swap or knows_swap)
        assert (policy[9:].sum() > 0) == swap
