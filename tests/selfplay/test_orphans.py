"""Self-play workers die with the process that started them,
however it dies and whatever they are doing.
"""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.processes import left_after

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="processes are killed by signals"),
]

KILLS = 20
SECONDS_TO_DIE = 2.0
LONGEST = 5.0
"""Latest time of the kill of the main process,
in seconds: its workers start, compile or load, then play.
"""

MAIN = """
from hexlit.search.config import SearchConfig
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.workers import RoundRequest, PlayerSettings
from hexlit.selfplay.workers import WorkerPool
from tests.selfplay.hosts import KeyedHost
settings = {
    "config": SelfPlayConfig(), "search": SearchConfig(simulations=64), "size": 11, "seed": 4, "games": 8,
}
print("ready", flush=True)
players = WorkerPool(PlayerSettings(settings, KeyedHost), 2)
players.prepare()
print("playing", flush=True)
players.play(RoundRequest(b"a", 10**9, 1, on_games=lambda *_: None))
"""


def outlived_the_kill(seconds: float, word: str) -> int:
    """Workers that live two seconds after a kill of their main process,
    `seconds` after it has said `word`.
    """
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(
        [sys.executable, "-c", MAIN], stdout=subprocess.PIPE, text=True, env=environment
    ) as main:
        assert main.stdout is not None
        for line in main.stdout:
            if line.strip() == word:
                break
        time.sleep(seconds)
        workers = psutil.Process(main.pid).children(recursive=True)
        main.kill()
        main.wait()
        left = left_after(SECONDS_TO_DIE, workers)
        for process in left:
            process.kill()
    return len(left)


@pytest.mark.slow
def test_no_worker_outlives_its_main_process_by_two_seconds() -> None:
    chance = random.Random(5)
    moments = [
        (chance.uniform(0, LONGEST), "ready" if kill % 2 else "playing") for kill in range(KILLS)
    ]
    assert [outlived_the_kill(*moment) for moment in moments] == [0] * KILLS


def test_a_worker_whose_main_process_was_killed_while_it_plays_is_gone() -> None:
    assert outlived_the_kill(0.5, "playing") == 0
