"""Two hosts of a network of their own, made of this machine: network namespaces, as containers have
them.

Each has an address and a name that the other can resolve. They share processors, files and the
users of this machine.
"""

import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_HOSTS = Path("/etc/netns")
"""`ip netns exec` puts the files of a folder of that name here in the place of those in /etc."""


@dataclass(frozen=True)
class Host:
    """One of two hosts."""

    name: str
    address: str
    device: str
    """Its end of the cable."""

    def command(self, *command: object) -> list[str]:
        """`command` as this host runs it; the process that starts it becomes the program itself."""
        named = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', self.name]
        return ["ip", "netns", "exec", self.name, *named, *map(str, command)]

    def start(self, *command: object, **settings: Any) -> "subprocess.Popen[str]":
        """Start `command` on this host; `settings` are those of `subprocess.Popen`."""
        return subprocess.Popen(self.command(*command), text=True, **settings)

    def unplug(self) -> None:
        """Take the cable out. No message is sent; later data is lost."""
        _ip("-n", self.name, "link", "set", self.device, "down")


def missing() -> str | None:
    """Why there can be no such hosts here; None: there can."""
    if not (shutil.which("ip") and shutil.which("unshare")):
        return "ip is not installed: apt-get install -y iproute2 util-linux"
    probe = f"hexlit-{secrets.token_hex(3)}"
    done = subprocess.run(
        ["ip", "netns", "add", probe], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return f"no network namespace can be made, which root may: {done.stderr.strip()}"
    _ip("netns", "delete", probe)
    return None


@contextmanager
def two_hosts() -> Iterator[tuple[Host, Host]]:
    """Two hosts that reach each other, and nothing else;
    whatever runs there is ended, and nothing of them is left.
    """
    mark = secrets.token_hex(3)
    hosts = tuple(
        Host(f"host{number}-{mark}", f"10.86.77.{number}", f"hx{number}{mark}") for number in (1, 2)
    )
    first, second = hosts
    with ExitStack() as left:
        for host in hosts:
            _ip("netns", "add", host.name)
            left.callback(_remove, host)
            own = _HOSTS / host.name
            own.mkdir(parents=True)
            left.callback(shutil.rmtree, own)
            names = "".join(f"{one.address} {one.name}\n" for one in hosts)
            (own / "hosts").write_text(f"127.0.0.1 localhost\n{names}")
        cable = ["link", "add", first.device, "netns", first.name, "type", "veth"]
        _ip(*cable, "peer", "name", second.device, "netns", second.name)
        for host in hosts:
            _ip("-n", host.name, "address", "add", f"{host.address}/24", "dev", host.device)
            for device in ("lo", host.device):
                _ip("-n", host.name, "link", "set", device, "up")
        yield first, second


def _remove(host: Host) -> None:
    for number in _ip("netns", "pids", host.name).split():
        with suppress(ProcessLookupError):
            os.kill(int(number), signal.SIGKILL)
    _ip("netns", "delete", host.name)


def _ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"
    return done.stdout
