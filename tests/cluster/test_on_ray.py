"""Self-play on a real cluster of three nodes:
`pytest -m services -n 0 -s tests/cluster/test_on_ray.py`.
"""

from typing import Any

import pytest

from hexlit.cluster.config import RayConfig
from hexlit.errors import UsageError
from hexlit.hex.record import GameRecord
from hexlit.selfplay.actor import SelfPlayCounts
from hexlit.selfplay.cluster import RayPool
from hexlit.selfplay.workers import RoundRequest, SelfPlayer, WorkerPool
from tests.cluster.local_cluster import ON_RAY
from tests.selfplay.cluster.learner import PARTS, PLACE
from tests.selfplay.same_games import same

pytestmark = [*ON_RAY]


def played(player: SelfPlayer, positions: int, weights: bytes = b"a") -> list[GameRecord]:
    games: list[GameRecord] = []

    def on_games(records: list[GameRecord], counts: SelfPlayCounts) -> None:
        games.extend(records)

    player.play(RoundRequest(weights, positions, 1, on_games))
    return sorted(games, key=lambda record: record.game_id)


def test_the_same_games_as_without_ray_and_a_mistake_in_play_is_told_as_it_was(
    cluster: Any,
) -> None:
    here = WorkerPool(PLACE, PARTS)
    there = RayPool(PLACE, PARTS, RayConfig(address=cluster.address))
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


def test_a_share_that_is_lost_again_and_again_ends_the_run_in_one_line(cluster: Any) -> None:
    players = RayPool(PLACE, 1, RayConfig(address=cluster.address, retries=2))
    try:
        players.prepare()
        with pytest.raises(UsageError, match=r"^self-play on Ray: lost with ray.retries=2 "):
            played(players, 10, b"die")
    finally:
        players.close()
