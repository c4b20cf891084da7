"""Hostile surroundings on a real cluster: `pytest -m services -n 0 -s
tests/cluster/test_hostile.py` prints a table.

Its disk counts as full: what does not fit into an object store has no other place.
"""

import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hexlit.cluster import tasks
from hexlit.cluster.config import RayConfig
from hexlit.cluster.connection import identity
from hexlit.errors import UsageError
from hexlit.selfplay.cluster import RayPool
from hexlit.selfplay.workers import PlayerSettings, RoundRequest
from tests.cluster.local_cluster import ON_RAY, STORE, cluster_of
from tests.selfplay.cluster.learner import SETTINGS
from tests.selfplay.hosts import LargeHost

pytestmark = ON_RAY

PLACE = PlayerSettings(SETTINGS, LargeHost)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with cluster_of(1, head_store=4 * STORE, local_fs_capacity_threshold=0.001) as started:
        yield started


def refused(what: str, call: Callable[[], Any]) -> str:
    """The one-line refusal of `call`; how long it took is printed."""
    started = time.monotonic()
    with pytest.raises(UsageError) as error:
        call()
    return told(what, started, str(error.value))


def told(what: str, started: float, line: str) -> str:
    print(
        f"\n{what}: {time.monotonic() - started:.1f} s: {line}",
        end="",
        file=sys.__stdout__,
        flush=True,
    )
    assert "\n" not in line
    return line


def play(address: str, weights: bytes = b"a") -> None:
    players = RayPool(PLACE, 1, RayConfig(address=address))
    try:
        players.play(RoundRequest(weights, 10, 0, on_games=lambda *_: None))
    finally:
        players.close()


@pytest.mark.usefixtures("cluster")  # Ray is imported once, in the environment of `cluster_of`
def test_an_address_where_nobody_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    assert "no head answers there" in refused("self-play, a closed address", lambda: play(address))


def test_workers_of_another_version(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    play(cluster.address)  # all is well, and compiled
    here = identity()
    monkeypatch.setattr(
        tasks, "identity", lambda: here | {"hexlit": "0.0.1"}
    )  # the workers are what is installed
    line = refused("self-play, another version", lambda: play(cluster.address))
    assert "the process that asks it 0.0.1; install the same on all hosts" in line


def test_a_full_object_store(cluster: Any) -> None:
    line = refused(
        "self-play, the store of a worker's node",
        lambda: play(cluster.address, bytes(STORE + 2**20)),
    )
    assert line.startswith("self-play on Ray: an object store is full")
    line = refused(
        "self-play, the store of the learner's node",
        lambda: play(cluster.address, bytes(5 * STORE)),
    )
    assert line.startswith("self-play on Ray: an object store is full")
