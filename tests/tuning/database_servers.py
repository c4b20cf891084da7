"""Servers of databases for tests: PostgreSQL and MariaDB, on loopback, in temporary folders."""

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
from typing import Any, ClassVar

PASSWORD = "ge:heim/9@x"
"""Of every server: it needs quoting wherever a URL would hold it."""
USER, DATABASE = "sweeper", "studies"
POSTGRES_FOLDERS = [
    str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
]
PLACES = os.pathsep.join([*POSTGRES_FOLDERS, "/usr/sbin", os.environ.get("PATH", "")])


class Server:
    """One server with the database `DATABASE`,
    which belongs to `USER`. It can be stopped and started again.
    """

    scheme: ClassVar[str]
    """Of its URLs."""
    driver: ClassVar[str]
    """Python's module for it."""
    program: ClassVar[str]
    """The server's own."""
    package: ClassVar[str]
    """Of Debian."""
    user: ClassVar[str]
    """Of the system: servers refuse to be root, and packages of Debian bring a user for each."""
    polite: ClassVar[signal.Signals] = signal.SIGTERM
    """Ends it, its clients' connections included, in good order."""
    at_once: ClassVar[signal.Signals] = signal.SIGKILL
    """Ends it with all its processes."""

    def __init__(self, folder: Path) -> None:
        """A new server in the empty `folder`; `make` makes and starts it."""
        self.folder = folder
        self.data = folder / "data"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._user = self.user if os.getuid() == 0 else None
        if self._user is not None:
            shutil.chown(folder, self._user, pwd.getpwnam(self._user).pw_gid)

    @classmethod
    def missing(cls) -> str | None:
        """Why such a server cannot be started here; None: it can."""
        if shutil.which(cls.program, path=PLACES) is None:
            return f"{cls.program} is not installed: apt-get install -y {cls.package}"
        return None

    @property
    def url(self) -> str:
        """Of the database, without its password."""
        return f"{self.scheme}://{USER}@127.0.0.1:{self.port}/{DATABASE}"

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

    def stop(self, how: signal.Signals | None = None) -> None:
        """Stop it; its clients lose their connections."""
        if self._process is not None:
            self._process.send_signal(how or self.polite)
            self._process.wait(60)
            self._process = None

    def make(self) -> None:
        """Make the data folder, start the server, and make user and database."""
        raise NotImplementedError

    def _command(self) -> list[str]:
        """It, listening on loopback alone."""
        raise NotImplementedError

    def _answers(self) -> bool:
        """Whether it speaks at its port; some listen before they do."""
        raise NotImplementedError

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


class Postgres(Server):
    """PostgreSQL."""

    scheme, driver, user = "postgresql", "psycopg", "postgres"
    program, package = "postgres", "postgresql"
    polite, at_once = signal.SIGINT, signal.SIGQUIT

    def make(self) -> None:
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
        self._run(_path("initdb"), *made)
        secret.unlink()
        self.start()
        self._run(
            _path("createdb"),
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
        return [_path("postgres"), "-D", str(self.data), *options]

    def _answers(self) -> bool:
        ready = [_path("pg_isready"), "-h", "127.0.0.1", "-p", str(self.port), "-q"]
        return subprocess.run(ready, check=False).returncode == 0


class MariaDb(Server):
    """MariaDB."""

    scheme, driver, user = "mariadb+pymysql", "pymysql", "mysql"
    program, package = "mariadbd", "mariadb-server"

    def make(self) -> None:
        import pymysql

        how = ["--auth-root-authentication-method=normal", "--skip-test-db"]
        self._run(_path("mariadb-install-db"), *self._settings(), *how)
        self.start()
        # The server's own root has no password on its socket.
        with (
            pymysql.connect(unix_socket=str(self.folder / "socket"), user="root") as root,
            root.cursor() as cursor,
        ):
            cursor.execute(f"CREATE DATABASE {DATABASE}")
            cursor.execute(f"CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
            cursor.execute(f"GRANT ALL ON {DATABASE}.* TO {USER}@'127.0.0.1'")

    def _settings(self) -> list[str]:
        """They come first on a command line."""
        return ["--no-defaults", f"--datadir={self.data}", f"--socket={self.folder}/socket"]

    def _command(self) -> list[str]:
        return [
            _path("mariadbd"),
            *self._settings(),
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
        ]

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return bool(connection.recv(1))
        except OSError:
            return False


ENGINES: dict[str, type[Server]] = {"PostgreSQL": Postgres, "MariaDB": MariaDb}


@contextmanager
def server_of(engine: str) -> Iterator[Server]:
    """A running server. Its folder is not below pytest's own, which other users may not enter."""
    with tempfile.TemporaryDirectory(
        prefix=f"{engine.lower()}-", ignore_cleanup_errors=True
    ) as folder:
        server = ENGINES[engine](Path(folder))
        try:
            server.make()
            yield server
        finally:
            server.stop(server.at_once)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def _path(program: str) -> str:
    found = shutil.which(program, path=PLACES)
    assert found is not None, program
    return found
