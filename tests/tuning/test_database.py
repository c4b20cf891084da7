"""A database that is opened or refused: drivers, passwords,
messages. Real servers are tried with the services.
"""

import socket
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from hexlit.errors import UsageError
from hexlit.tuning import storage
from hexlit.tuning.storage import open_storage, refuse_password


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql+nothing://me@localhost/db", "cannot be used"),
        ("postgresql://me@localhost:port/db", "cannot be used"),
        ("redis://me@localhost/db", "cannot be used"),
        ("sqlite:////nowhere/at/all/x.db", "unable to open"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
    ],
)
def test_a_database_that_cannot_be_used_is_named(url: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        open_storage(url, tmp_path)
    assert url in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg", reason="an extra")
    monkeypatch.setitem(storage._POSTGRESQL_ARGUMENTS, "connect_timeout", 2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(2)
        url = f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/studies"
        with pytest.raises(
            UsageError, match=rf"^{url}: the database cannot be used: .*(expired|timed out|timeout)"
        ):
            open_storage(url, Path())


def test_the_password_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def made(url: str, settings: object) -> None:
        asked.append(url)
        raise OperationalError("SELECT", {}, Exception("refused:\n a/b@c, a%2Fb%40c"))

    monkeypatch.setattr(storage, "_made", made)
    monkeypatch.setenv("HEXLIT_STORAGE_PASSWORD", "a/b@c")
    with pytest.raises(
        UsageError, match=r"host/db: the database cannot be used: refused: \*\*\*, \*\*\*$"
    ):
        open_storage("mysql+pymysql://me@host/db", Path())
    assert asked == ["mysql+pymysql://me:a%2Fb%40c@host/db"]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:geheim@host:5432/db",
        "postgresql+psycopg://:geheim@host/db",
        "mysql://me:a/b:c@d@host/db?x=1",
        "postgresql://me@corp:geheim@host/db",
        "postgresql://me:se?cret@host/db",
        "POSTGRESQL://me:geheim@host/db",
        "mysql://host/db?passwd=geheim",
        "postgresql://host/db?user=me&password=geheim&x=1",
    ],
)
def test_a_password_in_a_url_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(UsageError, match="leave the password out") as caught:
        refuse_password(url)
    assert not any(word in str(caught.value) for word in ("geheim", "se?cret", "a/b"))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me@host/db",
        "postgresql://host:5432/db",
        "sqlite:////tmp/a:b@c/d.db",
        "runs/study.journal",
    ],
)
def test_an_address_without_a_password_is_taken(address: str) -> None:
    refuse_password(address)
