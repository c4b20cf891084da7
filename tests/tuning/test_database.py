"""A database that is opened or refused: drivers, passwords, messages. Real servers are tried with the services."""

import re
import socket
from pathlib import Path
from typing import Any

import pytest
from optuna.storages import RDBStorage
from sqlalchemy.exc import OperationalError

from hexlit.errors import UsageError
from hexlit.extras import install
from hexlit.tuning import database
from hexlit.tuning.storage import open_storage


def test_a_relative_sqlite_path_starts_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    opened = open_storage("sqlite:///a.db", tmp_path / "sweep")
    assert isinstance(opened, RDBStorage)
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]
    assert opened.engine_kwargs == {"connect_args": {"timeout": database.BUSY}}


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql+nothing://me:geheim@localhost/db", "cannot be used"),
        ("postgresql://me:geheim@localhost:port/db", "no URL"),
        ("redis://me:geheim@localhost/db", "redis is no storage"),
        ("sqlite:////nowhere/at/all/x.db", "unable to open"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
    ],
)
def test_a_database_that_cannot_be_used_is_named_without_its_password(url: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        open_storage(url, tmp_path)
    assert ":geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture
def knocks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """URLs that were contacted; no server answers."""
    found: list[str] = []

    def knock(parts: Any, arguments: Any) -> None:
        found.append(parts.render_as_string(hide_password=False))
        raise ImportError("Failed to import DB access module")

    monkeypatch.delenv("HEXLIT_STORAGE_PASSWORD", raising=False)
    monkeypatch.setattr(database, "_knock", knock)
    return found


@pytest.mark.parametrize(
    ("url", "installed", "full", "extra"),
    [
        ("postgresql", ["psycopg", "psycopg2"], "postgresql+psycopg", "postgres"),
        ("postgresql", ["psycopg2"], "postgresql+psycopg2", "postgres"),
        ("mysql", ["pymysql"], "mysql+pymysql", "mysql"),
        ("mysql", ["pymysql", "MySQLdb"], "mysql+mysqldb", "mysql"),
        ("mariadb", ["pymysql"], "mariadb+pymysql", "mysql"),
        ("mysql+pymysql", ["MySQLdb"], "mysql+pymysql", "mysql"),
    ],
)
def test_a_server_is_reached_by_the_driver_that_is_there(
    url: str, installed: list[str], full: str, extra: str, knocks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pymysql", reason="an extra")
    monkeypatch.setattr(database, "find_spec", lambda name: name if name in installed else None)
    monkeypatch.setattr(database, "_ARGUMENTS", {})
    monkeypatch.setattr("sqlalchemy.engine.URL.get_driver_name", lambda self: "any")
    with pytest.raises(UsageError, match=rf"driver .* not installed; {re.escape(install(extra))}$"):
        open_storage(f"{url}://me:ge%40heim@db.example/studies", Path())
    assert knocks == [f"{full}://me:ge%40heim@db.example/studies"]


@pytest.mark.row("F23")
def test_a_missing_password_is_that_of_the_environment(knocks: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlalchemy.engine.URL.get_driver_name", lambda self: "any")
    monkeypatch.setenv("HEXLIT_STORAGE_PASSWORD", "a/b@c")
    for url in ("mysql+pymysql://me@host/db", "mysql+pymysql://me:own@host/db", "mysql+pymysql://host/db?passwd=own"):
        with pytest.raises(UsageError, match="not installed"):
            open_storage(url, Path())
    assert knocks == [
        "mysql+pymysql://me:a%2Fb%40c@host/db",
        "mysql+pymysql://me:own@host/db",
        "mysql+pymysql://host/db?passwd=own",
    ]


def test_no_message_of_a_driver_shows_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OperationalError("SELECT", {}, Exception("refused:\n ge@heim, ge%40heim, other"))

    monkeypatch.setattr("sqlalchemy.engine.URL.get_driver_name", lambda self: "any")
    monkeypatch.setattr(database, "_knock", refuse)
    monkeypatch.setenv("HEXLIT_STORAGE_PASSWORD", "other")
    with pytest.raises(UsageError, match=r"host/db: the database cannot be used: refused: \*\*\*, \*\*\*, \*\*\*$"):
        open_storage("mysql+pymysql://me:ge%40heim@host/db", Path())


@pytest.mark.row("F23")
@pytest.mark.parametrize(("kind", "driver"), [("postgresql", "psycopg"), ("mysql", "pymysql")])
def test_a_server_that_says_nothing_is_given_up(kind: str, driver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(driver, reason="an extra")
    limited = {name: 2 if name.endswith("_timeout") else value for name, value in database._ARGUMENTS[driver].items()}
    monkeypatch.setitem(database._ARGUMENTS, driver, limited)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(2)
        url = f"{kind}://me@127.0.0.1:{silent.getsockname()[1]}/studies"
        with pytest.raises(UsageError, match=rf"^{url}: the database cannot be used: .*(expired|timed out)"):
            open_storage(url, Path())
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):  # it was asked once
            silent.accept()
