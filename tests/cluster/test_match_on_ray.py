"""A match on a real cluster of three nodes:
`pytest -m services -n 0 -s tests/cluster/test_match_on_ray.py`.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cluster.local_cluster import ON_RAY, ROOT, add_node, workers
from tests.commands.tiny import save_untrained

pytestmark = ON_RAY


def start(folder: Path, *settings: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "hexlit",
        "match",
        *settings,
        "accelerator=cpu",
        "accelerator.threads=1",
    ]
    return subprocess.Popen(
        [*command, f"hydra.run.dir={folder}", "report=false"], cwd=ROOT, text=True
    )


def pairs_in(folder: Path) -> int:
    path = folder / "games.csv"
    return len(path.read_bytes().splitlines()) // 2 if path.exists() else 0


def wait_for(what: str, there: Callable[[], Any], running: subprocess.Popen[str]) -> Any:
    end = time.monotonic() + 120
    while not (found := there()):
        assert running.poll() is None, f"it ended with {running.returncode} before {what}"
        assert time.monotonic() < end, f"120 s without {what}"
        time.sleep(0.1)
    return found


def test_a_match_whose_process_node_and_own_process_are_killed_has_the_games_of_one_here(
    cluster: Any, tmp_path: Path
) -> None:
    net = save_untrained(tmp_path / "net.ckpt", size=5)
    players = f"players=[checkpoint={net} simulations=64 name=deep,policy={net} name=flat,random]"
    settings = (players, "pairs=192", "at_once=8")
    assert start(tmp_path / "here", *settings).wait() == 0
    there = tmp_path / "there"
    place = ("where=ray", "workers=3", f"ray.address='{cluster.address}'")
    match = start(there, *settings, *place)
    wait_for("a process that plays", workers, match)[0].kill()
    wait_for("pairs", lambda: pairs_in(there) >= 8, match)
    cluster.remove_node(
        sorted(cluster.worker_nodes, key=lambda node: node.unique_id)[0], allow_graceful=False
    )
    add_node(cluster)
    kept = pairs_in(there)
    wait_for("further pairs", lambda: pairs_in(there) >= kept + 8, match)
    match.kill()
    match.wait()
    kept = pairs_in(there)
    assert kept < 3 * 192
    again = subprocess.run(
        [sys.executable, "-m", "hexlit", "match", f"resume={there}"], cwd=ROOT, check=False
    )
    assert again.returncode == 0
    rows = [
        sorted((folder / "games.csv").read_text().splitlines())
        for folder in (there, tmp_path / "here")
    ]
    assert rows[0] == rows[1]  # a kill amid a block changes the order in which its pairs end
    print(
        f"\n{3 * 192} pairs: a process, a node and, after {kept} pairs, the match itself were killed; 0 unequal"
    )
