"""One real cluster for all tests of this room that ask for it."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.local_cluster import cluster_of


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Three nodes with a processor each, and a head without."""
    with cluster_of(3) as started:
        yield started
