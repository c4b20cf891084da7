"""The address of a study with its password and without."""

import pytest

from hexlit.errors import UsageError
from hexlit.tuning.storage import hidden_password, refuse_password_in, whole_url


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
        ("postgresql://host/db?user=me&password=geheim&x=1", "postgresql://host/db?user=me&password=***&x=1"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("postgresql://host:5432/db", "postgresql://host:5432/db"),
        ("sqlite:////tmp/a:b@c/d.db", "sqlite:////tmp/a:b@c/d.db"),
        ("runs/study.journal", "runs/study.journal"),
    ],
)
def test_a_password_is_hidden_and_nothing_else(url: str, shown: str) -> None:
    assert hidden_password(url) == shown


def test_a_hidden_url_is_whole_again_where_the_environment_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEXLIT_STORAGE", "mysql://me:geheim@host/db")
    assert whole_url("mysql://me:***@host/db") == "mysql://me:geheim@host/db"
    assert whole_url("mysql://me@host/db") == "mysql://me@host/db"
    with pytest.raises(UsageError, match=r"mysql://me:\*\*\*@other/db: the password is not kept; set HEXLIT_STORAGE"):
        whole_url("mysql://me:***@other/db")


@pytest.mark.row("F23")
def test_a_password_on_the_command_line_is_refused() -> None:
    for url in (
        "postgresql+psycopg://me:geheim@host/db",
        "mysql://me@host/db?passwd=geheim",
        "POSTGRESQL://me:geheim@host/db",
        "postgresql://me@corp:geheim@host/db",
        "mysql+pymysql://me:ge?heim/geheim@host/db",
    ):
        with pytest.raises(UsageError, match=r"leave the password out, and set HEXLIT_STORAGE_PASSWORD") as caught:
            refuse_password_in(["hydra.sweeper.n_trials=3", f"++hydra.sweeper.storage={url}"])
        assert "geheim" not in str(caught.value)
    refuse_password_in(["hydra.sweeper.storage=mysql://me@host/db", "hydra.sweeper.storage=${oc.env:STUDIES}"])
