"""Calibration of values: perfect, constant, and a case counted by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexlit.errors import UsageError
from hexlit.nets.calibration import SMALLEST_CHANCE, calibrate

WON = np.array([True, True, True, False])


def test_certainty_that_is_always_right_is_perfect() -> None:
    found = calibrate(np.where(WON, 1, -1).astype(np.float32), WON)
    assert found.brier == found.calibration_error == 0.0
    assert found.sign_accuracy == 1.0
    assert found.log_loss == pytest.approx(-np.log(1 - SMALLEST_CHANCE))
    assert [b.count for b in found.bins] == [1, 0, 0, 0, 0, 0, 0, 0, 0, 3]


def test_a_constant_gets_the_base_rates() -> None:
    """The share won as the constant chance has the Brier score of its variance,
    and is calibrated.
    """
    found = calibrate(np.full(4, 0.5, np.float32), WON)  # a chance of 0.75
    assert found.won == 0.75
    assert found.brier == pytest.approx(0.75 * 0.25)
    assert found.calibration_error == pytest.approx(0.0)
    assert found.sign_accuracy == 0.75
    half = calibrate(np.zeros(4, np.float32), WON)
    assert half.brier == 0.25
    assert half.calibration_error == pytest.approx(0.25)
    assert half.log_loss == pytest.approx(np.log(2))
    assert half.sign_accuracy == 0.25  # half is no better chance: it counts as lost


def test_bins_hold_what_they_say() -> None:
    chances = np.array([0.0, 0.25, 0.5, 0.625, 1.0])
    found = calibrate(
        (2 * chances - 1).astype(np.float32), np.array([False, True, False, True, True]), bins=2
    )
    low, high = found.bins
    assert (low.low, low.high, low.count, low.predicted, low.won) == (0.0, 0.5, 2, 0.125, 0.5)
    assert (high.low, high.high, high.count) == (0.5, 1.0, 3)
    assert high.won == pytest.approx(2 / 3)
    assert high.predicted == pytest.approx(2.125 / 3)
    assert found.calibration_error == pytest.approx((2 * 0.375 + 3 * abs(2.125 - 2) / 3) / 5)


@given(st.lists(st.tuples(st.floats(-1, 1, width=32), st.booleans()), min_size=1, max_size=50))
def test_any_values_give_finite_figures_and_every_position_is_in_one_bin(
    given: list[tuple[float, bool]],
) -> None:
    values, won = (np.array(column) for column in zip(*given, strict=True))
    found = calibrate(values.astype(np.float32), won.astype(np.bool_))
    assert sum(b.count for b in found.bins) == found.count == len(given)
    assert 0 <= found.brier <= 1
    assert 0 <= found.calibration_error <= 1
    assert np.isfinite(found.log_loss)
    # Jensen: the distance of the means of bins is at most the root of the mean squared distance.
    assert found.calibration_error**2 <= found.brier + 1e-9


@pytest.mark.parametrize(("values", "won"), [(0, 0), (3, 2)])
def test_results_that_do_not_fit_are_refused(values: int, won: int) -> None:
    with pytest.raises(UsageError, match=f"{values} values and {won} results"):
        calibrate(np.zeros(values, np.float32), np.zeros(won, np.bool_))
