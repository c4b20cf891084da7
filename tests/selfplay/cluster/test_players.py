"""Self-play on Ray behind the calls of `SelfPlayer`,
with a stand-in for Ray: tasks run in threads of this process.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hexlit.cluster.config import RayConfig
from hexlit.errors import UsageError
from hexlit.hex.record import GameRecord
from hexlit.selfplay.actor import SelfPlay, SelfPlayCounts, share_of
from hexlit.selfplay.cluster import RayPool
from hexlit.selfplay.rounds import SelfPlayRounds
from hexlit.selfplay.store import GameStore
from hexlit.selfplay.workers import RoundRequest
from hexlit.testing.stand_ins import KeyedEvaluator
from tests.cluster.fake_ray import FakeRay, stand_in
from tests.selfplay.same_games import same
from tests.selfplay.test_workers import PLACE, SETTINGS

PARTS = 2


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeRay:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return stand_in(monkeypatch)


@pytest.fixture
def players(ray: FakeRay) -> Iterator[RayPool]:
    made = RayPool(PLACE, PARTS, RayConfig(address="auto"))
    yield made
    made.close()
    assert ray.shut_down


def without_ray(positions: int, salts: list[bytes]) -> list[list[GameRecord]]:
    """The games of each round, of all parts, by number."""
    parts = [SelfPlay(replace(SETTINGS, part=part, parts=PARTS)) for part in range(PARTS)]
    rounds = []
    for version, salt in enumerate(salts):
        games: list[GameRecord] = []

        def keep(
            records: list[GameRecord], _: SelfPlayCounts, games: list[GameRecord] = games
        ) -> None:
            games.extend(records)

        for part, play in enumerate(parts):
            play.play(
                KeyedEvaluator(salt=salt),
                positions=share_of(positions, SETTINGS.games, part, PARTS),
                network_version=version,
                on_games=keep,
            )
        rounds.append(sorted(games, key=lambda game: game.game_id))
    return rounds


def test_f21_rounds_on_ray_are_those_of_workers_also_when_processes_are_lost(
    players: RayPool, ray: FakeRay, tmp_path: Path
) -> None:
    players.prepare()
    rounds = SelfPlayRounds(players, GameStore(tmp_path / "games"), positions=60, ahead=True)
    salts = [b"a", b"a", b"b", b"c"]
    ray.losses = {1, 2, 5, 6}
    found = []
    for epoch, salt in enumerate([b"a", b"b", b"c", b"d"]):
        found.append(rounds.play(salt, epoch, lambda counts: None)[0])
        if epoch < 3:
            rounds.start_async(salt, epoch)
    expected = without_ray(60, salts)
    versions = [0, 0, 1, 2]
    for ours, theirs, version in zip(found, expected, versions, strict=True):
        assert [game.moves.tolist() for game in ours] == [game.moves.tolist() for game in theirs]
        assert {game.network_version for game in ours} <= set(range(version + 1))
    assert ray.begun == 1 + len(ray.losses) + PARTS * 4
    assert len(ray.puts) == 1 + 4  # the place, and the weights of each round
    assert rounds.store is not None
    numbers = [game.game_id for game in rounds.store.records()]
    assert len(numbers) == len(set(numbers)) == sum(map(len, found))
    assert players.cpu_seconds() > 0
    rounds.store.close()


def test_a_state_continues_on_other_players(players: RayPool, ray: FakeRay) -> None:
    def one_round(player: RayPool, salt: bytes) -> list[GameRecord]:
        games: list[GameRecord] = []
        player.play(RoundRequest(salt, 40, 0, on_games=lambda records, _: games.extend(records)))
        return sorted(games, key=lambda game: game.game_id)

    one_round(players, b"a")
    state = players.snapshot()
    second = one_round(players, b"b")
    other = RayPool(PLACE, PARTS, RayConfig())
    other.prepare()
    other.restore(state)
    assert all(same(*pair) for pair in zip(one_round(other, b"b"), second, strict=True))
    other.close()
    with pytest.raises(UsageError, match="selfplay.workers=2: the run was started with 1"):
        players.restore(state[:1])


def test_a_mistake_in_play_is_raised_as_it_was(players: RayPool) -> None:
    for _ in range(2):  # and again by those who ask later
        with pytest.raises(ArithmeticError, match="the network broke"):
            players.play(RoundRequest(b"fail", 10, 0, on_games=lambda *_: None))


def test_what_goes_wrong_with_the_games_here_is_raised_here(players: RayPool) -> None:
    def full(records: list[GameRecord], counts: SelfPlayCounts) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        players.play(RoundRequest(b"a", 10, 0, on_games=full))
