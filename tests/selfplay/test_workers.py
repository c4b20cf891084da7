"""Worker processes play games of their own, and the same whatever their timing."""

from collections.abc import Iterator

import numpy as np
import psutil
import pytest

from hexlit.errors import UsageError
from hexlit.hex.record import GameRecord
from hexlit.search.config import SearchConfig
from hexlit.selfplay.actor import SelfPlayCounts
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.player import LocalPlayer, SelfPlayer, Workplace
from hexlit.selfplay.workers import WorkerPlayers, make_player
from tests.selfplay.hosts import KeyedHost

SETTINGS = {
    "config": SelfPlayConfig(fast_simulations=2, opening_plies=4),
    "search": SearchConfig(simulations=6),
    "size": 3,
    "seed": 4,
    "games": 8,
}
PLACE = Workplace(SETTINGS, KeyedHost)


@pytest.fixture(scope="module")
def two() -> Iterator[WorkerPlayers]:
    players = WorkerPlayers(PLACE, 2)
    yield players
    players.close()


def played(player: SelfPlayer, positions: int, salt: bytes = b"a") -> tuple[dict[int, GameRecord], SelfPlayCounts]:
    games: list[GameRecord] = []
    counts = player.play(
        salt, positions=positions, network_version=1, on_games=lambda records, _: games.extend(records)
    )
    assert counts.games == len(games)
    found = {game.game_id: game for game in games}
    assert len(found) == len(games), "E9: one game was played twice"
    return found, counts


@pytest.mark.row("E8")
@pytest.mark.row("E9")
def test_workers_play_the_games_of_one_process_each_once(two: WorkerPlayers) -> None:
    """Unique draws, no duplicate games, and a game is the same wherever it is played."""
    start = two.snapshot()
    found, counts = played(two, 60)
    assert {game % 8 // 4 for game in found} == {0, 1}
    assert counts.positions == sum(len(game.policy_plies) for game in found.values()) >= 60
    alone, _ = played(LocalPlayer(PLACE), 60)
    common = found.keys() & alone.keys()
    assert len(common) > 15
    for game in common:
        assert np.array_equal(found[game].moves, alone[game].moves)
        assert np.array_equal(found[game].policies, alone[game].policies)
    # A24, A25: what they play does not depend on their timing, and a snapshot repeats it.
    two.restore(start)
    again, counts_again = played(two, 60)
    assert {game: record.moves.tolist() for game, record in found.items()} == {
        game: record.moves.tolist() for game, record in again.items()
    }
    assert (counts.games, counts.positions, counts.evaluations) == (
        counts_again.games,
        counts_again.positions,
        counts_again.evaluations,
    )


def test_preparing_compiles_and_touches_no_game(two: WorkerPlayers) -> None:
    before = two.snapshot()
    two.prepare()
    local = LocalPlayer(PLACE)
    start = local.snapshot()
    local.prepare()
    for old, new in zip([*before, *start], [*two.snapshot(), *local.snapshot()], strict=True):
        assert all(np.array_equal(old[name], new[name]) for name in old)


@pytest.mark.row("E3")
def test_workers_say_what_processor_time_they_took() -> None:
    player = make_player(PLACE, 1)
    player.prepare()
    before = player.cpu_seconds()
    played(player, 400)
    after = player.cpu_seconds()
    assert 0 < before < after < before + 60
    player.close()
    assert player.cpu_seconds() == after  # of a process that is gone, the latest is known
    assert LocalPlayer(PLACE).cpu_seconds() == 0


@pytest.mark.row("E13")
def test_workers_use_the_weights_they_are_sent(two: WorkerPlayers) -> None:
    """And every game says which version it started with."""
    start = two.snapshot()
    first, _ = played(two, 40, b"a")
    two.restore(start)
    other, _ = played(two, 40, b"b")
    common = first.keys() & other.keys()
    assert any(first[game].moves.tolist() != other[game].moves.tolist() for game in common)
    assert {record.network_version for record in first.values()} <= {0, 1}


def place(part: int, parts: int) -> Workplace:
    return Workplace(PLACE.settings | {"part": part, "parts": parts}, PLACE.make_host)


@pytest.mark.row("F22")
def test_other_processes_go_on_with_the_games_and_play_the_same(two: WorkerPlayers) -> None:
    """Two ranks that play themselves after two workers of one, and the other way round."""
    start = two.snapshot()
    found, _ = played(two, 60)
    ranks = [LocalPlayer(place(rank, 2)) for rank in range(2)]
    for rank in ranks:
        rank.restore(start)
    theirs = [played(rank, 60)[0] for rank in ranks]
    assert not theirs[0].keys() & theirs[1].keys()
    assert {game: record.moves.tolist() for one in theirs for game, record in one.items()} == {
        game: record.moves.tolist() for game, record in found.items()
    }
    two.restore([snapshot for rank in ranks for snapshot in rank.snapshot()])
    with pytest.raises(UsageError, match="selfplay.games=8: the run was started with selfplay.games=4; keep it"):
        LocalPlayer(PLACE).restore(start[:1])


def test_a_deadline_that_is_over_stops_the_workers(two: WorkerPlayers) -> None:
    counts = two.play(b"a", positions=10**9, network_version=0, on_games=lambda *_: None, deadline=0.0)
    assert 0 < counts.positions < 1000  # each worker goes on until it has something to learn from


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [(b"die", RuntimeError, "worker 0 ended with exit code 7"), (b"fail", ArithmeticError, "the network broke")],
)
def test_a_worker_that_ends_or_fails_is_told_and_leaves_no_process(
    weights: bytes, error: type[Exception], message: str
) -> None:
    before = psutil.Process().children()
    player = make_player(PLACE, 1)
    try:
        with pytest.raises(error, match=message):
            played(player, 10, weights)
    finally:
        player.close()
    assert psutil.Process().children() == before


def test_no_workers_is_play_in_this_process() -> None:
    assert isinstance(make_player(PLACE, 0), LocalPlayer)
