"""A storm of kills on a real cluster: `pytest -m services -n 0 -s tests/cluster/test_storm.py`."""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from hexlit.hex.record import GameRecord
from hexlit.selfplay.store import GameStore
from hexlit.selfplay.workers import WorkerPool
from tests.cluster.local_cluster import ON_RAY, ROOT, add_node, workers
from tests.selfplay.cluster.learner import PARTS, PLACE, SETTINGS, learn
from tests.selfplay.same_games import same

pytestmark = [*ON_RAY]

KILLS = int(os.environ.get("HEXLIT_STORM_KILLS", "30"))
IN_FIVE = ("worker", "worker", "worker", "node", "learner")
PATIENCE = 60.0
"""Seconds from one kill to the next share that is played; a healthy cluster takes a few."""


class Storm:
    """A learner on `cluster`, and the end of its workers,
    of nodes, and of itself, in an order that a seed draws.
    """

    def __init__(self, cluster: Any, folder: Path, seed: int) -> None:
        folder.mkdir()
        self.folder = folder
        self.kills: Counter[str] = Counter()
        self._cluster = cluster
        self._chance = random.Random(seed)
        self._learner = self._start_learner()

    def kill(self, what: str) -> None:
        """Kill `what` within six seconds after the first share is played."""
        started = time.monotonic()
        self._await(workers, "a share that is played")
        waited = time.monotonic() - started
        time.sleep(self._chance.uniform(0, 6))
        getattr(self, f"_kill_{what}")()
        self.kills[what] += 1
        took = time.monotonic() - started
        print(
            f"kill {self.kills.total()}: {what} after {took:.1f} s, {waited:.1f} of them for a share",
            flush=True,
        )

    def end(self) -> int:
        """Let the learner come to its end. Returns the number of its epochs."""
        (self.folder / "enough").touch()
        assert self._learner.wait(timeout=2 * PATIENCE) == 0, self._said()
        return self.epochs

    def close(self) -> None:
        """End the learner, wherever it is."""
        self._learner.kill()
        self._learner.wait()

    @property
    def epochs(self) -> int:
        """Epochs that are behind the learner."""
        if not (self.folder / "state.npz").exists():
            return 0
        with np.load(self.folder / "state.npz") as state:
            return int(json.loads(str(state["told"]))["epochs"])

    def _kill_worker(self) -> None:
        there = self._await(workers, "a share that is played")
        with suppress(psutil.NoSuchProcess):
            self._chance.choice(there).kill()

    def _kill_node(self) -> None:
        nodes = sorted(self._cluster.worker_nodes, key=lambda node: node.unique_id)
        self._cluster.remove_node(self._chance.choice(nodes), allow_graceful=False)
        add_node(self._cluster)

    def _kill_learner(self) -> None:
        self.close()
        self._learner = self._start_learner()

    def _start_learner(self) -> subprocess.Popen[str]:
        command = [
            sys.executable,
            "-m",
            "tests.selfplay.cluster.learner",
            str(self.folder),
            self._cluster.address,
        ]
        with (self.folder / "learner.log").open("a") as log:
            return subprocess.Popen(
                command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, text=True
            )

    def _await(self, find: Callable[[], list[psutil.Process]], what: str) -> list[psutil.Process]:
        end = time.monotonic() + PATIENCE
        while not (found := find()):
            assert self._learner.poll() is None, self._said()
            assert time.monotonic() < end, f"{PATIENCE:g} s without {what}\n{self._said()}"
            time.sleep(0.1)
        return found

    def _said(self) -> str:
        return (self.folder / "learner.log").read_text()


def stored(folder: Path) -> dict[int, list[GameRecord]]:
    """The games of the store in `folder`, by number."""
    games: dict[int, list[GameRecord]] = {}
    with GameStore(folder / "games") as store:
        for record in store.records():
            games.setdefault(record.game_id, []).append(record)
    return games


def test_a_storm_of_kills_loses_nothing_and_brings_nothing_twice(
    cluster: Any, tmp_path: Path
) -> None:
    """Three in five kills end a worker,
    one a node with its worker, one the learner with all of them.
    """
    order = [IN_FIVE[number % len(IN_FIVE)] for number in range(KILLS)]
    random.Random(3).shuffle(order)
    started = time.monotonic()
    storm = Storm(cluster, tmp_path / "storm", seed=3)
    try:
        for what in order:
            storm.kill(what)
        stormy, within = time.monotonic() - started, storm.epochs
        epochs = storm.end()
    finally:
        storm.close()
    learn(WorkerPool(PLACE, PARTS), tmp_path / "calm", lambda epoch: epoch + 1 >= epochs)
    found, expected = stored(tmp_path / "storm"), stored(tmp_path / "calm")
    with np.load(tmp_path / "storm" / "state.npz") as state:
        in_progress = np.concatenate([state[f"{part}/slot.game_id"] for part in range(PARTS)])
    finished = int((in_progress // SETTINGS.games).sum())
    records = sum(map(len, found.values()))
    twice = records - len(found)
    lost = len(expected.keys() - found.keys())
    unequal = sum(
        not (number in expected and same(games[0], expected[number][0]))
        for number, games in found.items()
    )
    print(
        f"\n{dict(storm.kills)}: {storm.kills.total()} kills in {stormy:.0f} s, within {within} of {epochs} epochs, "
        f"{PARTS} parts; {time.monotonic() - started:.0f} s in all"
    )
    print("handed out  finished  stored  twice  lost  unequal")
    print(
        f"{finished + len(in_progress):10}  {finished:8}  {records:6}  {twice:5}  {lost:4}  {unequal:7}"
    )
    assert storm.kills.total() == KILLS
    assert within > 0
    assert (twice, lost, unequal) == (0, 0, 0)
    assert records == finished == len(expected)
