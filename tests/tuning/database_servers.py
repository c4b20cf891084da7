"""Servers of databases for tests: PostgreSQL and MariaDB on loopback, in temporary folders, gone at their end."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PASSWORD = "ge:heim/9@x"
"""Of every server: it needs quoting wherever a URL would hold it."""
USER, DATABASE = "sweeper", "studies"
POSTGRES_FOLDERS = [str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
PLACES = os.pathsep.join([*POSTGRES_FOLDERS, "/usr/sbin", os.environ.get("PATH", "")])
PACKAGES = {"postgresql": ("postgres", "postgresql"), "mysql": ("mariadbd", "mariadb-server")}
"""Kind of server -> its program, and Debian's package that has it."""


def missing(kind: str) -> str | None:
    """Why a server of this `kind` cannot be started here; None: it can."""
    program, package = PACKAGES[kind]
    if shutil.which(program, path=PLACES) is None:
        return f"{program} is not installed: apt-get install -y {package}"
    return None


class Server:
    """One server with the database `DATABASE`, which belongs to `USER`. It can be stopped and started again."""

    def __init__(self, kind: str, folder: Path) -> None:
        """A new, stopped server of `kind` in the empty `folder`."""
        self.kind = kind
        self.folder = folder
        self.data = folder / "data"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        # Servers refuse to be root. Debian's packages bring a user for each.
        self._user = None if os.getuid() else {"postgresql": "postgres", "mysql": "mysql"}[kind]
        if self._user is not None:
            shutil.chown(folder, self._user)
        getattr(self, f"_make_{kind}")()

    @property
    def url(self) -> str:
        """Of the database, without its password."""
        return f"{self.kind}://{USER}@127.0.0.1:{self.port}/{DATABASE}"

    def start(self) -> None:
        """Start it, and wait until it lets clients in."""
        if self.kind == "postgresql":
            settings = {"port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": self.folder}
            options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
            self._launch("postgres", "-D", self.data, *options)
        else:
            self._launch("mariadbd", *self._mariadb(), f"--port={self.port}", "--bind-address=127.0.0.1")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it; its clients lose their connections."""
        if self._process is not None:
            if self.kind == "mysql" and how == signal.SIGINT:
                how = signal.SIGTERM
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def _make_postgresql(self) -> None:
        secret = self.folder / "secret"
        secret.write_text(PASSWORD + "\n")
        self._run("initdb", "-D", self.data, "-U", USER, "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8")
        secret.unlink()
        self.start()
        socket_of = ["-h", self.folder, "-p", self.port, "-U", USER]
        self._run("createdb", *socket_of, DATABASE, PGPASSWORD=PASSWORD)

    def _make_mysql(self) -> None:
        self._run("mariadb-install-db", *self._mariadb(), "--auth-root-authentication-method=normal", "--skip-test-db")
        self.start()
        statements = (
            f"CREATE DATABASE {DATABASE}; CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; "
            f"GRANT ALL ON {DATABASE}.* TO {USER}@'127.0.0.1';"
        )
        self._run("mariadb", "--no-defaults", f"--socket={self.folder}/socket", "-u", "root", "-e", statements)

    def _mariadb(self) -> list[str]:
        return ["--no-defaults", f"--datadir={self.data}", f"--socket={self.folder}/socket"]

    def _launch(self, program: str, *arguments: object) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._path(program), *map(str, arguments)],
                cwd=self.folder,
                user=self._user,
                group=self._user,
                extra_groups=None if self._user is None else [],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + 60
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"{program} does not start:\n{(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.1)

    def _answers(self) -> bool:
        """Whether a server speaks at the port; PostgreSQL listens before it does."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                if self.kind == "mysql":
                    return bool(connection.recv(1))
        except OSError:
            return False
        done = subprocess.run([self._path("pg_isready"), "-h", "127.0.0.1", "-p", str(self.port), "-q"], check=False)
        return done.returncode == 0

    def _run(self, program: str, *arguments: object, **environment: str) -> None:
        done = subprocess.run(
            [self._path(program), *map(str, arguments)],
            cwd=self.folder,
            env={**os.environ, **environment},
            user=self._user,
            group=self._user,
            extra_groups=None if self._user is None else [],
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{program}: {done.stdout[-1000:]}{done.stderr[-1000:]}"

    def _path(self, program: str) -> str:
        found = shutil.which(program, path=PLACES)
        assert found is not None, program
        return found


@contextmanager
def server_of(kind: str) -> Iterator[Server]:
    """A running server of `kind`. Its folder is not below pytest's own, which other users may not enter."""
    with tempfile.TemporaryDirectory(prefix=f"{kind}-", ignore_cleanup_errors=True) as folder:
        server: Server | None = None
        try:
            server = Server(kind, Path(folder))
            yield server
        finally:
            if server is not None:
                server.stop(signal.SIGQUIT if kind == "postgresql" else signal.SIGKILL)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port
