"""A process that waits for a lock says so; an object with scratch memory serves one thread."""

import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import hexlit
from hexlit import locks
from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.arena.players import SearchPlayer
from hexlit.errors import UsageError
from hexlit.locks import alone
from hexlit.nets.config import NetConfig
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.tower import build_net
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import UniformEvaluator, empty_batch
from hexlit.search.live import LiveSearch
from hexlit.search.search import TreeSearch
from hexlit.selfplay.actor import GamesSettings, SelfPlay
from hexlit.selfplay.config import SelfPlayConfig

HOLDER = """
import sys, time
from pathlib import Path
from hexlit.locks import alone
with alone(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "cache" / ".lock"


@pytest.fixture
def holder(lock: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds `lock` until it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lock)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_wait_is_said_once_and_ends_with_the_holder(
    lock: Path,
    holder: subprocess.Popen[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Also for a holder that was stopped by Ctrl-Z: only the advised signal ends it."""
    monkeypatch.setattr(locks, "WARN_AFTER", 0.01)
    holder.send_signal(signal.SIGSTOP)
    waiter = threading.Thread(target=take, args=[lock])
    waiter.start()
    said = first_line(caplog)
    assert said == f"{lock}: another process holds this file; waiting until it is free"
    holder.send_signal(signal.SIGKILL)
    waiter.join(20)
    assert not waiter.is_alive()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    locks._warn_of_waiting(str(lock))
    assert len(caplog.records) == 1, "a second wait for the same file is not reported"


def take(lock: Path) -> None:
    with alone(lock):
        pass


def first_line(caplog: pytest.LogCaptureFixture) -> str:
    """The first line of the log, as soon as there is one."""
    for _ in range(2000):
        if caplog.records:
            return caplog.records[0].getMessage()
        time.sleep(0.01)
    pytest.fail("nothing was said in 20 seconds")


class Waiting:
    """An evaluator that says when it was entered, and waits before it answers."""

    def __init__(self) -> None:
        self.entered, self.free = threading.Event(), threading.Event()

    def evaluate(
        self, planes: NDArray[np.int8], policy: NDArray[np.float32], value: NDArray[np.float32]
    ) -> None:
        self.entered.set()
        assert self.free.wait(30)
        UniformEvaluator().evaluate(planes, policy, value)


CELLS, BLACK_MOVES = np.zeros((1, 9), np.int8), np.ones(1, np.int8)
CONFIG = SearchConfig(simulations=4)
Calls = tuple[Callable[[], object], Callable[[], object]]
"""A call that asks the evaluator, and another one of the same object."""


def tree_search(evaluator: Waiting) -> Calls:
    search = TreeSearch(CONFIG, size=3, games=1)
    return (
        lambda: search.run(CELLS, BLACK_MOVES, evaluator),
        lambda: search.run(CELLS, BLACK_MOVES, UniformEvaluator()),
    )


def live_search(evaluator: Waiting) -> Calls:
    search = LiveSearch(CONFIG, evaluator, size=3)
    return lambda: search.run(4), lambda: search.position(CELLS[0], 1, 0)


def player(evaluator: Waiting) -> Calls:
    player = SearchPlayer(CONFIG, evaluator, size=3, batch=1)
    return (lambda: player.choose(CELLS, BLACK_MOVES),) * 2


def self_play(evaluator: Waiting) -> Calls:
    games = SelfPlay(GamesSettings(SelfPlayConfig(), CONFIG, size=3, games=1, seed=0))
    return (
        lambda: games.play(evaluator, positions=1, on_games=lambda records, counts: None),
        games.snapshot,
    )


def network(evaluator: Waiting) -> Calls:
    profile = build_profile(AcceleratorConfig(device="cpu", inference="eager"))
    net = build_net(NetConfig(channels=8, blocks=[1]))
    asked = NetworkEvaluator(net, size=3, swap=False, batch=1, profile=profile)

    def run(*arguments: object) -> None:
        evaluator.entered.set()
        assert evaluator.free.wait(30)

    asked._run = run
    return (lambda: asked.evaluate(*empty_batch(1, 3, 9)),) * 2


@pytest.mark.parametrize("make", [tree_search, live_search, player, self_play, network])
def test_a_second_thread_is_refused(make: Callable[[Waiting], Calls]) -> None:
    evaluator = Waiting()
    work, other = make(evaluator)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        assert evaluator.entered.wait(30)
        try:
            with pytest.raises(UsageError, match=r"\w+\.\w+: another thread uses it"):
                other()
        finally:
            evaluator.free.set()
        done.result()
    other()


def test_threads_wait_for_a_shared_search_of_the_python_api() -> None:
    search = hexlit.Search(simulations=30)
    boards = [hexlit.Board(3, moves=moves) for moves in ("a1", "b2", "c3 a2")]
    expected = [search.run(board).value for board in boards]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda board: search.run(board).value, boards * 20)) == expected * 20
