"""Jobs and self-play on a real cluster of three nodes: `pytest -m services -n 0
tests/cluster/test_on_ray.py`.
"""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from hexlit.cluster.config import RayConfig
from hexlit.cluster.tasks import RayTasks
from hexlit.errors import UsageError
from hexlit.hex.record import GameRecord
from hexlit.selfplay.actor import SelfPlayCounts
from hexlit.selfplay.cluster import RayPool
from hexlit.selfplay.workers import RoundRequest, SelfPlayer, WorkerPool
from tests.cluster.local_cluster import ON_RAY
from tests.selfplay.cluster.learner import PARTS, PLACE
from tests.selfplay.same_games import same
from tests.tasks.hex.test_players import session

pytestmark = [*ON_RAY]


def inverses() -> Callable[[int], float]:
    return lambda number: 1 / number


def test_results_come_in_the_order_of_the_jobs_and_an_error_as_it_was(cluster: Any) -> None:
    jobs = RayTasks(RayConfig(address=cluster.address), 3, inverses, name="inverses")
    jobs.wait()
    references = [jobs.submit(number) for number in (4, 0, 1, 2)]
    assert [jobs.result(references[place]) for place in (0, 2, 3)] == [0.25, 1.0, 0.5]
    with pytest.raises(ZeroDivisionError):
        jobs.result(references[1])
    assert jobs.cpu_seconds > 0
    jobs.close()


def test_a_cluster_without_room_is_waited_for_as_long_as_the_settings_say(cluster: Any) -> None:
    config = RayConfig(address=cluster.address, cpus=64, wait=0.5)
    jobs = RayTasks(config, 1, inverses, name="inverses")
    with pytest.raises(UsageError, match=r"^inverses on Ray: no task has begun .*64 CPU"):
        jobs.wait()
    with pytest.raises(UsageError, match=r"^inverses on Ray: .*no node has room"):
        jobs.result(jobs.submit(1))
    closed = jobs.submit(1)
    threading.Timer(0.1, jobs.closing.set).start()
    with pytest.raises(RuntimeError, match="was closed"):
        jobs.result(closed)
    jobs.close()


@pytest.fixture
def there(cluster: Any) -> Iterator[RayPool]:
    pool = RayPool(PLACE, PARTS, RayConfig(address=cluster.address))
    pool.prepare()
    yield pool
    pool.close()


def played(player: SelfPlayer, positions: int, weights: bytes = b"a") -> list[GameRecord]:
    games: list[GameRecord] = []

    def on_games(records: list[GameRecord], counts: SelfPlayCounts) -> None:
        games.extend(records)

    player.play(RoundRequest(weights, positions, 1, on_games))
    return sorted(games, key=lambda record: record.game_id)


def test_the_same_games_as_without_ray_and_an_error_in_play_is_raised_as_it_was(
    there: RayPool,
) -> None:
    here = WorkerPool(PLACE, PARTS)
    try:
        for salt in (b"a", b"b"):
            ours, theirs = played(here, 200, salt), played(there, 200, salt)
            assert len(ours) == len(theirs) > 10
            assert all(map(same, ours, theirs))
        assert there.cpu_seconds() > 0
        with pytest.raises(ArithmeticError, match="the network broke"):
            played(there, 10, b"fail")
    finally:
        here.close()


def test_a_state_continues_in_another_pool(there: RayPool, cluster: Any) -> None:
    played(there, 40)
    state = there.snapshot()
    second = played(there, 40, b"b")
    other = RayPool(PLACE, PARTS, RayConfig(address=cluster.address))
    other.prepare()
    other.restore(state)
    assert all(map(same, played(other, 40, b"b"), second))
    other.close()
    with pytest.raises(UsageError, match=rf"selfplay.workers={PARTS}: the run was started with 1"):
        there.restore(state[:1])


def test_an_error_with_the_games_here_is_raised_here(there: RayPool) -> None:
    def full(records: list[GameRecord], counts: SelfPlayCounts) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        there.play(RoundRequest(b"a", 10, 0, on_games=full))


def test_a_share_that_is_lost_again_and_again_ends_the_run_in_one_line(cluster: Any) -> None:
    players = RayPool(PLACE, 1, RayConfig(address=cluster.address, retries=2))
    try:
        players.prepare()
        with pytest.raises(UsageError, match=r"^self-play on Ray: lost with ray.retries=2 "):
            played(players, 10, b"die")
    finally:
        players.close()


def test_games_on_smaller_boards_are_the_same(cluster: Any, tmp_path: Path) -> None:
    """Each board goes on with its own games."""
    smaller = ["selfplay.smaller_boards=[2]", "selfplay.smaller_epochs=1"]
    smaller += ["selfplay.smaller_share=0.5", "selfplay.workers=2"]
    on_ray = ["selfplay.where=ray", f"ray.address={cluster.address}"]
    games = []
    for name, where in {"workers": [], "ray": on_ray}.items():
        (tmp_path / name).mkdir()
        torch.manual_seed(0)
        run = session(tmp_path / name, *smaller, *where)
        try:
            assert [figures["board"] for figures in run.epochs()] == [2, 3, 2, 3]
            store = run.data.rounds.store
            assert store is not None
            games.append(
                sorted((game.size, game.game_id, game.moves.tolist()) for game in store.records())
            )
        finally:
            run.data.close()
    assert games[0] == games[1]
