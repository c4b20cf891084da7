"""A study in a database: SQLite's file, or a server. It opens within seconds, or an error says why in one line."""

import os
import re
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from optuna.storages import RDBStorage

from hexlit.errors import UsageError
from hexlit.extras import install
from hexlit.tuning.address import PASSWORD_VARIABLE, hidden_password, secrets_of, without
from hexlit.tuning.patience import Patience, PatientStorage, said_by
from hexlit.tuning.sqlstate import tell_sqlstate

if TYPE_CHECKING:
    from sqlalchemy import URL

BUSY = 60.0
"""Seconds that a process waits for others to finish with an SQLite file."""
CONNECT = 5
"""Seconds that a server may take to accept a connection."""
SILENT = 60
"""Seconds of silence that make a server count as gone."""

_EXTRAS = {"postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql"}
_DRIVERS = {
    "postgresql": (("psycopg", "psycopg"), ("psycopg2", "psycopg2")),
    "mysql": (("MySQLdb", "mysqldb"), ("pymysql", "pymysql")),
    "mariadb": (("MySQLdb", "mysqldb"), ("pymysql", "pymysql")),
}
"""Modules that may be installed, the preferred one first, and what SQLAlchemy calls them."""
_OF_LIBPQ = {
    "connect_timeout": CONNECT,
    "keepalives_idle": SILENT // 2,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": SILENT * 1000,
}
_OF_MYSQL = {"connect_timeout": CONNECT, "read_timeout": SILENT, "write_timeout": SILENT}
_ARGUMENTS = {"psycopg": _OF_LIBPQ, "psycopg2": _OF_LIBPQ, "mysqldb": _OF_MYSQL, "pymysql": _OF_MYSQL}
_OPENED_AT_ONCE = re.compile("already exists|duplicate|unique constraint", re.IGNORECASE)
_TRIES = 20


def open_database(url: str, kind: str, patience: Patience | None = None) -> RDBStorage:
    """The storage at `url`, a database of this `kind`, made where it is missing.

    `patience` says how long calls to a server wait, the first one included. Without it they do not wait.

    Raises:
        UsageError: it cannot be opened. The message names host and database, and never shows a password.
    """
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import SQLAlchemyError

    shown = hidden_password(url)
    try:
        parts = make_url(url)
    except (SQLAlchemyError, ValueError):
        raise UsageError(f"{shown}: this is no URL of a database; write {kind}://user@host/database") from None
    if kind == "sqlite" and parts.database in (None, "", ":memory:"):
        raise UsageError(f"{shown}: trials are processes and cannot share a study in memory; give sqlite:///path")
    try:
        if kind == "sqlite":
            return _made(RDBStorage, url, {"connect_args": {"timeout": BUSY}})
        return _open_server(_complete(parts, kind), shown, patience)
    except ImportError:
        what = install(_EXTRAS[kind]) if kind in _EXTRAS else "install it"
        raise UsageError(f"{shown}: the driver of this database is not installed; {what}") from None
    except UsageError:
        raise
    except (SQLAlchemyError, RuntimeError, ValueError, OSError) as error:
        told = without(secrets_of(url), said_by(error))
        raise UsageError(f"{shown}: the database cannot be used: {told}") from None


def _complete(parts: "URL", kind: str) -> "URL":
    """The URL with the driver that is installed, and with the password that the environment has for it."""
    if "+" not in parts.drivername:
        result = [name for module, name in _DRIVERS[kind] if find_spec(module) is not None]
        if result:
            parts = parts.set(drivername=f"{kind}+{result[0]}")
    password = os.environ.get(PASSWORD_VARIABLE)
    if password and parts.password is None and not {"password", "passwd"} & set(parts.query):
        parts = parts.set(password=password)
    return parts


def _open_server(parts: "URL", shown: str, patience: Patience | None) -> RDBStorage:
    arguments = {
        name: value for name, value in _ARGUMENTS.get(parts.get_driver_name(), {}).items() if name not in parts.query
    }
    waits = patience or Patience()
    url = parts.render_as_string(hide_password=False)

    def attempt() -> RDBStorage:
        _knock(parts, arguments)
        settings = {"pool_pre_ping": True, "connect_args": arguments}
        return _made(PatientStorage, url, settings, shown=shown, patience=waits)

    return waits.call(attempt, shown, secrets_of(url)) if waits.seconds else attempt()


def _knock(parts: "URL", arguments: dict[str, Any]) -> None:
    """Connect once, to be accepted or refused within seconds: MySQL's drivers have no limit for a first answer."""
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    short = {name: min(value, CONNECT) if name == "read_timeout" else value for name, value in arguments.items()}
    engine = create_engine(parts, connect_args=short, poolclass=NullPool)
    tell_sqlstate(engine)
    engine.connect().close()


def _made(storage: type[RDBStorage], url: str, arguments: dict[str, Any], **settings: Any) -> RDBStorage:
    """The storage. Processes that open a new database together collide over its tables, and try again."""
    from sqlalchemy.exc import DBAPIError

    for attempt in range(_TRIES):
        try:
            return storage(url, engine_kwargs=dict(arguments), **settings)
        except DBAPIError as error:
            if attempt == _TRIES - 1 or not _OPENED_AT_ONCE.search(str(error)):
                raise
            time.sleep(0.05 * (1 + os.getpid() % 7))
    raise AssertionError("the last attempt returns or raises")
