"""A player's time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexlit.arena.htp.clock import PlayerTime, game_time


def test_without_a_limit_a_move_may_take_any_time() -> None:
    clock = PlayerTime()
    clock.spend(1e6)
    assert clock.budget(100) is None
    assert str(clock) == "no limit"


@given(st.floats(0, 1e6), st.integers(0, 361))
def test_a_move_never_takes_more_than_a_part_of_the_time(left: float, empty: int) -> None:
    budget = PlayerTime(left).budget(empty)
    assert budget is not None
    assert 0 <= budget <= left / 4


def test_a_game_played_at_its_budget_keeps_time_to_the_end() -> None:
    clock = PlayerTime(60.0)
    for empty in range(121, 0, -2):
        budget = clock.budget(empty)
        assert budget is not None
        assert budget > 0
        clock.spend(budget)
    assert clock.left is not None
    assert clock.left > 0


def test_moves_of_a_period_share_its_time() -> None:
    clock = game_time(0, 30, 3)
    assert clock.budget(100) == pytest.approx(30 / 3, rel=0.01)
    clock.spend(5)
    assert clock.budget(100) == pytest.approx(25 / 2, rel=0.01)
    clock.spend(5)
    clock.spend(5)
    assert (clock.left, clock.moves) == (30, 3)


def test_after_the_main_time_comes_a_period() -> None:
    clock = game_time(10, 30, 3)
    assert clock.left == 10
    clock.spend(11)
    assert (clock.left, clock.moves) == (30, 3)


def test_a_period_without_moves_is_no_limit() -> None:
    assert game_time(10, 1, 0).left is None


def test_a_flag_that_has_fallen_leaves_no_time() -> None:
    clock = PlayerTime(3.0)
    clock.spend(5.0)
    assert clock.left == 0
    assert clock.budget(100) == 0
