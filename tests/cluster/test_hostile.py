"""Hostile surroundings on a real cluster: `pytest -m services -n 0 -s
tests/cluster/test_hostile.py` prints a table.

Its disk counts as full: what does not fit into an object store has no other place.
"""

import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hexlit.cluster import tasks
from hexlit.cluster.config import RayConfig
from hexlit.cluster.connection import identity
from hexlit.commands.match import main
from hexlit.errors import UsageError
from hexlit.selfplay.cluster import RayPool
from hexlit.selfplay.workers import PlayerSettings, RoundRequest
from tests.cluster.local_cluster import ON_RAY, STORE, cluster_of
from tests.commands.test_train import as_a_process
from tests.selfplay.cluster.learner import SETTINGS
from tests.selfplay.hosts import LargeHost

pytestmark = ON_RAY

PLACE = PlayerSettings(SETTINGS, LargeHost)
MATCH = [
    "players=[random,random name=other]",
    "board=4",
    "pairs=4",
    "accelerator=cpu",
    "where=ray",
    "workers=1",
]


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


def match(folder: Path, capsys: pytest.CaptureFixture[str], what: str, *settings: str) -> str:
    """As `refused`, of `hexlit match` with these settings."""
    started = time.monotonic()
    with as_a_process(folder):
        assert main([*MATCH, *settings]) == 2
    warnings, _, line = capsys.readouterr().err.strip().rpartition("\n")
    assert all("no task has begun yet" in warning for warning in warnings.splitlines())
    return told(what, started, line)


def play(address: str, weights: bytes = b"a") -> None:
    players = RayPool(PLACE, 1, RayConfig(address=address))
    try:
        players.play(RoundRequest(weights, 10, 0, on_games=lambda *_: None))
    finally:
        players.close()


@pytest.mark.usefixtures("cluster")  # Ray is imported once, in the environment of `cluster_of`
def test_an_address_where_nobody_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    assert "no head answers there" in refused("self-play, a closed address", lambda: play(address))
    assert "no head answers there" in match(
        tmp_path, capsys, "match, a closed address", f"ray.address='{address}'"
    )


def test_workers_of_another_version(
    cluster: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    play(cluster.address)  # all is well, and compiled
    here = identity()
    monkeypatch.setattr(
        tasks, "identity", lambda: here | {"hexlit": "0.0.1"}
    )  # the workers are what is installed
    line = refused("self-play, another version", lambda: play(cluster.address))
    assert "the process that asks it 0.0.1; install the same on all hosts" in line
    line = match(tmp_path, capsys, "match, another version", f"ray.address='{cluster.address}'")
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


def test_another_seed(cluster: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = [f"ray.address='{cluster.address}'", "report=false"]
    with as_a_process(tmp_path):
        assert main([*MATCH, *here, "hydra.run.dir=run"]) == 0
    capsys.readouterr()
    started = time.monotonic()
    with as_a_process(tmp_path):
        assert main(["resume=run", "seed=2"]) == 2
    line = capsys.readouterr().err.strip()
    assert "continues with its own settings" in told("match, another seed", started, line)
