"""A database that is opened or refused: drivers, passwords, messages. Real servers are tried with the services."""

import socket
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from hexlit.errors import UsageError
from hexlit.tuning import storage
from hexlit.tuning.storage import open_storage


def test_a_relative_sqlite_path_starts_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    opened = open_storage("sqlite:///a.db", tmp_path / "sweep")
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]
    assert opened.get_all_studies() == []


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql+nothing://me:geheim@localhost/db", "cannot be used"),
        ("postgresql://me:geheim@localhost:port/db", "cannot be used"),
        ("redis://me:geheim@localhost/db", "cannot be used"),
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


@pytest.mark.row("F23")
def test_a_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg", reason="an extra")
    monkeypatch.setitem(storage._OF_LIBPQ, "connect_timeout", 2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(2)
        url = f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/studies"
        with pytest.raises(UsageError, match=rf"^{url}: the database cannot be used: .*(expired|timed out|timeout)"):
            open_storage(url, Path())


@pytest.mark.row("F23")
def test_a_missing_password_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def made(url: str, settings: object) -> None:
        asked.append(url)
        raise OperationalError("SELECT", {}, Exception("refused:\n own, a/b@c, a%2Fb%40c"))

    monkeypatch.setattr(storage, "_made", made)
    monkeypatch.setenv("HEXLIT_STORAGE_PASSWORD", "a/b@c")
    for url in ("mysql+pymysql://me@host/db", "mysql+pymysql://me:own@host/db"):
        with pytest.raises(UsageError, match=r"host/db: the database cannot be used: refused: .*\*\*\*, \*\*\*$"):
            open_storage(url, Path())
    assert asked == ["mysql+pymysql://me:a%2Fb%40c@host/db", "mysql+pymysql://me:own@host/db"]
