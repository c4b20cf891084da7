"""A database that is opened or refused: drivers, passwords,
messages. Real servers are tried with the services.
"""

import socket
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from hexlit.errors import UsageError
from hexlit.tuning import storage
from hexlit.tuning.storage import hidden_password, open_storage, refuse_password_in, whole_url


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
def test_a_database_that_cannot_be_used_is_named_without_its_password(
    url: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        open_storage(url, tmp_path)
    assert ":geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg", reason="an extra")
    monkeypatch.setitem(storage._OF_LIBPQ, "connect_timeout", 2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(2)
        url = f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/studies"
        with pytest.raises(
            UsageError, match=rf"^{url}: the database cannot be used: .*(expired|timed out|timeout)"
        ):
            open_storage(url, Path())


def test_a_missing_password_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def made(url: str, settings: object) -> None:
        asked.append(url)
        raise OperationalError("SELECT", {}, Exception("refused:\n own, a/b@c, a%2Fb%40c"))

    monkeypatch.setattr(storage, "_made", made)
    monkeypatch.setenv("HEXLIT_STORAGE_PASSWORD", "a/b@c")
    for url in ("mysql+pymysql://me@host/db", "mysql+pymysql://me:own@host/db"):
        with pytest.raises(
            UsageError, match=r"host/db: the database cannot be used: refused: .*\*\*\*, \*\*\*$"
        ):
            open_storage(url, Path())
    assert asked == ["mysql+pymysql://me:a%2Fb%40c@host/db", "mysql+pymysql://me:own@host/db"]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:geheim@host:5432/db", "postgresql://me:***@host:5432/db"),
        ("postgresql+psycopg://:geheim@host/db", "postgresql+psycopg://:***@host/db"),
        ("mysql://me:a/b:c@d@host/db?x=1", "mysql://me:***@host/db?x=1"),
        ("postgresql://me@corp:geheim@host/db", "postgresql://me@corp:***@host/db"),
        ("postgresql://me:se?cret@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me:geheim@host/db?options=a@b", "postgresql://me:***@host/db?options=a@b"),
        ("postgresql://me:a%40b%2Fc@host/db", "postgresql://me:***@host/db"),
        ("mysql+pymysql://u:qq@h/d", "mysql+pymysql://u:***@h/d"),
        ("POSTGRESQL://me:geheim@host/db", "POSTGRESQL://me:***@host/db"),
        ("mysql://me:a?password=b@host/db?passwd=c", "mysql://me:***@host/db?passwd=***"),
        (
            "postgresql://host/db?user=me&password=geheim&x=1",
            "postgresql://host/db?user=me&password=***&x=1",
        ),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("postgresql://host:5432/db", "postgresql://host:5432/db"),
        ("sqlite:////tmp/a:b@c/d.db", "sqlite:////tmp/a:b@c/d.db"),
        ("runs/study.journal", "runs/study.journal"),
    ],
)
def test_a_password_is_hidden_and_nothing_else(url: str, shown: str) -> None:
    assert hidden_password(url) == shown


def test_a_hidden_url_is_whole_again_where_the_environment_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEXLIT_STORAGE", "mysql://me:geheim@host/db")
    assert whole_url("mysql://me:***@host/db") == "mysql://me:geheim@host/db"
    assert whole_url("mysql://me@host/db") == "mysql://me@host/db"
    with pytest.raises(
        UsageError,
        match=r"mysql://me:\*\*\*@other/db: the password is not kept; set HEXLIT_STORAGE",
    ):
        whole_url("mysql://me:***@other/db")


def test_a_password_on_the_command_line_is_refused() -> None:
    for url in (
        "postgresql+psycopg://me:geheim@host/db",
        "mysql://me@host/db?passwd=geheim",
        "POSTGRESQL://me:geheim@host/db",
        "postgresql://me@corp:geheim@host/db",
        "mysql+pymysql://me:ge?heim/geheim@host/db",
    ):
        with pytest.raises(
            UsageError, match=r"leave the password out, and set HEXLIT_STORAGE_PASSWORD"
        ) as caught:
            refuse_password_in(["hydra.sweeper.n_trials=3", f"++hydra.sweeper.storage={url}"])
        assert "geheim" not in str(caught.value)
    refuse_password_in(
        ["hydra.sweeper.storage=mysql://me@host/db", "hydra.sweeper.storage=${oc.env:STUDIES}"]
    )
