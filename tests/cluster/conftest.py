"""A real cluster for the tests of a module that ask for one."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.local_cluster import cluster_of


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Three nodes with a processor each, and a head without."""
    with cluster_of(3) as started:
        yield started
