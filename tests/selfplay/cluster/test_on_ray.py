"""Self-play on a real cluster of three nodes: `pytest -m services -n 0 -s tests/selfplay/cluster/test_on_ray.py`."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from hexlit.errors import UsageError
from hexlit.hex.record import GameRecord
from hexlit.selfplay.actor import SelfPlayCounts
from hexlit.selfplay.cluster.config import RayConfig
from hexlit.selfplay.cluster.players import RayPlayers
from hexlit.selfplay.player import Player
from hexlit.selfplay.store import GameStore
from hexlit.selfplay.workers import WorkerPlayers
from tests.selfplay.cluster.learner import PARTS, PLACE, SETTINGS, learn
from tests.selfplay.cluster.local_cluster import ROOT, actors, add_node, cluster_of

pytestmark = [
    pytest.mark.services,
    pytest.mark.row("F21"),
    pytest.mark.row("E14"),
    # Looked for and not imported: it reads the environment, which `cluster_of` sets first.
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is optional: pip install 'hexlit[ray]'"),
]

KILLS = int(os.environ.get("HEXLIT_STORM_KILLS", "30"))
EPOCHS = KILLS + 10
AHEAD = 2


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with cluster_of(3) as started:
        yield started


def stored(folder: Path) -> list[GameRecord]:
    with GameStore(folder / "games") as store:
        return sorted(store.records(), key=lambda record: record.game_id)


def same(one: GameRecord, other: GameRecord) -> bool:
    pairs = [(getattr(one, field.name), getattr(other, field.name)) for field in fields(GameRecord)]
    return all(np.array_equal(mine, yours) if isinstance(mine, np.ndarray) else mine == yours for mine, yours in pairs)


def without_ray(folder: Path, epochs: int, ahead: int) -> list[GameRecord]:
    learn(WorkerPlayers(PLACE, PARTS), folder, epochs, ahead)
    return stored(folder)


def played(player: Player, positions: int, weights: bytes = b"a") -> list[GameRecord]:
    games: list[GameRecord] = []

    def on_games(records: list[GameRecord], counts: SelfPlayCounts) -> None:
        games.extend(records)

    player.play(weights, positions=positions, network_version=1, on_games=on_games)
    return sorted(games, key=lambda record: record.game_id)


def test_the_same_games_as_without_ray_and_a_mistake_in_play_is_told_as_it_was(cluster: Any) -> None:
    here = WorkerPlayers(PLACE, PARTS)
    there = RayPlayers(PLACE, PARTS, RayConfig(address=cluster.address))
    try:
        there.prepare()
        for salt in (b"a", b"b"):
            ours, theirs = played(here, 200, salt), played(there, 200, salt)
            assert len(ours) == len(theirs) > 10
            assert all(map(same, ours, theirs))
        assert there.cpu_seconds() > 0
        with pytest.raises(ArithmeticError, match="the network broke"):
            played(there, 10, b"fail")
    finally:
        there.close()
        here.close()


def test_actors_that_die_again_and_again_end_the_run_in_one_line(cluster: Any) -> None:
    players = RayPlayers(PLACE, 1, RayConfig(address=cluster.address, deaths=2))
    try:
        players.prepare()
        with pytest.raises(UsageError, match=r"^self-play on Ray: 2 actors in a row were lost on .*nobody is left"):
            played(players, 10, b"die")
    finally:
        players.close()


def start_learner(folder: Path, address: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.selfplay.cluster.learner", str(folder), address, str(EPOCHS), str(AHEAD)]
    log = (folder / "learner.log").open("a")
    return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, env=os.environ, text=True)


def test_a_storm_of_kills_loses_nothing_and_brings_nothing_twice(cluster: Any, tmp_path: Path) -> None:
    """Actors, nodes and the learner are killed in turn, at any moment, while it plays."""
    (tmp_path / "storm").mkdir()
    hold = tmp_path / "storm" / "hold"
    hold.touch()
    chance = random.Random(3)
    learner = start_learner(tmp_path / "storm", cluster.address)
    kills: Counter[str] = Counter()
    while kills.total() < KILLS:
        what = ("actor", "actor", "node", "learner")[kills.total() % 4]
        end = time.monotonic() + 120
        doing = chance.choice(["", "more", "more"])  # anything, or playing
        while not actors(doing) and time.monotonic() < end:
            assert learner.poll() in (None, -9), (tmp_path / "storm" / "learner.log").read_text()
            time.sleep(0.2)
        time.sleep(chance.uniform(0, 4))
        if what == "actor":
            there = actors()
            if not there:
                continue
            with suppress(psutil.NoSuchProcess):
                chance.choice(there).kill()
        elif what == "node":
            cluster.remove_node(chance.choice(sorted(cluster.worker_nodes, key=id)), allow_graceful=False)
            add_node(cluster)
        else:
            learner.kill()
            learner.wait()
            learner = start_learner(tmp_path / "storm", cluster.address)
        kills[what] += 1
        print(f"kill {kills.total()}: {what}", flush=True)
    hold.unlink()
    code = learner.wait(timeout=1200)
    assert code == 0, (tmp_path / "storm" / "learner.log").read_text()
    expected = without_ray(tmp_path / "calm", EPOCHS, AHEAD)
    found = stored(tmp_path / "storm")
    numbers = Counter(record.game_id for record in found)
    with np.load(tmp_path / "storm" / "state.npz") as state:
        going_on = np.concatenate([state[f"{part}/slot.game_id"] for part in range(PARTS)])
    finished = int((going_on // SETTINGS["games"]).sum())
    twice = sum(count - 1 for count in numbers.values())
    lost = len({record.game_id for record in expected} - set(numbers))
    print(f"\nkills: {dict(kills)}, {kills.total()} in all; {EPOCHS} epochs, {AHEAD} ahead, {PARTS} actors")
    print("handed out  finished  stored  twice  lost")
    print(f"{finished + len(going_on):10}  {finished:8}  {len(found):6}  {twice:5}  {lost:4}")
    assert kills.total() == KILLS
    assert (twice, lost, len(found)) == (0, 0, finished)
    assert len(found) == len(expected)
    assert all(map(same, found, expected))
