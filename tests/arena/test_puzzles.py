"""Puzzles: one winning move by brute force or another solver,
missed by the policy, all different, rightly graded.
"""

from functools import cache

import numpy as np
import pytest

from hexlit.arena.players import Network
from hexlit.arena.positions import symmetric_key
from hexlit.arena.puzzles import GRADES, Puzzle, make_puzzles
from hexlit.hex.solver import ExactSolver
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import RolloutEvaluator
from tests.hex.reference import connects


def drawn(size: int, count: int, seed: int = 1) -> tuple[Network, list[Puzzle]]:
    network = Network(lambda batch: RolloutEvaluator(1), size, swap=False)
    return network, make_puzzles(network, count, seed, lambda what, share: None)


def played(network: Network, config: SearchConfig | None, one: Puzzle) -> int:
    return int(
        network.player(config, 1).choose(one.cells[None], np.array([one.to_move], np.int8))[0]
    )


@cache
def wins(cells: tuple[int, ...], player: int) -> bool:
    """Whether `player` wins who is to move; everything is tried on boards with few empty cells."""
    if cells.count(0) > 9:
        return ExactSolver(round(len(cells) ** 0.5)).wins(np.array(cells, np.int8), player)
    after = (
        (*cells[:place], player, *cells[place + 1 :])
        for place, cell in enumerate(cells)
        if not cell
    )
    return not connects(cells, round(len(cells) ** 0.5), -player) and any(
        not wins(one, -player) for one in after
    )


@pytest.mark.parametrize(
    "size", [4, *(pytest.param(size, marks=pytest.mark.slow) for size in (5, 6, 7))]
)
def test_a_puzzle_has_one_winning_move_which_the_policy_misses(size: int) -> None:
    network, puzzles = drawn(size, 16 if size == 4 else 100)
    assert any(np.count_nonzero(one.cells) >= size**2 - 10 for one in puzzles)
    for one in puzzles:
        cells = tuple(one.cells.tolist())
        after = {
            move: (*cells[:move], one.to_move, *cells[move + 1 :])
            for move in range(size**2)
            if not cells[move]
        }
        assert [move for move, board in after.items() if not wins(board, -one.to_move)] == [
            one.solution
        ]
        assert played(network, None, one) == one.likeliest != one.solution


def test_the_same_seed_gives_the_same_puzzles_and_no_two_are_equal_by_a_symmetry() -> None:
    first, again, other = (drawn(4, 12, seed)[1] for seed in (1, 1, 2))
    assert str(first) == str(again) != str(other)
    assert len({symmetric_key(one.cells, one.to_move) for one in first}) == 12


def test_a_grade_is_the_least_number_of_simulations_that_finds_the_move_and_keeps_it_with_twice_as_many() -> (
    None
):
    network, puzzles = drawn(4, 6)
    for one in puzzles:
        moves = [
            played(network, SearchConfig(simulations=number), one)
            for number in (*GRADES, 2 * GRADES[-1])
        ]
        kept = [
            grade
            for grade, *two in zip(GRADES, moves, moves[1:], strict=False)
            if two == [one.solution] * 2
        ]
        assert [one.grade] == (kept[:1] or [None])
