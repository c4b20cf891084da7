"""A match and strength by actors on another host, which has an address of its own: figures are
those of one machine.

As root, pytest -m services -n 0 -s tests/cluster/test_on_two_hosts.py
"""

import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.local_cluster import ON_RAY, ROOT, STORE
from tests.commands.tiny import save_untrained
from tests.two_hosts import Host, missing, two_hosts

pytestmark = ON_RAY
PORT = 6379


@pytest.fixture(scope="module")
def head() -> Iterator[tuple[Host, dict[str, str]]]:
    """The host of the head, which computes nothing,
    and the environment of its users; both actors are on the other.
    """
    if why := missing():
        pytest.skip(why)
    # The system's own folder: the paths of sockets in it have to be short.
    with (
        two_hosts() as (first, second),
        tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as own,
    ):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        token = Path(own, "token")
        token.write_text(secrets.token_hex(32))
        environment = kept | {
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_niceness": "5",
            "RAY_TMPDIR": own,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(token),
        }
        ray = [
            sys.executable,
            "-m",
            "ray.scripts.scripts",
            "start",
            "--block",
            f"--object-store-memory={STORE}",
        ]
        at_head = ["--head", "--num-cpus=0", f"--port={PORT}", "--include-dashboard=false"]
        joins = [f"--address={first.address}:{PORT}", "--num-cpus=2"]
        log = Path(own, "log")
        with log.open("w") as output:
            for host, settings in ((first, at_head), (second, joins)):
                whole = [*ray, f"--node-ip-address={host.address}", *settings]
                node = host.start(*whole, env=environment, stdout=output, stderr=output)
                end = time.monotonic() + 120
                while log.read_text().count("Ray runtime started") < (1 if host is first else 2):
                    assert node.poll() is None, log.read_text()
                    assert time.monotonic() < end, log.read_text()
                    time.sleep(0.2)
        yield first, environment


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command, cwd=ROOT, env=environment, text=True, capture_output=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_strength_and_a_match_on_another_host_are_those_of_this_machine(
    head: tuple[Host, dict[str, str]], tmp_path: Path
) -> None:
    host, environment = head
    net = save_untrained(tmp_path / "net.ckpt", size=4)
    alike = ["accelerator=cpu", "accelerator.threads=1", "report=false"]
    truth = [f"checkpoint={net}", "games=8", "positions=24", "simulations=[4]"]
    players = f"players=[checkpoint={net} simulations=16 name=deep,policy={net} name=flat,random]"
    place = ["where=ray", "workers=2", f"ray.address='{host.address}:{PORT}'"]
    hexlit = [sys.executable, "-m", "hexlit"]
    for command, settings, key in (
        ("strength", truth, "output"),
        ("match", [players, "pairs=12", "board=4"], "hydra.run.dir"),
    ):
        whole = [*hexlit, command, *settings, *alike]
        run([*whole, f"{key}={tmp_path}/{command}-here"])
        run(host.command(*whole, *place, f"{key}={tmp_path}/{command}-there"), environment)
    measured = [figures(tmp_path / f"strength-{name}") for name in ("here", "there")]
    assert measured[0] == measured[1]
    games = [(tmp_path / f"match-{name}" / "games.csv").read_bytes() for name in ("here", "there")]
    assert games[0] == games[1]
    pairs = len(games[0].splitlines()) // 2
    print(f"\nby actors on another host: {pairs} pairs and the figures of strength are equal")


def figures(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "strength.json").read_text())
    where = document.pop("where"), document.pop("workers")
    assert where == (("ray", 2) if folder.name.endswith("there") else ("here", 0))
    del document["device"]
    return document
