"""Fixtures of the tests of networks."""

import pytest

from hexlit.nets import evaluator


@pytest.fixture(autouse=True)
def _nothing_is_said_yet() -> None:
    """Give each test the warnings that a process gives once."""
    evaluator._warn_once.cache_clear()
