"""What every test of a command starts with."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _own_handlers() -> Iterator[None]:
    """Hydra gives the root logger a file in the folder of each run."""
    before = logging.root.handlers[:]
    yield
    logging.root.handlers[:] = before
