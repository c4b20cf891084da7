"""Self-play by tasks on another host, which has a separate address: games are those of one
machine.

As root, pytest -m services -n 0 -s tests/cluster/test_on_two_hosts.py
"""

import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hexlit.selfplay.store import GameStore
from tests.cluster.local_cluster import ON_RAY, ROOT, STORE
from tests.commands.tiny import TINY
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


def test_self_play_on_another_host_is_that_of_this_machine(
    head: tuple[Host, dict[str, str]], tmp_path: Path
) -> None:
    host, environment = head
    settings = [*TINY, "trainer.max_epochs=1", "evaluation.every_epochs=0", "selfplay.workers=2"]
    place = ["selfplay.where=ray", f"ray.address='{host.address}:{PORT}'"]
    train = [sys.executable, "-m", "hexlit", "train", *settings]
    run([*train, f"hydra.run.dir={tmp_path}/here"])
    run(host.command(*train, *place, f"hydra.run.dir={tmp_path}/there"), environment)
    games = [games_in(tmp_path / name) for name in ("here", "there")]
    assert games[0] == games[1]
    print(f"\nby tasks on another host: {len(games[0])} games are equal")


def games_in(folder: Path) -> dict[int, list[int]]:
    """The moves of the games of a run, by number."""
    records = GameStore(folder / "games").records()
    return {record.game_id: record.moves.tolist() for record in records}
