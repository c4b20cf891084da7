"""Heads that are not there, or are something else, are told in one line within seconds; no Ray is started here."""

import re
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import psutil
import pytest

from hexlit.cluster import connection
from hexlit.cluster.config import RayConfig
from hexlit.cluster.connection import _check_joined, connect, first_words
from hexlit.errors import UsageError
from hexlit.extras import install

pytestmark = pytest.mark.row("E14")


class FakeRay(ModuleType):
    """Takes the place of the package: what it was asked is kept."""

    def __init__(self) -> None:
        super().__init__("ray")
        self.asked: dict[str, Any] = {}
        self.running = False
        self.error: Exception | None = None

    def is_initialized(self) -> bool:
        return self.running

    def init(self, **settings: Any) -> None:
        self.asked = settings
        if self.error is not None:
            raise self.error

    def shutdown(self) -> None:
        self.running = False


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr(connection, "_check_joined", lambda address: None)
    for name in ("RAY_ADDRESS", "RAY_USE_TLS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"):
        monkeypatch.setenv(name, "0")
    return fake


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    """Answers the first connection with the parameter, or with nothing where it is None."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            line, _ = listening.accept()
            with line:
                line.recv(100)
                if request.param is not None:
                    line.sendall(request.param)
                else:
                    line.recv(100)  # until the other side has had enough

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


def test_an_address_where_nobody_listens_is_refused(ray: FakeRay) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(UsageError, match=rf"^ray.address={address}: no head answers there \(.*refused\); start Ray"):
        connect(RayConfig(address=address), 2)
    assert ray.asked == {}


@pytest.mark.parametrize("server", [b"HTTP/1.1 400 Bad Request\r\n\r\n"], indirect=True)
def test_a_server_of_something_else_is_refused(server: str, ray: FakeRay) -> None:
    with pytest.raises(UsageError, match="the server there is no head of a Ray cluster; its usual port is 6379"):
        connect(RayConfig(address=server), 2)


@pytest.mark.parametrize("server", [None], indirect=True)
def test_a_head_that_says_nothing_is_not_waited_for(server: str, ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SECONDS_TO_ANSWER", 0.2)
    with pytest.raises(UsageError, match="no answer within 0.2 s"):
        connect(RayConfig(address=server), 2)


@pytest.mark.parametrize("server", [bytes([0, 0, 6, 4, 0, 0, 0, 0, 0])], indirect=True)
def test_a_head_that_answers_is_joined_and_what_ray_refuses_is_one_line(server: str, ray: FakeRay) -> None:
    ray.error = RuntimeError("Version mismatch: The cluster was started with:\n  Ray: 2.50\n  Python: 3.12\n")
    with pytest.raises(UsageError) as refused:
        connect(RayConfig(address=server), 2)
    assert ray.asked["address"] == server
    assert str(refused.value) == (
        f"ray.address={server}: Version mismatch: The cluster was started with: Ray: 2.50 Python: 3.12"
    )


def test_auto_names_the_cluster_that_does_not_answer(
    ray: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    connect(RayConfig(address="auto"), 2)  # nothing is written down: Ray itself looks
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text(address)
    with pytest.raises(UsageError, match=rf"^ray.address=auto \({address}\): no head answers there"):
        connect(RayConfig(address="auto"), 2)


def test_a_machine_that_has_not_joined_is_told_how_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "process_iter", lambda wanted: [SimpleNamespace(info={"name": "raylets"})])
    with pytest.raises(UsageError, match="ray.address=auto: this machine has not joined the cluster; do so by ray sta"):
        _check_joined("auto")
    monkeypatch.setattr(psutil, "process_iter", lambda wanted: [SimpleNamespace(info={"name": "raylet"})])
    _check_joined("auto")


def test_a_cluster_of_its_own_has_room_for_all_actors_and_no_dashboard(ray: FakeRay) -> None:
    connect(RayConfig(cpus=2, resources={"player": 1}), 3)
    wanted = {"address": "local", "include_dashboard": False, "num_cpus": 6, "resources": {"player": 3}}
    assert wanted.items() <= ray.asked.items()


def test_what_was_imported_before_with_other_settings_is_not_waited_for(
    ray: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The processes of a cluster of its own would listen where Ray, as it was imported, does not look."""
    monkeypatch.delenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER")
    with pytest.raises(UsageError, match=r"^where=ray: Ray was imported before; set RAY_\w+=0 in the environment"):
        connect(RayConfig(), 2)
    assert ray.asked == {}
    ray.running = True
    assert not connect(RayConfig(), 2).owned


def test_a_connection_that_was_there_is_used_and_left_open(ray: FakeRay) -> None:
    ray.running = True
    connect(RayConfig(), 2).close()
    assert ray.asked == {}
    assert ray.is_initialized()


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=rf"^where=ray: .*; {re.escape(install('ray'))}$"):
        connect(RayConfig(address="auto"), 2)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("", "SimpleError"),
        ("one\ntwo", "one two"),
        ("It died.\nip: 127.0.0.1\nThe actor died because its node has died. Node Id: ba5d", "its node has died"),
        ("The actor 17 is unavailable: The actor is temporarily unavailable: RpcError", "temporarily unavailable"),
        ("Task failed\nTraceback (most recent call last):\n  File\nModuleNotFoundError: No module named 'hexlit'\n",
         "ModuleNotFoundError: No module named 'hexlit'"),
    ],
)  # fmt: skip
def test_long_errors_become_a_line(said: str, told: str) -> None:
    error = type("SimpleError", (Exception,), {})(said)
    assert first_words(error) == told
