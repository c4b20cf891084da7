"""Heads that are not there, or are something else, are told in one line within seconds; no Ray is started here."""

import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import psutil
import pytest

from hexlit.cluster.config import RayConfig
from hexlit.cluster.connection import connect, first_words
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
    monkeypatch.setattr(psutil, "process_iter", lambda wanted: [SimpleNamespace(info={"name": "raylet"})])
    for name in ("RAY_ADDRESS", "RAY_USE_TLS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"):
        monkeypatch.setenv(name, "0")
    return fake


@pytest.fixture
def server() -> Iterator[str]:
    """An address where something listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def test_an_address_where_nobody_listens_is_refused(ray: FakeRay) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(UsageError, match=rf"^ray.address={address}: no head answers there \(.*refused\); start one"):
        connect(RayConfig(address=address), 2)
    assert ray.asked == {}


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


def test_a_machine_that_has_not_joined_is_told_how_to(
    server: str, ray: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "process_iter", lambda wanted: [SimpleNamespace(info={"name": "raylets"})])
    with pytest.raises(UsageError, match=f"ray.address={server}: this machine has not joined the cluster"):
        connect(RayConfig(address=server), 2)
    assert ray.asked == {}


def test_a_cluster_of_its_own_has_room_for_all_and_no_dashboard(ray: FakeRay) -> None:
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
        ("Task failed\nTraceback (most recent call last):\n  File\nModuleNotFoundError: No module named 'hexlit'\n",
         "ModuleNotFoundError: No module named 'hexlit'"),
    ],
)  # fmt: skip
def test_long_errors_become_a_line(said: str, told: str) -> None:
    error = type("SimpleError", (Exception,), {})(said)
    assert first_words(error) == told
