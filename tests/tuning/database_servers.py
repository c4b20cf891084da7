"""A PostgreSQL server for tests, on loopback, in a temporary folder."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PASSWORD = "ge:heim/9@x"
"""It needs quoting wherever a URL would hold it."""
USER, DATABASE = "sweeper", "studies"
POSTGRES_FOLDERS = [
    str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
]
PLACES = os.pathsep.join([*POSTGRES_FOLDERS, "/usr/sbin", os.environ.get("PATH", "")])


class Server:
    """A PostgreSQL server with the database `DATABASE`, which belongs to `USER`.

    It can be stopped and started again. It refuses to be root, so it belongs to the user of its
    package.
    """

    def __init__(self, folder: Path) -> None:
        """A new server in the empty `folder`; `make` makes and starts it."""
        self.folder = folder
        self.data = folder / "data"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._user = "postgres" if os.getuid() == 0 else None
        if self._user is not None:
            shutil.chown(folder, self._user, pwd.getpwnam(self._user).pw_gid)

    @property
    def url(self) -> str:
        """Of the database, without its password."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{DATABASE}"

    def start(self) -> None:
        """Start it, and wait until it lets clients in."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                cwd=self.folder,
                **self._as_user(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + 120
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end:
                raise AssertionError(
                    f"it does not start:\n{(self.folder / 'log').read_text()[-2000:]}"
                )
            time.sleep(0.1)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it; its clients lose their connections. SIGQUIT ends it at once."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def _as_user(self) -> dict[str, Any]:
        """Arguments of `subprocess`."""
        if self._user is None:
            return {}
        return {"user": self._user, "group": pwd.getpwnam(self._user).pw_gid, "extra_groups": []}

    def _run(self, *command: object, **environment: str) -> None:
        done = subprocess.run(
            [*map(str, command)],
            cwd=self.folder,
            env={**os.environ, **environment},
            **self._as_user(),
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{command[0]}: {done.stdout[-1000:]}{done.stderr[-1000:]}"

    def make(self) -> None:
        """Make the data folder, start the server, and make user and database."""
        secret = self.folder / "secret"
        secret.write_text(PASSWORD + "\n")
        made = [
            "-D",
            self.data,
            "-U",
            USER,
            "-A",
            "scram-sha-256",
            f"--pwfile={secret}",
            "-E",
            "UTF8",
        ]
        self._run(path_of("initdb"), *made)
        secret.unlink()
        self.start()
        self._run(
            path_of("createdb"),
            "-h",
            self.folder,
            "-p",
            self.port,
            "-U",
            USER,
            DATABASE,
            PGPASSWORD=PASSWORD,
        )

    def _command(self) -> list[str]:
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.folder,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [path_of("postgres"), "-D", str(self.data), *options]

    def _answers(self) -> bool:
        ready = [path_of("pg_isready"), "-h", "127.0.0.1", "-p", str(self.port), "-q"]
        return subprocess.run(ready, check=False).returncode == 0


@contextmanager
def postgres() -> Iterator[Server]:
    """A running server. Its folder is not below pytest's own, which other users may not enter."""
    with tempfile.TemporaryDirectory(prefix="postgres-", ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder))
        try:
            server.make()
            yield server
        finally:
            server.stop(signal.SIGQUIT)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def path_of(program: str) -> str:
    """The path of a program of PostgreSQL; the test is skipped without it."""
    path = shutil.which(program, path=PLACES)
    if path is None:
        pytest.skip("apt-get install -y postgresql")
    return path
