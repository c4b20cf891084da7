"""Worker processes play games of their own, and the same whatever their timing."""

from collections.abc import Iterator
from dataclasses import replace

import psutil
import pytest

from hexlit.errors import UsageError
from hexlit.selfplay.workers import (
    LocalPlayer,
    PlayerSettings,
    SelfPlayer,
    WorkerPool,
    make_player,
)
from tests.selfplay.players import SelfPlayerTests, played, workplace

PLACE = workplace()
SETTINGS = PLACE.games


@pytest.fixture(scope="module")
def two() -> Iterator[WorkerPool]:
    players = WorkerPool(PLACE, 2)
    yield players
    players.close()


class TestOneProcess(SelfPlayerTests):
    def make(self, place: PlayerSettings) -> SelfPlayer:
        return LocalPlayer(place)


class TestWorkers(SelfPlayerTests):
    @pytest.fixture(autouse=True)
    def _started(self, two: WorkerPool) -> None:
        self.two = two

    def make(self, place: PlayerSettings) -> SelfPlayer:
        return self.two


def test_every_worker_plays_games_of_its_own_numbers(two: WorkerPool) -> None:
    assert {game % 8 // 4 for game in played(two, 60)[0]} == {0, 1}


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


def place(part: int, parts: int) -> PlayerSettings:
    return PlayerSettings(replace(PLACE.games, part=part, parts=parts), PLACE.make_host)


def test_other_processes_go_on_with_the_games_and_play_the_same(two: WorkerPool) -> None:
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
    with pytest.raises(UsageError, match="selfplay.games=8: the run was started with 4; keep it"):
        LocalPlayer(PLACE).restore(start[:1])


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (b"die", UsageError, "worker 0: exit code 7"),
        (b"fail", ArithmeticError, "the network broke"),
        (b"refuse", UsageError, "no such thing"),
    ],
)
def test_a_worker_that_ends_or_fails_is_told_and_leaves_no_process(
    weights: bytes, error: type[Exception], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """What a user can mend has no traceback."""
    before = psutil.Process().children()
    player = make_player(PLACE, 1)
    try:
        with pytest.raises(error, match=message):
            played(player, 10, weights)
        psutil.wait_procs(
            [one for one in psutil.Process().children() if one not in before], timeout=10
        )
    finally:
        player.close()
    assert psutil.Process().children() == before
    assert ("Traceback" in capfd.readouterr().err) is (weights == b"fail")


def test_no_workers_is_play_in_this_process() -> None:
    assert isinstance(make_player(PLACE, 0), LocalPlayer)
