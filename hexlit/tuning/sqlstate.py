"""PostgreSQL's reason for refusing a connection, as an SQLSTATE, which is the same in every language of a server.

libpq and the drivers do not pass on the code of a failed connection. libpq's trace of the connection has it.
"""

import os
import re
import selectors
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Engine

_NO_PASSWORD = "28P01"
_LONGEST = 5.0
"""Longest attempt, in seconds; the previous one failed sooner."""
_IN_TRACE = re.compile(rb'\tErrorResponse\t.* C "(\w{5})" ')


def tell_sqlstate(engine: "Engine") -> None:
    """Add `sqlstate` to psycopg's errors of connecting, which takes another attempt of some seconds.

    Engines with other drivers stay unchanged, and engines on systems where libpq has no trace.
    """
    from sqlalchemy import event

    if engine.dialect.driver != "psycopg" or not hasattr(os, "memfd_create"):
        return

    def connect(dialect: Any, record: Any, arguments: list[Any], settings: dict[str, Any]) -> Any:
        try:
            return dialect.connect(*arguments, **settings)
        except dialect.loaded_dbapi.OperationalError as error:
            if error.sqlstate is None and error.pgconn is not None and error.pgconn.needs_password:
                error.sqlstate = _NO_PASSWORD  # libpq itself has refused
            elif error.sqlstate is None and not isinstance(error, dialect.loaded_dbapi.errors.ConnectionTimeout):
                plain = {name: value for name, value in settings.items() if isinstance(value, str | int)}
                error.sqlstate = refused_with(plain)
            raise

    event.listen(engine, "do_connect", connect)


def refused_with(settings: dict[str, Any]) -> str | None:
    """The server's SQLSTATE when it refuses a connection with libpq's `settings`; None if it gives none."""
    from psycopg import Error, pq
    from psycopg.conninfo import make_conninfo

    trace = os.memfd_create("libpq")  # in memory: it may show a password
    try:
        with suppress(Error, OSError):
            _attempt(pq.PGconn.connect_start(make_conninfo("", **settings).encode()), trace)
        result = _IN_TRACE.search(os.pread(trace, os.fstat(trace).st_size, 0))
        return None if result is None else result[1].decode()
    finally:
        os.close(trace)


def _attempt(connection: Any, trace: int) -> None:
    """Connect and disconnect; libpq writes the server's messages to the open file `trace`."""
    from psycopg import pq

    end = time.monotonic() + _LONGEST
    connection.trace(trace)
    try:
        awaited = {pq.PollingStatus.READING: selectors.EVENT_READ, pq.PollingStatus.WRITING: selectors.EVENT_WRITE}
        while (event := awaited.get(connection.connect_poll())) is not None:
            with selectors.DefaultSelector() as ready:
                ready.register(connection.socket, event)
                if not ready.select(max(0.0, end - time.monotonic())):
                    return
    finally:
        connection.untrace()
        connection.finish()
