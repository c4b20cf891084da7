"""Positions with known winning moves."""

from pathlib import Path

import numpy as np
import pytest

from hexlit.errors import UsageError
from hexlit.hex.solver import ExactSolver
from hexlit.hex.truth import SolvedPositions, won_positions


def same(one: SolvedPositions, other: SolvedPositions) -> bool:
    names = ("cells", "to_move", "stones", "winner", "winning_moves", "source", "stage")
    arrays = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)
    return arrays and one.sources == other.sources and one.unsolved == other.unsolved


@pytest.mark.parametrize("size", [4, 5])
def test_positions_are_undecided_alternating_and_won_by_the_side_to_move(size: int) -> None:
    """The positions that the search is measured on are right."""
    positions = won_positions(size, 2 * size * size, seed=3)
    assert positions.cells.dtype == np.int8
    assert positions.stones.dtype == np.int16
    black = (positions.cells == 1).sum(axis=1)
    white = (positions.cells == -1).sum(axis=1)
    assert (black + white == positions.stones).all()
    assert (black - white == (positions.to_move == -1)).all()
    assert not positions.winning_moves[positions.cells != 0].any()
    solver = ExactSolver(size)
    for cells, player, wins in zip(
        positions.cells, positions.to_move.tolist(), positions.winning_moves, strict=True
    ):
        solution = solver.solve(cells, player)
        assert solution.winner == player
        assert solution.winning_moves == tuple(np.flatnonzero(wins).tolist())
        assert wins.any()  # a finished game has no winning moves, so nobody has connected
    assert positions.won.all()


def test_every_number_of_stones_comes_equally_often() -> None:
    positions = won_positions(5, 100, seed=0)
    assert np.bincount(positions.stones, minlength=25).tolist() == [4] * 25
    assert positions.unsolved == 0


def test_the_seed_decides_the_positions() -> None:
    assert same(won_positions(4, 40, seed=7), won_positions(4, 40, seed=7))
    assert not same(won_positions(4, 40, seed=7), won_positions(4, 40, seed=8))


def test_unsolved_draws_are_skipped_and_counted_on_size_seven() -> None:
    positions = won_positions(7, 20, seed=0, min_stones=16, node_limit=50)
    assert positions.unsolved > 0
    assert positions.stones.min() == 16
    assert positions.winning_moves.any(axis=1).all()


def test_positions_that_cannot_be_solved_within_the_limit_are_refused() -> None:
    with pytest.raises(UsageError, match="raise min_stones"):
        won_positions(7, 1, seed=0, node_limit=10)


def test_a_cache_with_any_bytes_changed_is_read_right_or_replaced(tmp_path: Path) -> None:
    first = won_positions(3, 20, seed=1, cache=tmp_path)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    random = np.random.default_rng(0)
    for _ in range(150):
        damaged = bytearray(whole)
        damaged[random.integers(len(whole))] ^= int(random.integers(1, 256))
        file.write_bytes(damaged)
        assert same(won_positions(3, 20, seed=1, cache=tmp_path), first)
