"""Heads that are not there, or are something else,
are told in one line within seconds; no Ray is started here.
"""

import re
import socket
import sys
from types import SimpleNamespace

import pytest

from hexlit.cluster.config import RayConfig
from hexlit.cluster.connection import connect, first_words
from hexlit.errors import UsageError
from hexlit.settings import install


def test_an_address_where_nobody_listens_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False)
    )  # nothing else is asked
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(
        UsageError, match=rf"^ray.address={address}: no head answers there \(.*refused\); start one"
    ):
        connect(RayConfig(address=address), 2)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=rf"^selfplay.where=ray: .*; {re.escape(install('ray'))}$"):
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
