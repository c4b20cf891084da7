"""Measured rates: read, refused, and what follows from them; a plan beside what a pencil gives."""

from dataclasses import replace
from typing import Any

import pytest

from hexlit.planning.plan import Pace, PlanConfig, epoch_of


def rate(processes: int, games: int, positions_per_second: float) -> dict[str, float]:
    return {"processes": processes, "games": games, "positions_per_second": positions_per_second}


PACE = Pace(
    2,
    [
        rate(1, 64, 100.0),
        rate(1, 4, 60.0),
        rate(2, 64, 150.0),
    ],
    400.0,
    2,
    10.0,
    3.0,
    1e3,
    1e6,
)
# 100 positions a second play, 400 train on a device; every game has 10 positions.
EVEN = Pace(2, [rate(1, 1, 100.0)], 400.0, 0, 10.0, 0.0, 1e3, 1e6)
LOCAL = PlanConfig(cores=2, workers=2, hosts=0, host_cores=2, ahead=True, network=8e6)
REMOTE = replace(LOCAL, workers=0, hosts=4)
# 4 s of play by two processes, 8 s of training
WORK = {"positions": 800, "games": 64, "trained": 3200}


def epoch(
    machines: PlanConfig = LOCAL, positions_per_second: float = 100.0, threads: int = 0, **more: Any
) -> dict[str, float]:
    """The epoch with another rate of self-play,
    training that keeps `threads` busy, and other fields of the pace.
    """
    work = WORK | {name: more.pop(name) for name in WORK if name in more}
    pace = replace(
        EVEN, actors=[rate(1, 1, positions_per_second)], training_threads=threads, **more
    )
    return epoch_of(machines, pace, **work)


def test_a_process_with_fewer_games_is_slower() -> None:
    assert [PACE.alone(games) for games in (1000, 64, 16, 4, 2)] == pytest.approx(
        [100, 100, 80, 60, 30]
    )


def test_busy_cores_slow_each_other_down_as_measured() -> None:
    assert [PACE.speed(busy) for busy in (0, 1, 2, 9)] == [1, 1, 0.75, 0.75]


def test_taking_turns_adds_up() -> None:
    result = epoch(replace(LOCAL, ahead=False))
    assert result["epoch_seconds"] == pytest.approx(12)
    assert result["learner_busy"] == pytest.approx(8 / 12)
    assert result["actors_busy"] == pytest.approx(4 / 12)
    assert result["positions_per_second"] == pytest.approx(800 / 12)
    assert result["staleness"] == 0


def test_self_play_ahead_costs_no_time_and_one_epoch_of_staleness() -> None:
    result = epoch()
    assert result["epoch_seconds"] == pytest.approx(8)
    assert result["learner_busy"] == pytest.approx(1)
    assert result["staleness"] == 1
    slow = epoch(positions_per_second=25.0)
    assert slow["epoch_seconds"] == pytest.approx(16)
    assert slow["actors_busy"] == pytest.approx(1)


def test_further_hosts_play_side_by_side_until_training_is_the_limit() -> None:
    def seconds(hosts: int, gpus: int = 1) -> float:
        return epoch(replace(REMOTE, hosts=hosts, gpus=gpus), 10.0)["epoch_seconds"]

    assert seconds(1) == pytest.approx(40, rel=1e-3)
    assert seconds(2) == pytest.approx(20, rel=1e-3)
    assert seconds(10) == seconds(20) == pytest.approx(8)
    assert seconds(20, gpus=3) == pytest.approx(8 / 2.8), "two more devices count less"


def test_weights_cross_the_network_once_for_each_host_and_records_once() -> None:
    result = epoch(REMOTE)
    assert result["games_per_epoch"] == pytest.approx(80)
    assert result["bytes_per_second"] * result["epoch_seconds"] == pytest.approx(
        4 * 1e6 + 80 * 1000
    )
    slow = epoch(replace(REMOTE, network=3.2))
    assert slow["epoch_seconds"] >= 10.2, "4 MB of weights and 80 kB of records at 400 kB/s"


def test_each_process_plays_whole_games() -> None:
    """Eight positions a share, ten a game:
    a quarter more than asked. Of games of 10 ± 4, 27% are too short.
    """
    small = {"positions": 64, "trained": 64}
    assert epoch(REMOTE, **small)["games_per_epoch"] == pytest.approx(8)
    assert epoch(REMOTE, **small)["epoch_seconds"] == pytest.approx(0.16), (
        "training is slower than the games' 0.1 s"
    )
    uneven = epoch(REMOTE, positions_per_game_deviation=4.0, **small)
    assert uneven["games_per_epoch"] == pytest.approx(8 * 1.27, rel=0.02)


def test_training_on_the_processor_shares_its_cores_with_self_play() -> None:
    assert epoch(threads=2)["epoch_seconds"] == pytest.approx(12), (
        "4 s and 8 s of both cores, whoever ends first"
    )
