"""PostgreSQL's refusals are known by their SQLSTATE; a server that speaks German is played here by a few lines."""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hexlit.errors import UsageError
from hexlit.tuning.patience import Patience
from hexlit.tuning.storage import open_storage

pytestmark = [
    pytest.mark.row("F23"),
    pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="libpq has a trace on Linux alone"),
]
SAID = {
    "28P01": "Passwort-Authentifizierung für Benutzer »me« fehlgeschlagen",
    "3D000": "Datenbank »studies« existiert nicht",
    "57P03": "das Datenbanksystem startet",
}


@pytest.fixture
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Of a server that answers everybody with the SQLSTATE of the parameter."""
    pytest.importorskip("psycopg", reason="an extra")
    code = request.param
    fields = "".join(f"{field}\0" for field in ("SFATAL", "VFATAL", f"C{code}", f"M{SAID[code]}")).encode() + b"\0"
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            while True:
                try:
                    line, _ = listening.accept()
                except OSError:  # it was closed
                    return
                with line:
                    line.recv(1000)
                    line.sendall(b"E" + (len(fields) + 4).to_bytes(4, "big") + fields)

        thread = threading.Thread(target=answer)
        thread.start()
        port = listening.getsockname()[1]
        yield f"postgresql+psycopg://me@127.0.0.1:{port}/studies?sslmode=disable&gssencmode=disable"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("28P01", r"the database cannot be used: .*Passwort-Authentifizierung für Benutzer »me« fehlgeschlagen"),
        ("3D000", r"the database cannot be used: .*Datenbank »studies« existiert nicht"),
        ("57P03", r"the database does not answer: .*das Datenbanksystem startet"),
    ],
    indirect=["url"],
)
def test_a_refusal_in_another_language_is_not_waited_for(url: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        open_storage(url, Path(), Patience(0.2 if "startet" in said else 600.0))
