"""The openings of a match: different, legal, the same for one seed, and fairer than what comes by chance."""

import numpy as np
import pytest

from hexlit.arena.opening_set import balanced_openings, position_key, positions_after
from hexlit.errors import UsageError
from hexlit.hex.board import Board
from hexlit.hex.solver import Solver


@pytest.mark.row("E5")
@pytest.mark.parametrize(("size", "count", "plies"), [(2, 2, 1), (3, 5, 1), (3, 36, 2), (4, 40, 3), (7, 60, 4)])
@pytest.mark.parametrize("balanced", [True, False])
def test_openings_are_legal_and_no_two_the_same_even_turned(size: int, count: int, plies: int, balanced: bool) -> None:
    openings = balanced_openings(size, count, plies, 5, balanced=balanced)
    assert openings.shape == (count, plies)
    keys = set()
    for opening in openings.tolist():
        board = Board(size, moves=opening)
        assert board.winner == 0
        cells = board.cells
        keys.add(min(cells.tobytes(), cells[::-1].tobytes()))
    assert len(keys) == count
    assert np.array_equal(openings, balanced_openings(size, count, plies, 5, balanced=balanced))


def test_another_seed_gives_other_openings() -> None:
    assert not np.array_equal(balanced_openings(5, 20, 2, 1), balanced_openings(5, 20, 2, 2))


def test_more_openings_than_a_board_has_are_refused_with_their_number() -> None:
    with pytest.raises(UsageError, match="37 openings: a 3x3 board has 36 of 2 plies"):
        balanced_openings(3, 37, 2, 0)


@pytest.mark.parametrize("plies", [0, 4])
def test_openings_that_are_none_or_may_win_are_refused(plies: int) -> None:
    with pytest.raises(UsageError, match=f"openings.plies={plies}: on a 4x4 board an opening has 1 to 3 plies"):
        balanced_openings(4, 1, plies, 0)


def test_the_same_position_has_one_key_by_whatever_moves_and_turned() -> None:
    assert position_key((0, 5, 2), 3) == position_key((2, 5, 0), 3) == position_key((8, 3, 6), 3)
    assert position_key((0, 5, 2), 3) != position_key((5, 0, 2), 3)


def test_balanced_openings_are_harder_to_win_than_random_ones() -> None:
    """The side that wins has to find one of fewer moves; judged by the exact solver."""
    solver = Solver(4, table_bits=14)
    shares = []
    for balanced in (True, False):
        cells, to_move = positions_after(balanced_openings(4, 25, 2, 1, balanced=balanced), 4)
        winning = [len(solver.solve(board, int(c)).winning_moves) for board, c in zip(cells, to_move, strict=True)]
        shares.append(np.mean([count / 14 for count in winning if count]))
    assert shares[0] < 0.8 * shares[1]
