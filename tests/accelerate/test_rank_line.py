"""F22: the ranks of a run hear of one that ends without a goodbye. Here they are threads with real sockets."""

import queue
import socket
import threading
from collections.abc import Iterator

import pytest

from hexlit.accelerate import rank_line
from hexlit.accelerate.rank_line import RankLine
from hexlit.accelerate.ranks import Ranks
from hexlit.errors import UsageError

pytestmark = pytest.mark.row("F22")

SIZE = 3
SOON = 30.0


class Run:
    """The lines of all ranks, and what each has heard."""

    def __init__(self, machines: int) -> None:
        self.heard: list[queue.Queue[tuple[str, bool]]] = [queue.Queue() for _ in range(SIZE)]
        made: dict[int, RankLine] = {}

        def join(rank: int) -> None:
            local = SIZE // machines
            place = Ranks(rank, SIZE, rank % local, local)
            made[rank] = RankLine(place, lambda how, tells: self.heard[rank].put((how, tells)))

        joining = [threading.Thread(target=join, args=(rank,)) for rank in range(SIZE)]
        for thread in joining:
            thread.start()
        for thread in joining:
            thread.join(SOON)
        self.lines = [made[rank] for rank in range(SIZE)]

    def close(self) -> None:
        for line in self.lines:
            line.close(goodbye=True)


@pytest.fixture(params=[1, SIZE], ids=["one machine", "three machines"])
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    told: queue.Queue[tuple[int, bytes]] = queue.Queue()

    def broadcast(value: tuple[int, bytes]) -> tuple[int, bytes]:
        if not value[0]:
            return told.get(timeout=SOON)
        with socket.create_connection(("127.0.0.1", value[0])) as stranger:  # somebody who scans ports
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n--------")
        for _ in range(SIZE - 1):
            told.put(value)
        return value

    monkeypatch.setattr(rank_line, "broadcast", broadcast)
    monkeypatch.setattr(rank_line, "all_gather", lambda name: [f"{name}-{rank}" for rank in range(SIZE)])
    made = Run(request.param)
    yield made
    made.close()


@pytest.mark.parametrize("lost", [0, SIZE - 1])
def test_all_hear_which_rank_is_gone_and_one_of_them_tells(run: Run, lost: int) -> None:
    run.lines.pop(lost).close(goodbye=False)
    left = [rank for rank in range(SIZE) if rank != lost]
    heard = {rank: run.heard[rank].get(timeout=SOON) for rank in left}
    for how, _ in heard.values():
        assert how.startswith(f"rank {lost} ")
        assert how.endswith("ended before the others; its own output says why")
    assert [rank for rank in left if heard[rank][1]] == left[:1]


def test_after_a_goodbye_nobody_is_missed(run: Run) -> None:
    for line in run.lines:
        line.close(goodbye=True)
    assert all(heard.empty() for heard in run.heard)
    assert [thread.name for thread in threading.enumerate() if thread.name in ("rank line", "lost rank")] == []
    run.lines.clear()


def test_a_stranger_that_says_nothing_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    told: queue.Queue[tuple[int, bytes]] = queue.Queue()
    strangers: list[socket.socket] = []

    def broadcast(value: tuple[int, bytes]) -> tuple[int, bytes]:
        if not value[0]:
            return told.get(timeout=SOON)
        strangers.append(socket.create_connection(("127.0.0.1", value[0])))
        for _ in range(SIZE - 1):
            told.put(value)
        return value

    monkeypatch.setattr(rank_line, "broadcast", broadcast)
    monkeypatch.setattr(rank_line, "all_gather", lambda name: [name] * SIZE)
    monkeypatch.setattr(rank_line, "_SECONDS_TO_GREET", 1.0)
    Run(1).close()
    assert strangers[0].recv(1) == b"", "it was sent away"
    strangers[0].close()


def test_ranks_that_never_come_are_not_waited_for_however_many_strangers_do(monkeypatch: pytest.MonkeyPatch) -> None:
    strangers: list[socket.socket] = []

    def broadcast(value: tuple[int, bytes]) -> tuple[int, bytes]:
        strangers.extend(socket.create_connection(("127.0.0.1", value[0])) for _ in range(2))
        return value

    monkeypatch.setattr(rank_line, "broadcast", broadcast)
    monkeypatch.setattr(rank_line, "all_gather", lambda name: ["node07", "node08"])
    monkeypatch.setattr(rank_line, "_SECONDS_TO_GREET", 0.3)
    monkeypatch.setattr(rank_line, "TIMEOUT", 0.2)
    with pytest.raises(UsageError, match=r"rank 0 of 2 .* cannot reach each other \(timed out\)"):
        RankLine(Ranks(0, 2, 0, 2), lambda how, tells: None)
    strangers[1].setblocking(False)
    with pytest.raises((BlockingIOError, ConnectionError)):  # nobody has talked to the second one
        strangers[1].recv(1)
    for stranger in strangers:
        stranger.close()


def test_machines_that_cannot_reach_each_other_are_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        monkeypatch.setattr(rank_line, "broadcast", lambda value: (taken.getsockname()[1], b""))
        monkeypatch.setattr(rank_line, "all_gather", lambda name: ["node07", "node08"])
        with pytest.raises(UsageError, match="rank 1 of 2 and the first one, on node07, cannot reach each other"):
            RankLine(Ranks(1, 2, 1, 2), lambda how, tells: None)
