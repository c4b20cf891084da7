"""Wilson intervals, against published figures and their own laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexlit.arena.shares import Share


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    [(0, 10, 0.0, 0.2775), (8, 10, 0.4902, 0.9433), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_intervals_are_the_published_ones(hits: int, count: int, low: float, high: float) -> None:
    """The last is the example of Newcombe 1998."""
    assert Share(hits, count).interval == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_an_interval_holds_its_share_and_mirrors(counts: tuple[int, int]) -> None:
    hits, count = counts
    low, high = Share(hits, count).interval
    assert 0 <= low <= hits / count <= high <= 1
    assert Share(count - hits, count).interval == pytest.approx((1 - high, 1 - low))


def test_nothing_counted_says_nothing() -> None:
    assert Share.of(np.zeros(0, np.bool_)).as_dict() == {"share": None, "low": 0.0, "high": 1.0, "hits": 0, "count": 0}
    assert Share.of(np.array([True, False, True])) == Share(2, 3)
